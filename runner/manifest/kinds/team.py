"""The kind Team: members, and who of them speaks when."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from flowcompose.runner.manifest.kinds.base import Listed, Spec

DEFAULT_CAP: Final = 100
"""Turns of a team that needs a cap and has none."""


class MemberSpec(Spec):
    """A member of a team."""

    name: str = Field(description="The name of an Agent or a Team.")
    type: str | None = Field(
        default=None,
        description="agent or team. Without it, what is loaded under the name decides.",
    )


class SelectorSpec(Spec):
    """How the next speaker is chosen."""

    agent: str | None = Field(
        default=None, description="The Agent that chooses (v0.1.50 and later)."
    )
    model: str | None = Field(
        default=None, description="The Model that chooses (v0.1.31); `default` if not given."
    )
    selector_prompt: str | None = Field(
        default=None,
        description="What it is asked. {{.Roles}}, {{.Participants}}, {{.History}} are filled in.",
    )
    enable_terminate_tool: bool = Field(
        default=False, description="Whether it may end the conversation (v0.1.67)."
    )
    terminate_prompt: str | None = Field(
        default=None, description="When it is to do so; a default text if not given (v0.1.67)."
    )


class EdgeSpec(Spec):
    """A transition from one member to another."""

    source: str = Field(alias="from", description="The member that has spoken.")
    target: str = Field(alias="to", description="The member that may speak next.")


class GraphSpec(Spec):
    """Who may follow whom."""

    edges: Listed[EdgeSpec] = Field(description="The transitions that are allowed.")


class TeamSpec(Spec):
    """A team: its members, and the strategy by which they speak."""

    members: Listed[MemberSpec] = Field(description="Who takes part, in order.")
    strategy: str = Field(description="sequential, round-robin, selector or graph.")
    description: str = Field(
        default="", description="What the team is for; a selector of an outer team reads it."
    )
    max_turns: int | None = Field(
        default=None, description="The cap. What counts as a turn depends on the era."
    )
    loops: bool = Field(
        default=False,
        description="With sequential: start anew after the last member (v0.1.67).",
    )
    selector: SelectorSpec | None = Field(
        default=None, description="With the strategy selector: who chooses, and how."
    )
    graph: GraphSpec | None = Field(
        default=None, description="With graph: the path. With selector: who may follow whom."
    )
