"""Which turn it is, as the state of a run says: the same for the run and for who follows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

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
    last: int = entries[-1]["turn"] if entries else 0
    return max(last, failures[-1]["turn"]) if failures else last


class Together(NamedTuple):
    """Members that speak at once, each in a turn of its own."""

    after: int
    """The turns that were taken before."""
    speakers: Sequence[str]
    """In the order of their turns."""


def together_in(state: Mapping[str, Any]) -> Together | None:
    """Say who speaks at once, where several do."""
    selection: Selection = state.get("selection") or Selection()
    speakers = selection.get("speakers") or ()
    return Together(selection.get("after", 0), speakers) if len(speakers) > 1 else None


def reason_in(state: Mapping[str, Any], key: str) -> str:
    """Say how it was decided who speaks now."""
    logs = (state.get(key), state.get("failures"))
    last = max((log[-1] for log in logs if log), key=itemgetter("turn"), default=None)
    selection: Selection = state.get("selection") or Selection()
    reason: str | None = last.get("next") if last else None
    return reason or selection.get("reason", "schedule")


def turn_of(agent_name: str, state: Mapping[str, Any], key: str) -> int:
    """Say which turn of a run a member takes that speaks now, counted from 1.

    Args:
        agent_name: The member.
        state: What its node reads.
        key: Where the transcript is.
    """
    together = together_in(state)
    if together is not None and agent_name in together.speakers:
        return together.after + 1 + together.speakers.index(agent_name)
    return turns_in(state.get(key) or (), state.get("failures") or ()) + 1


def speaker_of(record: Mapping[str, Any]) -> str:
    """Say whose turn an entry or a failure is of; what was said inside a member is the member's."""
    path: Sequence[str] | None = record.get("path")
    return path[0] if path else str(record["agent_name"])
