"""Calling anything that takes a value and gives one, sync and async, in one way.

A plain function, a LangChain Runnable, a compiled graph and our own generators all become a
`Block`. A sync function in an async run goes to a thread: it may wait for a file or a
socket, and others must not wait with it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from langchain_core.runnables import Runnable
from langchain_core.runnables.config import run_in_executor

from flowcompose.core.context import Context
from flowcompose.core.functions import async_in_sync, describe, is_async, with_context
from flowcompose.core.graph_block import AnyGraph, GraphBlock, HasGraph, graph_of, is_graph
from flowcompose.core.models import is_chat_model
from flowcompose.core.turn_input import TurnInput
from flowcompose.core.untyped import unchecked


@runtime_checkable
class Block(Protocol):
    """Anything that takes a value and gives one."""

    name: str

    @property
    def async_only(self) -> bool:
        """Whether it only works with `arun`."""
        ...

    def run(self, value: Any, ctx: Context) -> Any:
        """Give the block's value, on the sync path."""
        ...

    async def arun(self, value: Any, ctx: Context) -> Any:
        """Give the block's value, on the async path."""
        ...


ObjectBlock = Runnable[Any, Any] | Block | AnyGraph | HasGraph
"""What is accepted as a block besides functions."""

BlockLike = Callable[[Any], Any] | Callable[[Any, Context], Any] | ObjectBlock
"""What is accepted wherever a block is taken."""


class FunctionBlock:
    """A plain function: one parameter gets the value, a second one the context."""

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        self.function = function
        self.name = name or describe(function)
        self.async_only = is_async(function)
        self.call = with_context(function)
        """The function, of the value and the context; what it gives may be awaitable."""

    def run(self, value: Any, ctx: Context) -> Any:
        """Call the function."""
        given = self.call(value, ctx)
        if inspect.isawaitable(given):
            raise async_in_sync(repr(self.name), given)
        return given

    async def arun(self, value: Any, ctx: Context) -> Any:
        """Call the function: a coroutine here, a plain one in a thread."""
        if self.async_only:
            return await self.call(value, ctx)
        given = await run_in_executor(None, self.call, value, ctx)
        return await given if inspect.isawaitable(given) else given

    def __repr__(self) -> str:
        return self.name


class RunnableBlock:
    """A LangChain Runnable; it gets the run's config, so it streams and is traced."""

    async_only = False

    def __init__(self, runnable: Runnable[Any, Any]) -> None:
        self.runnable = runnable
        self.name = runnable.get_name()

    def run(self, value: Any, ctx: Context) -> Any:
        """Invoke it."""
        return self.runnable.invoke(self._read_by(value), ctx.ledger.handed_down(ctx.config))

    async def arun(self, value: Any, ctx: Context) -> Any:
        """Invoke it on the event loop."""
        config = ctx.ledger.handed_down(ctx.config)  # a generator in a chain shares resources
        return await self.runnable.ainvoke(self._read_by(value), config)

    def _read_by(self, value: Any) -> Any:
        """A chat model reads messages; any other Runnable gets the value as it is."""
        as_messages = isinstance(value, TurnInput) and is_chat_model(self.runnable)
        return value.messages if as_messages else value

    def __repr__(self) -> str:
        return self.name


def as_block(block: BlockLike) -> Block:
    """Give a `Block` for anything that can be one.

    Raises:
        TypeError: It cannot; the message says what can.
    """
    if isinstance(block, Block):
        return block
    if isinstance(block, HasGraph):
        return GraphBlock(graph_of(block))
    if is_graph(block):
        return GraphBlock(block)
    given = unchecked(block)
    if isinstance(block, Runnable):
        return RunnableBlock(given)
    if inspect.isgeneratorfunction(block) or inspect.isasyncgenfunction(block):
        msg = f"{describe(block)} is a generator function; give the whole text with return"
        raise TypeError(msg)
    if callable(block) and not isinstance(block, type):
        return FunctionBlock(block)
    msg = (
        f"{block!r} is no block; a block is a function, a generator, a pattern, "
        "a LangChain Runnable or a compiled graph"
    )
    raise TypeError(msg)
