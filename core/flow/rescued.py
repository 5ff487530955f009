"""What the block of a rescue receives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flowcompose.core.blocks import Block, FunctionBlock, ObjectBlock, as_block
from flowcompose.core.context import Context
from flowcompose.core.functions import describe, is_async, is_context
from flowcompose.core.untyped import unchecked

RescueLike = (
    Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Context], Any]
    | ObjectBlock
)
"""What is accepted as the block of a rescue."""


@dataclass(frozen=True, slots=True)
class Rescued:
    """What a generator, a flow or another block receives as its value in a rescue.

    A plain function gets the error itself, and the value as a second argument if it takes one.
    """

    error: Exception
    """The step's own error."""
    value: Any
    """What the step had received."""
    step: str
    """Its name."""

    def __str__(self) -> str:
        return f"Step {self.step!r} failed ({type(self.error).__name__}: {self.error})."


class RescueFunction(FunctionBlock):
    """A plain function of the error, of error and value, or of error, value and context."""

    def __init__(self, function: Callable[..., Any]) -> None:
        wanted = _wanted(function)

        def call(rescued: Rescued, ctx: Context) -> Any:
            offered = {"error": rescued.error, "value": rescued.value, "ctx": ctx}
            return function(*(offered[each] for each in wanted))

        self.function = function
        self.name = describe(function)
        self.async_only = is_async(function)
        self.call = call


def as_rescue(block: RescueLike) -> Block:
    """Give a block that takes a `Rescued`.

    Raises:
        TypeError: It cannot be one.
    """
    plain = inspect.isroutine(block) or isinstance(unchecked(block), functools.partial)
    if plain and not inspect.isgeneratorfunction(block):
        return RescueFunction(unchecked(block))
    return as_block(unchecked(block))


def _wanted(function: Callable[..., Any]) -> tuple[str, ...]:
    """Say what a function takes, by how many arguments must be given and how they are named."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some built-ins have none to read
        return ("error",)
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in places if p.default is p.empty or p.name == "value" or is_context(p)]
    known = [_WORDS[len(needed)]] if len(needed) in _WORDS else []
    keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if not known or keywords:
        msg = f"{describe(function)} must take the error, or error and value, or these and ctx"
        raise TypeError(msg)
    return ("error", "ctx") if len(needed) == 2 and is_context(needed[1]) else known[0]


_WORDS: dict[int, tuple[str, ...]] = {
    1: ("error",),
    2: ("error", "value"),
    3: ("error", "value", "ctx"),
}
