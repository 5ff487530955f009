"""What becomes of an answer: a speaker, the end of the run, or what `on_invalid` says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flowcompose.core.errors import SelectorError
from flowcompose.core.results import Stop
from flowcompose.patterns.selector._reading import Reader, names_nobody, words_of
from flowcompose.patterns.turn_loop.schedule import Speak
from flowcompose.patterns.turn_loop.select import SELECTOR

OnInvalid = Literal["retry-then-first", "first", "stop", "raise"]
OnNoTransition = Literal["stop", "first"]

_REASKS = 2
"""How often a model or a block is asked again by default."""


@dataclass(frozen=True)
class Ruling:
    """The rules of one pattern by which answers are read."""

    pattern: str
    reader: Reader
    on_invalid: OnInvalid
    can_stop: bool
    reasks: int = _REASKS

    @property
    def attempts(self) -> int:
        """How often at most it is asked for one choice."""
        return 1 + (self.reasks if self.on_invalid == "retry-then-first" else 0)

    def accept_name(self, name: Any, candidates: Sequence[str]) -> Speak | Stop | None:
        """Take what a function gave, which has no reason to be vague."""
        if name is None:
            return self._stopped if self.can_stop else None
        own = own_names([name], candidates)
        return Speak(own, "function") if own else None

    def accept(self, answer: Any, candidates: Sequence[str]) -> Speak | Stop | None:
        """Take what a model or a block gave; None if it names nobody who may speak.

        A block that has decided by rules of its own gives a decision, and is believed.
        """
        if isinstance(answer, (Speak, Stop)):
            return answer
        words = words_of(answer)
        if words is None:
            return self._stopped if names_nobody(answer) and self.can_stop else None
        named = self.reader.read(words, candidates)
        if named is None:
            return None
        return self._stopped if named.name is None else Speak((named.name,), named.reason)

    def without_choice(self, answer: Any, candidates: Sequence[str]) -> Speak | Stop:
        """Say what happens where no answer names anybody who may speak.

        Raises:
            SelectorError: `on_invalid` says so; it quotes the answer.
        """
        words = answer if isinstance(answer, str) else words_of(answer)
        said = repr(answer)[:200] if words is None else repr(_short(words))
        problem = f"{said} is none of {', '.join(map(repr, candidates))}"
        if self.on_invalid == "stop":
            return Stop(reason="invalid_selection", by=SELECTOR, detail=problem)
        if self.on_invalid == "raise":
            msg = f"{self.pattern!r}: the selector chose nobody who may speak: {problem}"
            raise SelectorError(msg, answer=repr(answer) if words is None else words)
        return Speak((candidates[0],), "fallback")

    @property
    def _stopped(self) -> Stop:
        return Stop(reason="selector_stop", by=SELECTOR)


def own_names(given: Iterable[Any], names: Sequence[str]) -> tuple[str, ...]:
    """Give those of `names` that are given: not an enum or the like, which state cannot hold."""
    return tuple(own for each in given for own in names if isinstance(each, str) and each == own)


def _short(words: str) -> str:
    return words if len(words) <= 200 else f"{words[:200]}..."
