"""What a run gives: the deliverable, how it came about, and why it ended."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from flowcompose.resources.contributions import Contribution
from flowcompose.resources.critiques import RefereeCritique
from flowcompose.resources.tasks import Task
from flowcompose.resources.usage import Usage

OutputT = TypeVar("OutputT")

StopReason = Literal[
    "completed",
    "max_rounds",
    "max_turns",
    "terminate_when",
    "terminate_tool",
    "no_transition",
    "selector_stop",
    "invalid_selection",
    "stalled",
    "member_failed",
    "cancelled",
    "interrupted",
    "failed",
]


class Stop(BaseModel):
    """Why a run ended."""

    model_config = ConfigDict(frozen=True)

    reason: StopReason
    """The code. `interrupted` waits for `resume`; `failed` stands only in an error's `.result`."""
    by: str | None = None
    """Who or what caused it: a member, or the condition that fired."""
    detail: str | None = None
    """More for a person to read, such as the text of an error."""


class Result(BaseModel, Generic[OutputT]):
    """What a run gave: the typed deliverable and the record of how it came about."""

    model_config = ConfigDict(frozen=True)

    output: OutputT
    """The deliverable.

    None in the `.result` of a pattern's error and of an interrupted run; in that of a flow's
    error, the value that the failed step had received.
    """
    contributions: list[Contribution]
    """What was said, in order."""
    rounds: int
    """Rounds that were finished."""
    turns: int
    """Turns that were taken, failed ones included."""
    referee_critiques: list[RefereeCritique] = []
    """One per round where there is a referee, else empty."""
    stop: Stop
    """Why it ended."""
    usage: Usage = Usage()
    """Tokens: total, and by member, selector, referee and synthesizer."""
    tasks: list[Task] = []
    """One audit record per turn."""
    interrupts: list[Any] = []
    """What an interrupted run asks; answer with `resume(thread_id, value)`."""
    thread_id: str | None = None
    """The thread that holds the run, for `resume`; None without a checkpointer."""
