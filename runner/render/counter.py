"""How far a run is, counted from its events."""

from __future__ import annotations

import time
from typing import Any

from flowcompose.core import events
from flowcompose.core.events import Event
from flowcompose.core.results import Result
from flowcompose.resources.usage import Tokens
from flowcompose.runner.render.words import count, tokens


class Counter:
    """Counts turns, rounds, tokens and time from when it is made; feed it every event.

    Args:
        cap: The turns that the run takes at most, if that is known.
    """

    def __init__(self, cap: int | None = None) -> None:
        self._cap = cap
        self._began = time.monotonic()
        self._turn = 0
        self._round = 0
        self.contributions = 0
        """Those of the run's own members that were heard."""
        self._used = Tokens()

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return time.monotonic() - self._began

    @property
    def progress(self) -> tuple[str, ...]:
        """How far the run is; nothing before its first turn."""
        if not self._turn:
            return ()
        facts = (
            f"turn {self._turn}",
            f"round {self._round}" if self._round else "",
            f"cap {self._cap}" if self._cap else "",
            count(self._used.total_tokens, "token") if self._used.total_tokens else "",
            f"{self.seconds:.0f} s",
        )
        return tuple(filter(None, facts))

    def spent(self, result: Result[Any]) -> tuple[str, ...]:
        """Give what a run took."""
        rounds = self._rounds(result, "round")
        return *rounds, count(result.turns, "turn"), *self._cost(result)

    def so_far(self, left: Result[Any]) -> tuple[str, ...]:
        """Give what there is of a run that did not come to its end."""
        said = f"{count(len(left.contributions), 'contribution')} so far"
        return said, *self._rounds(left, "finished round"), *self._cost(left)

    def _rounds(self, result: Result[Any], noun: str) -> tuple[str, ...]:
        """Some patterns have none."""
        return (count(result.rounds, noun),) if self._round or result.rounds else ()

    def _cost(self, result: Result[Any]) -> tuple[str, ...]:
        return tokens(result.usage), f"{self.seconds:.1f} s"

    def feed(self, event: Event) -> None:
        """Take in what happened."""
        if event.path:
            return  # the outer member's own event counts it
        match event:
            case events.RoundStarted():
                self._round = event.round
            case events.TurnStarted():
                self._turn = max(self._turn, event.turn)
            case events.TurnCompleted():
                self.contributions += 1
                self._used += event.usage
            case events.CritiqueAdded():
                self._used += event.usage
            case _:
                pass
