"""A block with a time limit, on both paths; and a function with a thread of its own."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from flowcompose.core.blocks import Block, FunctionBlock
from flowcompose.core.context import Context


class TimedBlock:
    """Raises `TimeoutError` when its block takes longer than `seconds`.

    A sync block cannot be stopped from outside: its thread goes on unheard, but asks no model
    again.
    """

    def __init__(self, block: Block, seconds: float) -> None:
        self.name = block.name
        self.async_only = block.async_only
        self._block = block
        self._seconds = seconds

    def run(self, value: Any, ctx: Context) -> Any:
        """Run the block in a thread of its own, and wait no longer than allowed."""
        future = _in_thread(lambda: self._block.run(value, ctx))
        try:
            return future.result(self._seconds)
        except TimeoutError:
            if future.done():
                raise  # the block's own
            ctx.abandoned = True
            raise TimeoutError(self._late()) from None

    async def arun(self, value: Any, ctx: Context) -> Any:
        """Await the block, and cancel it when it is late."""
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                return await self._waited_for(value, ctx)
        except TimeoutError:
            if not limit.expired():
                raise
            ctx.abandoned = True
            raise TimeoutError(self._late()) from None

    async def _waited_for(self, value: Any, ctx: Context) -> Any:
        """Run a plain function in a thread of its own: late ones must not fill the loop's pool."""
        return await threaded(self._block).arun(value, ctx)

    def _late(self) -> str:
        return f"no answer within {self._seconds:g} s (turn_timeout)"


class _ThreadedBlock:
    """A plain function that on the async path has a thread of its own."""

    async_only = False

    def __init__(self, block: FunctionBlock) -> None:
        self.name = block.name
        self._block = block

    def run(self, value: Any, ctx: Context) -> Any:
        """Call the function."""
        return self._block.run(value, ctx)

    async def arun(self, value: Any, ctx: Context) -> Any:
        """Call the function in its thread; the loop's pool has a few, which others wait for."""
        given = await asyncio.wrap_future(_in_thread(lambda: self._block.call(value, ctx)))
        return await given if inspect.isawaitable(given) else given


def threaded(block: Block) -> Block:
    """Give `block` such that it never waits for a thread of the event loop's pool."""
    if isinstance(block, FunctionBlock) and not block.async_only:
        return _ThreadedBlock(block)
    return block


def _in_thread(call: Callable[[], Any]) -> Future[Any]:
    """Run `call` in a daemon thread: one that never ends must not keep the process alive."""
    future: Future[Any] = Future()
    context = copy_context()

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(context.run(call))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name="flowcompose-turn", daemon=True).start()
    return future
