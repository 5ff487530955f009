"""One of a thing for each event loop.

A connection belongs to the loop that opened it: in a second `asyncio.run` it fails with
"Event loop is closed". So what holds connections is made anew for each loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


class _Closable(Protocol):
    async def aclose(self) -> None: ...


_Thing = TypeVar("_Thing", bound=_Closable)


class PerLoop(Generic[_Thing]):
    """Makes a thing where a loop first asks for it; it is closed with the loop."""

    def __init__(self, make: Callable[[], _Thing]) -> None:
        self._make = make
        self._of_loop: dict[AbstractEventLoop, tuple[_Thing, AsyncGenerator[None, None]]] = {}
        self._lock = Lock()

    def of(self, loop: AbstractEventLoop) -> _Thing:
        """Give that of `loop`, which is the one that runs here."""
        with self._lock:
            for ended in [each for each in list(self._of_loop) if each.is_closed()]:
                self._of_loop.pop(ended, None)
            if loop not in self._of_loop:
                self._of_loop[loop] = self._begun(loop)
            return self._of_loop[loop][0]

    def _begun(self, loop: AbstractEventLoop) -> tuple[_Thing, AsyncGenerator[None, None]]:
        thing = self._make()
        # A loop closes the async generators that were begun in it before it ends: the one
        # moment at which connections can still be closed.
        end = self._at_the_end(loop, thing)
        with suppress(StopIteration):
            end.__anext__().send(None)
        return thing, end

    async def _at_the_end(
        self, loop: AbstractEventLoop, thing: _Thing
    ) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._of_loop.pop(loop, None)
            await thing.aclose()
