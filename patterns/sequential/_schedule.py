"""One after the other, in declared order: once, or in a loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flowcompose.core.context import Context
from flowcompose.core.results import Stop
from flowcompose.patterns.turn_loop.caps import cap_reached
from flowcompose.patterns.turn_loop.schedule import Decision, Schedule, Speak


@dataclass(frozen=True)
class SequentialSchedule(Schedule):
    """The turn alone says who speaks. A pass over the roster is a round."""

    names: tuple[str, ...]
    loops: bool
    cap: int | None

    def first(self, ctx: Context) -> Decision:
        """The first of the roster."""
        return self._turns[0]

    def after(self, spoke: tuple[str, ...], ctx: Context, memo: Any) -> Decision:
        """The next of the roster; after the last one nobody, unless it loops."""
        turn = ctx.state.turn
        if not self.loops and turn >= len(self.names):
            return Stop(reason="completed")
        return cap_reached(turn, 1, self.cap) or self._turns[turn % len(self.names)]

    @cached_property
    def _turns(self) -> tuple[Speak, ...]:
        return tuple(Speak((name,)) for name in self.names)

    @property
    def turns_per_round(self) -> int:
        """The size of the roster."""
        return len(self.names)

    @property
    def max_turns(self) -> int:
        """The cap, or one pass."""
        once = len(self.names)
        if self.cap is None:
            return once
        return self.cap if self.loops else min(self.cap, once)

    def successors(self, speaker: str | None) -> tuple[str | None, ...]:
        """A chain, closed to a ring where it loops."""
        if speaker is None:
            return (self.names[0],)
        turn = self.names.index(speaker) + 1
        last = turn == len(self.names)
        following = (self.names[turn % len(self.names)],) if self.loops or not last else ()
        capped = self.cap is not None and (self.loops or turn == self.cap)
        return (*following, None) if last or capped else following
