"""Who speaks when: the one thing in which patterns differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from flowcompose.core.asking import Asking
from flowcompose.core.context import Context
from flowcompose.core.results import Stop


@dataclass(frozen=True, slots=True)
class Speak:
    """The next speakers: one, or several that speak at once."""

    names: tuple[str, ...]
    reason: str = "schedule"
    """How it was decided, for `SpeakerSelected`."""
    memo: Any = None
    """JSON that the schedule wants back the next time it is asked."""


@dataclass(frozen=True, slots=True)
class Choose:
    """The next speaker is one of several, and the pattern's selector says which."""

    candidates: tuple[str, ...]


Decision = Speak | Choose | Stop
"""Who speaks next, or why nobody does."""


class Schedule(ABC):
    """Decides who speaks. Stateless: all it knows of a run is in what it is given.

    One object serves any number of runs at once, so a subclass keeps no counters; the turn
    and the round of the run are `ctx.state.turn` and `ctx.state.round`.
    """

    @abstractmethod
    def first(self, ctx: Context) -> Decision | Asking[Decision]:
        """Say who opens the run; as a generator, if that has to ask."""

    def ended(self, ctx: Context) -> Stop | None:
        """Say why nobody speaks any more, as far as that is known without a choice.

        It comes before `terminate_when`; a cap belongs here if it wins over that.
        """
        return None

    @abstractmethod
    def after(self, spoke: tuple[str, ...], ctx: Context, memo: Any) -> Decision | Asking[Decision]:
        """Choose who speaks after `spoke`, whose turns have just ended.

        It comes after `terminate_when`, so a choice that costs something is not made in vain.

        Args:
            spoke: Who spoke last; several, if they spoke at once.
            ctx: The run; `ctx.state.turn` is the last turn.
            memo: What the last decision wanted to be kept.
        """

    @property
    @abstractmethod
    def turns_per_round(self) -> int | None:
        """How many turns make a round; None where the pattern has no rounds."""

    @property
    @abstractmethod
    def max_turns(self) -> int:
        """More turns than this never happen: the engine's own limit is set from it."""

    @property
    def keeps_selection(self) -> bool:
        """Whether a run keeps in its state what was decided; who always knows need not."""
        return False

    @property
    def draws_join(self) -> bool:
        """Whether the node after members that speak at once shows in the drawing.

        It does where all meet there; else what is drawn is who may follow whom.
        """
        return False

    @property
    def together(self) -> frozenset[str]:
        """The members that may have to speak at once with others."""
        return frozenset()

    @property
    def async_parts(self) -> tuple[str, ...]:
        """What of it only works with `arun`."""
        return ()

    @abstractmethod
    def successors(self, speaker: str | None) -> tuple[str | None, ...]:
        """Say who may follow `speaker`, for the drawing: None among them is the end of the run.

        Asked for None, say who may open.
        """
