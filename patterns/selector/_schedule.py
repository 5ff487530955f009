"""Who may speak next; and if that is one, or a function says it, who does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.errors import GraphBubbleUp

from flowcompose.core.asking import Asking, ask_function
from flowcompose.core.context import Context
from flowcompose.core.errors import SelectorError
from flowcompose.core.explain import explain
from flowcompose.core.functions import describe, is_async
from flowcompose.core.results import Stop
from flowcompose.core.untyped import items_of
from flowcompose.patterns.selector._ruling import OnNoTransition, Ruling, own_names
from flowcompose.patterns.turn_loop.caps import cap_reached
from flowcompose.patterns.turn_loop.edges import Way, async_ways
from flowcompose.patterns.turn_loop.schedule import Choose, Decision, Schedule, Speak

Function = Callable[[Context], Any]


@dataclass(frozen=True)
class SelectorSchedule(Schedule):
    """Finds the legal members; a model or a block is left to the selector's own node."""

    names: tuple[str, ...]
    cap: int
    ruling: Ruling
    ways: tuple[Way, ...] | None = None
    candidates: Function | None = None
    function: Function | None = None
    allow_repeat: bool = False
    on_no_transition: OnNoTransition = "stop"

    def first(self, ctx: Context) -> Asking[Decision]:
        """Choose among all."""
        return self._next(None, 0, ctx)

    def after(self, spoke: tuple[str, ...], ctx: Context, memo: Any) -> Asking[Decision]:
        """Choose among those who may follow the last speaker."""
        return self._next(spoke[-1], ctx.state.turn, ctx)

    def _next(self, last: str | None, turn: int, ctx: Context) -> Asking[Decision]:
        allowed = yield from self._allowed(last, turn, ctx)
        legal = allowed
        if self.ways is not None and last is not None:
            reached = yield from self._reached(self.ways, last, ctx)
            legal = tuple(name for name in reached if name in allowed)
        if not legal:
            return self._no_transition(allowed, last, turn)
        if stop := cap_reached(turn, 1, self.cap):
            return stop
        if len(legal) == 1 and not self.ruling.can_stop:
            return Speak(legal, "only_candidate")
        if self.function is None:
            return Choose(legal)
        return (yield from self._by_function(self.function, legal, turn, ctx))

    def _allowed(self, last: str | None, turn: int, ctx: Context) -> Asking[tuple[str, ...]]:
        """Give who may speak whatever the edges say, the first one first."""
        allowed = self.names
        if self.candidates is not None:
            allowed = yield from self._candidates(self.candidates, turn, ctx)
        return tuple(name for name in allowed if self._may_follow(name, last))

    def _reached(self, ways: tuple[Way, ...], last: str, ctx: Context) -> Asking[tuple[str, ...]]:
        reached: list[str] = []
        for way in ways:
            if way.source == last and (yield from way.holds(self.ruling.pattern, ctx)):
                reached.append(way.target)
        return tuple(reached)

    def _candidates(self, function: Function, turn: int, ctx: Context) -> Asking[tuple[str, ...]]:
        given = yield from self._asked(function, "candidates", turn, ctx)
        unordered = type(given) in (set, frozenset)  # whose order is another in each process
        names = sorted(given, key=str) if unordered else items_of(given)
        unknown = [name for name in names or () if name not in self.names]
        if names is None or unknown:
            msg = f"candidates ({describe(function)}) must give a list of members, got {given!r}"
            raise SelectorError(f"{self.ruling.pattern!r}: {msg}")
        return own_names(dict.fromkeys(names), self.names)

    def _may_follow(self, name: str, last: str | None) -> bool:
        return self.allow_repeat or name != last

    def _no_transition(self, allowed: tuple[str, ...], last: str | None, turn: int) -> Decision:
        """No edge leads on: end, or begin again with the first whom nothing else excludes."""
        if self.on_no_transition == "stop" or not allowed:
            who = "nobody may speak" if last is None else f"nobody may speak after {last!r}"
            return Stop(reason="no_transition", by=last, detail=who)
        return cap_reached(turn, 1, self.cap) or Speak(allowed[:1], "fallback")

    def _by_function(
        self, function: Function, legal: Sequence[str], turn: int, ctx: Context
    ) -> Asking[Decision]:
        answer = yield from self._asked(function, "the selector", turn, ctx)
        decision = self.ruling.accept_name(answer, legal)
        return self.ruling.without_choice(answer, legal) if decision is None else decision

    def _asked(self, function: Function, role: str, turn: int, ctx: Context) -> Asking[Any]:
        """Ask a function of the user's; what it raises is a `SelectorError` that names it."""
        try:
            return (yield ask_function(function, ctx, role))
        except GraphBubbleUp:
            raise
        except Exception as error:
            what = f"{role} ({describe(function)}) failed after turn {turn}: {explain(error)}"
            raise SelectorError(f"{self.ruling.pattern!r}: {what}") from error

    @property
    def keeps_selection(self) -> bool:
        """It is never known beforehand."""
        return True

    @property
    def turns_per_round(self) -> None:
        """There are no rounds."""
        return

    @property
    def max_turns(self) -> int:
        """The cap."""
        return self.cap

    @property
    def async_parts(self) -> tuple[str, ...]:
        """The functions and edges that only work with `arun`."""
        given = {"the selector": self.function, "candidates": self.candidates}
        functions = (f"{role} ({describe(f)})" for role, f in given.items() if f and is_async(f))
        return (*functions, *async_ways(self.ways or ()))

    def successors(self, speaker: str | None) -> tuple[str | None, ...]:
        """All that the rules allow whatever is said, and the end."""
        allowed = set(self.names)
        if self.ways is not None and speaker is not None:
            allowed = {way.target for way in self.ways if way.source == speaker}
        names = (name for name in self.names if name in allowed and self._may_follow(name, speaker))
        return tuple(names) if speaker is None else (*names, None)
