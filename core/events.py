"""What happens in a run, as it happens.

`Pattern.events` and `.aevents` give these, the last one carrying the result. All are frozen
and tell where they come from: `path` names the members inside which it happened, outermost
first, and is empty for the pattern itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from flowcompose.core.results import Result, Stop
from flowcompose.resources.contributions import Contribution
from flowcompose.resources.critiques import RefereeCritique
from flowcompose.resources.usage import Tokens

__all__ = [
    "CapReached",
    "CritiqueAdded",
    "Emitted",
    "Event",
    "RoundStarted",
    "RunCompleted",
    "RunStarted",
    "RunStopped",
    "SpeakerSelected",
    "StepCompleted",
    "StepFailed",
    "StepStarted",
    "Token",
    "ToolCalled",
    "ToolReturned",
    "TurnCompleted",
    "TurnFailed",
    "TurnRetried",
    "TurnStarted",
]


@dataclass(frozen=True, kw_only=True)
class Event:
    """What all events have."""

    path: tuple[str, ...] = ()
    """The members in which it happened, outermost first; empty for the pattern itself."""
    agent_name: str = ""
    """Whose event it is: a member, `referee`, `synthesizer`, or empty."""
    round: int = 0
    """The round, counted from 1; 0 before the first."""
    turn: int = 0
    """The turn, counted from 1; 0 before the first."""
    at: float = field(default_factory=time.time, compare=False)
    """When it was seen, in seconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class RunStarted(Event):
    """A run begins."""

    pattern: str
    """The pattern's name."""
    goal: str
    """What it works on."""
    thread_id: str | None = None
    """The thread that keeps it, for `resume`; None without a checkpointer."""


@dataclass(frozen=True, kw_only=True)
class RoundStarted(Event):
    """The first member of a round is about to speak."""


@dataclass(frozen=True, kw_only=True)
class SpeakerSelected(Event):
    """Who speaks next has been decided."""

    reason: str
    """How: `schedule` where the order or the edges say it; of a selector, `exact`, `tolerant`,
    `only_candidate`, `function` or `fallback`."""


@dataclass(frozen=True, kw_only=True)
class TurnStarted(Event):
    """A member begins to speak."""


@dataclass(frozen=True, kw_only=True)
class Token(Event):
    """A piece of what somebody says, as the model gives it."""

    text: str
    """The piece."""
    message_id: str
    """The same for all pieces of one answer; a retried turn begins a new one."""


@dataclass(frozen=True, kw_only=True)
class ToolCalled(Event):
    """A model calls a tool."""

    tool: str
    args: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ToolReturned(Event):
    """A tool has answered."""

    tool: str
    text: str
    status: str
    """`success`, or `error` when the tool failed; the model was told."""


@dataclass(frozen=True, kw_only=True)
class TurnRetried(Event):
    """A model call failed in a way that may pass, and is made again: drop its tokens so far."""

    reason: str
    wait: float
    """Seconds until the next attempt."""


@dataclass(frozen=True, kw_only=True)
class TurnCompleted(Event):
    """A member has spoken."""

    contribution: Contribution
    usage: Tokens
    seconds: float


@dataclass(frozen=True, kw_only=True)
class TurnFailed(Event):
    """A member could not speak."""

    error: str


@dataclass(frozen=True, kw_only=True)
class CritiqueAdded(Event):
    """The referee has judged a round."""

    critique: RefereeCritique
    usage: Tokens


@dataclass(frozen=True, kw_only=True)
class StepStarted(Event):
    """A step of a flow begins."""

    step: str
    """Its name."""


@dataclass(frozen=True, kw_only=True)
class StepCompleted(Event):
    """A step of a flow is done."""

    step: str
    """Its name."""
    seconds: float
    """How long it took."""


@dataclass(frozen=True, kw_only=True)
class StepFailed(Event):
    """A step of a flow failed; a rescue may take care of it."""

    step: str
    """Its name."""
    error: str


@dataclass(frozen=True, kw_only=True)
class CapReached(Event):
    """A loop of a flow was left because of its cap, not because its condition said so."""

    step: str
    """The name of the `loop_back` step."""
    cap: int
    """Its `max_iterations`."""


@dataclass(frozen=True, kw_only=True)
class Emitted(Event):
    """What a block sent with `ctx.emit`."""

    data: Any


@dataclass(frozen=True, kw_only=True)
class RunStopped(Event):
    """It is decided that nobody speaks any more; the synthesizer may still be at work."""

    stop: Stop


@dataclass(frozen=True, kw_only=True)
class RunCompleted(Event):
    """The run is over, or waits for an answer (`result.stop.reason == "interrupted"`)."""

    result: Result[Any]
