"""Which turn it is, as the state of a run says: the same for the run and for who follows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import TypedDict


class Selection(TypedDict, total=False):
    """What was decided about who speaks next, where that is kept in the state."""

    speakers: list[str]
    """Who speaks; several speak at once, in turns of their own."""
    after: int
    """The turns that were taken before."""
    reason: str
    """How it was decided."""
    candidates: list[str]
    """Among whom is to be chosen, while that is not done."""
    memo: Any
    """What the schedule wants to know the next time."""


def turns_in(entries: Sequence[Mapping[str, Any]], failures: Sequence[Mapping[str, Any]]) -> int:
    """Say how many turns were taken: both logs are in the order of turns."""
    return max((log[-1]["turn"] for log in (entries, failures) if log), default=0)


def turn_of(agent_name: str, state: Mapping[str, Any], key: str) -> int:
    """Say which turn of a run a member takes that speaks now, counted from 1.

    Args:
        agent_name: The member.
        state: What its node reads.
        key: Where the transcript is.
    """
    selection: Selection | None = state.get("selection")
    speakers = (selection or {}).get("speakers") or ()
    if selection and len(speakers) > 1 and agent_name in speakers:
        return selection["after"] + 1 + speakers.index(agent_name)
    return turns_in(state.get(key) or (), state.get("failures") or ()) + 1


def speaker_of(record: Mapping[str, Any]) -> str:
    """Say whose turn an entry or a failure is of; what was said inside a member is the member's."""
    path: Sequence[str] | None = record.get("path")
    return path[0] if path else str(record["agent_name"])
