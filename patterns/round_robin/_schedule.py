"""Everybody in turn, in declared order, round after round."""

from __future__ import annotations

from dataclasses import dataclass

from flowcompose.core.context import Context
from flowcompose.core.results import Stop
from flowcompose.patterns.turn_loop.schedule import Decision, Schedule, Speak


@dataclass(frozen=True)
class RoundRobinSchedule(Schedule):
    """Each member once a round; the cap is asked after whole rounds."""

    names: tuple[str, ...]
    max_rounds: int

    def first(self, ctx: Context) -> Decision:
        """The first of the roster."""
        return Speak(self.names[0])

    def ended(self, speaker: str, ctx: Context) -> Stop | None:
        """After the last allowed round."""
        if ctx.state.turn >= self.max_turns:
            return Stop(
                reason="max_rounds",
                detail=f"{self.max_rounds} round{'s' if self.max_rounds > 1 else ''}",
            )
        return None

    def after(self, speaker: str, ctx: Context) -> Decision:
        """The next of the roster, by the turn alone."""
        return Speak(self.names[ctx.state.turn % len(self.names)])

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
        if speaker is None:
            return (self.names[0],)
        following = self.names.index(speaker) + 1
        if following < len(self.names):
            return (self.names[following],)
        return (self.names[0], None) if self.max_rounds > 1 else (None,)
