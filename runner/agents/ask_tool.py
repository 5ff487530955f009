"""Another agent, or a team, as a tool: it is asked one thing, without what was said before."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool, ToolException

from flowcompose.core.block_tool import block_tool
from flowcompose.core.blocks import Block
from flowcompose.core.context import Context
from flowcompose.core.untyped import items_of, mapping_of

MAX_DEPTH = 10
"""Agents that ask each other, each within the one before."""

_depth: ContextVar[int] = ContextVar("flowcompose_asked", default=0)


class _Asked:
    """A block that is made when it is first asked, and answers with its last words.

    Made with the tool, an agent that may ask itself would never be finished.
    """

    async_only = False

    def __init__(self, name: str, make: Callable[[], Block]) -> None:
        self.name = name
        self._make = make

    @cached_property
    def _block(self) -> Block:
        return self._make()

    def run(self, value: Any, ctx: Context) -> str:
        with _deeper(self.name):
            return last_text(self._block.run(value, ctx))

    async def arun(self, value: Any, ctx: Context) -> str:
        with _deeper(self.name):
            return last_text(await self._block.arun(value, ctx))


def ask_tool(name: str, description: str, make: Callable[[], Block]) -> BaseTool:
    """Give a tool with one argument, `input`, that asks a block.

    Its tokens and resources are those of who calls it.

    Args:
        name: What the model calls.
        description: What the model is told.
        make: Gives the block.
    """
    made = block_tool(_Asked(name, make), name="ask", description=description)
    made.name = name  # a document's, which may hold dots
    return made


@contextmanager
def _deeper(name: str) -> Generator[None]:
    depth = _depth.get() + 1
    if depth > MAX_DEPTH:
        msg = f"{name}: agents ask each other more than {MAX_DEPTH} deep"
        raise ToolException(msg)
    token = _depth.set(depth)
    try:
        yield
    finally:
        _depth.reset(token)


def last_text(value: Any) -> str:
    """Give the last thing that an agent or a team said, of what its block gave."""
    if isinstance(value, BaseMessage):
        return str(value.text)
    if (given := mapping_of(value)) is not None:
        return last_text(given["text"] if "text" in given else given.get("messages"))
    said = items_of(value)
    if said is None:
        return "" if value is None else str(value)
    texts = (str(each.text) for each in reversed(said) if isinstance(each, AIMessage))
    return next(filter(str.strip, texts), "")
