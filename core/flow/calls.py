"""What a step asks to be called, and the two ways of calling it.

A step is written once, as a Python generator: it yields the calls that it wants and is sent
what came of them. `drive` makes the calls on the sync path, `adrive` on the async path.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator
from typing import Any, NamedTuple

from flowcompose.core.blocks import Block, FunctionBlock
from flowcompose.core.context import Context


class Call(NamedTuple):
    """One call that a step wants made."""

    block: Block
    value: Any
    decides: bool = False
    """Whether it is asked for a decision, which may read resources but not write them."""


Calls = Generator[Call, Any, Any]
"""The calls of a step; what it returns is the step's value."""


class InlineFunction(FunctionBlock):
    """A function that maps or looks: on the async path it needs no thread of its own."""

    async def arun(self, value: Any, ctx: Context) -> Any:
        """Call it where it stands."""
        given = self.call(value, ctx)
        return await given if inspect.isawaitable(given) else given


def drive(calls: Calls, ctx: Context) -> Any:
    """Make the calls on the sync path, and give what the step comes to."""
    answer: Any = None
    while True:
        try:
            call = calls.send(answer)
        except StopIteration as done:
            return done.value
        ctx.read_only = call.decides
        answer = call.block.run(call.value, ctx)


async def adrive(calls: Calls, ctx: Context) -> Any:
    """Make the calls on the async path."""
    answer: Any = None
    while True:
        try:
            call = calls.send(answer)
        except StopIteration as done:
            return done.value
        ctx.read_only = call.decides
        answer = await call.block.arun(call.value, ctx)
