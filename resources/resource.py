"""Shared state that a pattern writes and others may read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from flowcompose.resources.contributions import Transcript

StateT = TypeVar("StateT")

Scope = Literal["run", "session", "user"]


@dataclass(frozen=True, eq=False)
class Resource(Generic[StateT]):
    """A typed piece of shared state. Two resources are the same only if they are one object."""

    name: str
    schema: type[StateT]
    scope: Scope = "session"


@dataclass(frozen=True)
class ContributionsState:
    """The state of a contributions resource."""

    entries: Transcript
    """What was said so far in the run."""


def create_round_robin_contributions() -> Resource[ContributionsState]:
    """Make a transcript resource to share between a pattern and its neighbours.

    Without one a `round_robin` keeps a transcript of its own, which is enough for most.
    Make one where several definitions must mean the same transcript.

    Returns:
        The resource, for `round_robin(contributions=...)`. Members, referee and synthesizer
        read it as `ctx.resources[accessor_key].state.entries`, or by the object itself:
        `ctx.resources[debate].state.entries`. Each run starts with an empty transcript.

    Example:
        ```python
        from flowcompose import RosterEntry, create_round_robin_contributions, round_robin

        debate = create_round_robin_contributions()

        def count(turn, ctx):
            return f"{len(ctx.resources[debate].state.entries)} spoke before me"

        panel = round_robin(
            name="panel",
            roster=[RosterEntry(name="a", block=count), RosterEntry(name="b", block=count)],
            contributions=debate,
            max_rounds=1,
            synthesizer=False,
        )
        print(panel.run("count").contributions[-1].text)
        #> 1 spoke before me
        ```
    """
    return Resource("contributions", ContributionsState)
