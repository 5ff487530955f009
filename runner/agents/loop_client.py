"""One HTTP client for models that are used in one event loop after another."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Any

from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

from flowcompose.core.per_loop import PerLoop
from flowcompose.core.providers import TIMEOUT


@lru_cache(maxsize=1)
def sync_client() -> DefaultHttpxClient:
    """Give the client of the sync path. It follows no redirect: a key is for one host."""
    return DefaultHttpxClient(timeout=TIMEOUT, follow_redirects=False)


@lru_cache(maxsize=1)
def async_client() -> DefaultAsyncHttpxClient:
    """Give the client of the async path, for any loop. It follows no redirect either."""
    transport: Any = _LoopTransport()
    return DefaultAsyncHttpxClient(timeout=TIMEOUT, follow_redirects=False, transport=transport)


class _LoopTransport:
    """A transport that leaves each request to the client of the loop in which it is made."""

    async def handle_async_request(self, request: Any) -> Any:
        client = _clients.of(asyncio.get_running_loop())
        return await client.send(request, stream=True, follow_redirects=False)

    async def aclose(self) -> None:
        """Each client is closed with its loop."""


def _loop_client() -> DefaultAsyncHttpxClient:
    return DefaultAsyncHttpxClient(timeout=TIMEOUT, follow_redirects=False)


_clients = PerLoop(_loop_client)
