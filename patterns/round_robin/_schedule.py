"""Everybody once a round: one after the other in declared order, or all at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flowcompose.core.context import Context
from flowcompose.core.results import Stop
from flowcompose.patterns.turn_loop.schedule import Decision, Schedule, Speak


@dataclass(frozen=True)
class RoundRobinSchedule(Schedule):
    """Each member once a round; the cap is asked after whole rounds."""

    names: tuple[str, ...]
    max_rounds: int
    at_once: bool = False

    def first(self, ctx: Context) -> Decision:
        """The first of the roster."""
        return self._turns[0]

    def ended(self, ctx: Context) -> Stop | None:
        """After the last allowed round."""
        if ctx.state.turn >= self.max_turns:
            return Stop(
                reason="max_rounds",
                detail=f"{self.max_rounds} round{'s' if self.max_rounds > 1 else ''}",
            )
        return None

    def after(self, spoke: tuple[str, ...], ctx: Context, memo: Any) -> Decision:
        """The next of the roster, by the turn alone."""
        return self._turns[ctx.state.turn % len(self._turns)]

    @cached_property
    def _turns(self) -> tuple[Speak, ...]:
        """What is decided in the course of a round."""
        if self.at_once:
            return (Speak(self.names),)
        return tuple(Speak((name,)) for name in self.names)

    @property
    def keeps_selection(self) -> bool:
        """Members that speak at once read there which turn is theirs."""
        return bool(self.together)

    @property
    def draws_join(self) -> bool:
        """All members of a round meet."""
        return True

    @property
    def together(self) -> frozenset[str]:
        """All, if they speak at once."""
        return frozenset(self.names if self.at_once and len(self.names) > 1 else ())

    @property
    def turns_per_round(self) -> int:
        """The size of the roster."""
        return len(self.names)

    @property
    def max_turns(self) -> int:
        """All rounds of all members."""
        return self.max_rounds * len(self.names)

    def successors(self, speaker: str | None) -> tuple[str | None, ...]:
        """A ring, with the end after its last member."""
        if self.together:
            again = self.names if speaker is None or self.max_rounds > 1 else ()
            return again if speaker is None else (*again, None)
        if speaker is None:
            return (self.names[0],)
        following = self.names.index(speaker) + 1
        if following < len(self.names):
            return (self.names[following],)
        return (self.names[0], None) if self.max_rounds > 1 else (None,)
