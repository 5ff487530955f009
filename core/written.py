"""What the blocks of a step wrote, in order, so that what one of them wrote can be taken back.

What is written is seen at once by all of the step, so two tools at work at the same time can
both count up. If one of them fails, only its own writes go.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar

from flowcompose.core.resource_state import ResourceError
from flowcompose.resources.writes import Deltas, compose

_NOTHING: Deltas = {}


class Part:
    """A part of a step that may fail while the step goes on, as the call of a tool may."""

    __slots__ = ("failed", "outer")

    def __init__(self, outer: Part | None) -> None:
        self.outer = outer
        """The part in which it happens, if it is not the step itself."""
        self.failed = False
        """Whether what it wrote is not to count."""

    @property
    def around(self) -> Iterator[Part]:
        """This part, and all in which it happens."""
        part: Part | None = self
        while part is not None:
            yield part
            part = part.outer


# Threads and tasks that a block starts for itself inherit it, as they do the engine's config.
PART: ContextVar[Part | None] = ContextVar("flowcompose_part", default=None)
"""The part of a step that is at work."""


class Written:
    """The writes of one step. Whoever uses it holds the lock of the ledger."""

    __slots__ = ("_log", "whole")

    def __init__(self) -> None:
        self.whole: Deltas = _NOTHING
        """All of it, laid one over the other."""
        self._log: list[tuple[Part | None, Deltas]] = []

    def lay(self, deltas: Deltas) -> None:
        """Write, in the name of the part at work.

        Raises:
            ResourceError: That part has failed, but something of it is still at work.
        """
        part = PART.get()
        if part is not None and any(each.failed for each in part.around):
            msg = "the call has failed: what it writes now is nobody's"
            raise ResourceError(msg)
        if self._log and self._log[-1][0] is part:
            self._log[-1] = (part, compose(self._log[-1][1], [deltas]))
        else:
            self._log.append((part, deltas))
        self.whole = compose(self.whole, [deltas])

    def take_back(self, part: Part) -> None:
        """Forget what a part wrote."""
        left = [each for each in self._log if each[0] is None or part not in each[0].around]
        if len(left) < len(self._log):
            self._log = left
            self.whole = compose(_NOTHING, [deltas for _, deltas in left])

    def forget(self, saved: Deltas) -> None:
        """Forget what was saved, unless it was written to since."""
        done = {place for place, delta in saved.items() if self.whole.get(place) is delta}
        self._log = [(part, _without(done, deltas)) for part, deltas in self._log]
        self.whole = _without(done, self.whole)

    def clear(self) -> None:
        """Forget all of it."""
        self._log = []
        self.whole = _NOTHING


def _without(places: set[str], deltas: Deltas) -> Deltas:
    return {place: delta for place, delta in deltas.items() if place not in places}
