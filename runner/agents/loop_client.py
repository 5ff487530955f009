"""One HTTP client for models that are used in one event loop after another.

A connection belongs to the loop that opened it: in a second `asyncio.run` it fails with
"Event loop is closed". So each loop has a client of its own, which is closed with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

from flowcompose.core.providers import TIMEOUT

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_of_loop: dict[AbstractEventLoop, _LoopClient] = {}
_lock = Lock()


@lru_cache(maxsize=1)
def sync_client() -> DefaultHttpxClient:
    """Give the client of the sync path. It follows no redirect: a key is for one host."""
    return DefaultHttpxClient(timeout=TIMEOUT, follow_redirects=False)


@lru_cache(maxsize=1)
def async_client() -> DefaultAsyncHttpxClient:
    """Give the client of the async path, for any loop. It follows no redirect either."""
    transport: Any = _PerLoop()
    return DefaultAsyncHttpxClient(timeout=TIMEOUT, follow_redirects=False, transport=transport)


class _PerLoop:
    """A transport that leaves each request to the client of the loop in which it is made."""

    async def handle_async_request(self, request: Any) -> Any:
        client = _client_of(asyncio.get_running_loop())
        return await client.send(request, stream=True, follow_redirects=False)

    async def aclose(self) -> None:
        """Each client is closed with its loop."""


class _LoopClient:
    """The client of one event loop."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.client = DefaultAsyncHttpxClient(timeout=TIMEOUT, follow_redirects=False)
        # A loop closes the async generators that were begun in it before it ends: the one
        # moment at which the client's connections can still be closed.
        self._end = _at_the_end(loop, self.client)
        with suppress(StopIteration):
            self._end.__anext__().send(None)


def _client_of(loop: AbstractEventLoop) -> DefaultAsyncHttpxClient:
    with _lock:
        for ended in [each for each in _of_loop if each.is_closed()]:
            _of_loop.pop(ended, None)
        found = _of_loop.get(loop) or _of_loop.setdefault(loop, _LoopClient(loop))
    return found.client


async def _at_the_end(
    loop: AbstractEventLoop, client: DefaultAsyncHttpxClient
) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        _of_loop.pop(loop, None)
        await client.aclose()
