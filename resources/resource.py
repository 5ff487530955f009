"""Shared state: what it is, and the one resource that a pattern writes by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from flowcompose.resources.contributions import Transcript

StateT = TypeVar("StateT")

Scope = Literal["run", "session", "user"]


@dataclass(frozen=True, eq=False)
class Resource(Generic[StateT]):
    """A typed piece of shared state. Two resources are the same only if they are one object."""

    name: str
    schema: type[StateT]
    scope: Scope = "session"
    initial: Callable[[], dict[str, Any]] = field(default=dict[str, Any], repr=False)
    """Gives the state as JSON where nothing was written yet."""


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


def is_transcript(resource: Resource[Any]) -> bool:
    """Say whether a resource is a transcript, which only its pattern writes."""
    return resource.schema is ContributionsState
