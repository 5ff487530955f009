"""Decisions that ask functions, conditions or blocks, written once for both paths.

A decision is a Python generator: it yields what it asks and is sent the answer, or has the
error thrown into it. `decide` asks on the sync path, `adecide` on the async path.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from flowcompose.core.functions import async_in_sync, describe

if TYPE_CHECKING:
    from flowcompose.core.blocks import Block
    from flowcompose.core.condition import Condition
    from flowcompose.core.context import Context

T = TypeVar("T")


class Ask(NamedTuple):
    """One question, and the two ways of asking it."""

    run: Callable[[], Any]
    arun: Callable[[], Awaitable[Any]]


Asking = Generator[Ask, Any, T]
"""A decision under way; what it returns is what is decided."""


def ask_condition(condition: Condition, ctx: Context) -> Ask:
    """Ask which part of a condition holds, if any."""
    return Ask(lambda: condition.fired(ctx), lambda: condition.afired(ctx))


def ask_block(block: Block, value: Any, ctx: Context) -> Ask:
    """Ask a block for its value."""
    return Ask(lambda: block.run(value, ctx), lambda: block.arun(value, ctx))


def ask_function(function: Callable[[Context], Any], ctx: Context, role: str) -> Ask:
    """Ask a function of the context, which may be async; `role` says what it is in an error."""

    def run() -> Any:
        given = function(ctx)
        if inspect.isawaitable(given):
            raise async_in_sync(f"{role} ({describe(function)})", given)
        return given

    async def arun() -> Any:
        given = function(ctx)
        return await given if inspect.isawaitable(given) else given

    return Ask(run, arun)


def decide(asking: Asking[T]) -> T:
    """Ask on the sync path until it is decided."""
    answer: Any = None
    error: Exception | None = None
    while True:
        try:
            wanted = asking.send(answer) if error is None else asking.throw(error)
        except StopIteration as done:
            decided: T = done.value
            return decided
        answer = error = None
        try:
            answer = wanted.run()
        except Exception as raised:
            error = raised


async def adecide(asking: Asking[T]) -> T:
    """Ask on the async path until it is decided."""
    answer: Any = None
    error: Exception | None = None
    while True:
        try:
            wanted = asking.send(answer) if error is None else asking.throw(error)
        except StopIteration as done:
            decided: T = done.value
            return decided
        answer = error = None
        try:
            answer = await wanted.arun()
        except Exception as raised:
            error = raised
