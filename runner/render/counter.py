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
        self._finished_rounds = 0
        self._contributions = 0
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

    def so_far(self, result: Result[Any] | None) -> tuple[str, ...]:
        """Give what there is of a run that did not come to its end.

        Args:
            result: What its error carries, which counts failed turns too.
        """
        number = len(result.contributions) if result else self._contributions
        rounds = count(result.rounds if result else self._finished_rounds, "finished round")
        used = tokens(result.usage if result else self._used)
        return f"{count(number, 'contribution')} so far", rounds, used, f"{self.seconds:.1f} s"

    def feed(self, event: Event) -> None:
        """Take in what happened."""
        if event.path:
            return  # the outer member's own event counts it
        match event:
            case events.RoundStarted():
                self._finished_rounds, self._round = event.round - 1, event.round
            case events.TurnStarted():
                self._turn = max(self._turn, event.turn)
            case events.TurnCompleted():
                self._contributions += 1
                self._used += event.usage
            case events.CritiqueAdded():
                self._finished_rounds = event.critique.round
                self._used += event.usage
            case _:
                pass
