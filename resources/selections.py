"""Whom the selector chose, turn by turn."""

from __future__ import annotations

from typing_extensions import TypedDict


class SelectionEntry(TypedDict):
    """One choice that was asked for, as graph state holds it."""

    turn: int
    """The turn that it is for."""
    agent_name: str | None
    """Who was chosen; None where the run was to stop."""
    reason: str
    usage: dict[str, int]
    """What the choice cost."""
