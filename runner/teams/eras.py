"""What a document means in its era: where the system it was written for behaved differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Rules:
    """The rules of one era."""

    era: str
    cap_is_error: bool
    """Whether a team that reaches its `maxTurns` has failed."""
    tells_end: bool
    """Whether a system message says why a team ended early."""
    counts_cycles: bool
    """Whether `maxTurns` of a round-robin team counts cycles, not turns."""
    agents_select: bool
    """Whether a selector team has an agent that chooses; else it has a model."""
    selects_by_tool: bool
    """Whether a selector agent chooses by a tool, and may end the team by another."""
    opens_with_first: bool
    """Whether the first member opens a selector team, and nobody is asked."""
    repeats: bool
    """Whether a selector may choose who spoke last."""
    constrains: bool
    """Whether the edges of a selector team count."""
    ends_without_edge: bool
    """Whether a selector team ends where no edge leads on; else its first member goes on."""
    names_failed_member: bool
    """Whether a round-robin team says which member failed."""
    migrates: bool
    """Whether round-robin and graph are carried out as sequential."""
    content: Literal["last", "last_words"]
    """Which message is the answer: the last one, or the last one of an assistant with words."""


RULES = {
    "v0.1.31": Rules(
        era="v0.1.31",
        cap_is_error=True,
        tells_end=False,
        counts_cycles=True,
        agents_select=False,
        selects_by_tool=False,
        opens_with_first=False,
        repeats=False,
        constrains=False,
        ends_without_edge=False,
        names_failed_member=False,
        migrates=False,
        content="last",
    ),
    "v0.1.50": Rules(
        era="v0.1.50",
        cap_is_error=False,
        tells_end=False,
        counts_cycles=True,
        agents_select=True,
        selects_by_tool=False,
        opens_with_first=True,
        repeats=False,
        constrains=True,
        ends_without_edge=False,
        names_failed_member=True,
        migrates=False,
        content="last",
    ),
    "v0.1.67": Rules(
        era="v0.1.67",
        cap_is_error=False,
        tells_end=True,
        counts_cycles=False,
        agents_select=True,
        selects_by_tool=True,
        opens_with_first=False,
        repeats=True,
        constrains=True,
        ends_without_edge=True,
        names_failed_member=True,
        migrates=True,
        content="last_words",
    ),
}
"""By era."""
