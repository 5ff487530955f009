"""What a stop condition is, and how any two are combined."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from flowcompose.core.context import Context
from flowcompose.core.errors import DefinitionError
from flowcompose.core.functions import async_in_sync, describe, is_async

Predicate = Callable[[Context], bool] | Callable[[Context], Awaitable[bool]]


class Condition(ABC):
    """A reason to stop. Subclass it only to give a predicate a name and a readable repr."""

    @abstractmethod
    def fired(self, ctx: Context) -> Condition | None:
        """Give the part of this condition that holds, or None."""

    async def afired(self, ctx: Context) -> Condition | None:
        """The same, for conditions that wait for something."""
        return self.fired(ctx)

    @property
    def async_parts(self) -> tuple[str, ...]:
        """The parts that only work with `arun`."""
        return ()

    def __call__(self, ctx: Context) -> bool:
        """Say whether the condition holds."""
        return self.fired(ctx) is not None

    def __or__(self, other: Condition | Predicate) -> Condition:
        return AnyOf(self, as_condition(other))

    def __ror__(self, other: Predicate) -> Condition:
        return AnyOf(as_condition(other), self)

    def __and__(self, other: Condition | Predicate) -> Condition:
        return AllOf(self, as_condition(other))

    def __rand__(self, other: Predicate) -> Condition:
        return AllOf(as_condition(other), self)

    def __invert__(self) -> Condition:
        return Not(self)


@dataclass(frozen=True)
class _Function(Condition):
    function: Predicate

    def fired(self, ctx: Context) -> Condition | None:
        held = self.function(ctx)
        if inspect.isawaitable(held):
            raise async_in_sync(repr(self), held)
        return self if held else None

    async def afired(self, ctx: Context) -> Condition | None:
        held = self.function(ctx)
        return self if (await held if inspect.isawaitable(held) else held) else None

    @property
    def async_parts(self) -> tuple[str, ...]:
        return (repr(self),) if is_async(self.function) else ()

    def __repr__(self) -> str:
        return describe(self.function)


class _Combined(Condition, ABC):
    def __init__(self, left: Condition, right: Condition) -> None:
        self.left = left
        self.right = right

    @property
    def async_parts(self) -> tuple[str, ...]:
        return self.left.async_parts + self.right.async_parts

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self.left, self.right))


class AnyOf(_Combined):
    """Holds when one of two holds; the first that does is named."""

    def fired(self, ctx: Context) -> Condition | None:
        """Give the first part that holds."""
        return self.left.fired(ctx) or self.right.fired(ctx)

    async def afired(self, ctx: Context) -> Condition | None:
        """Give the first part that holds."""
        return await self.left.afired(ctx) or await self.right.afired(ctx)

    def __repr__(self) -> str:
        return f"{self.left!r} | {self.right!r}"


class AllOf(_Combined):
    """Holds when both hold; the whole is named."""

    def fired(self, ctx: Context) -> Condition | None:
        """Give this condition if both parts hold."""
        return self if self.left.fired(ctx) and self.right.fired(ctx) else None

    async def afired(self, ctx: Context) -> Condition | None:
        """Give this condition if both parts hold."""
        return self if await self.left.afired(ctx) and await self.right.afired(ctx) else None

    def __repr__(self) -> str:
        return " & ".join(_bracketed(part) for part in (self.left, self.right))


@dataclass(frozen=True)
class Not(Condition):
    """Holds when its part does not."""

    part: Condition

    def fired(self, ctx: Context) -> Condition | None:
        """Give this condition if its part does not hold."""
        return None if self.part.fired(ctx) else self

    async def afired(self, ctx: Context) -> Condition | None:
        """Give this condition if its part does not hold."""
        return None if await self.part.afired(ctx) else self

    @property
    def async_parts(self) -> tuple[str, ...]:
        """The part's."""
        return self.part.async_parts

    def __repr__(self) -> str:
        inner = f"({self.part!r})" if isinstance(self.part, _Combined) else repr(self.part)
        return f"~{inner}"


def _bracketed(part: Condition) -> str:
    return f"({part!r})" if isinstance(part, AnyOf) else repr(part)


def as_condition(predicate: Condition | Predicate) -> Condition:
    """Give a condition for anything that `terminate_when` takes."""
    if isinstance(predicate, Condition):
        return predicate
    if not callable(predicate) or isinstance(predicate, type):
        problem = f"must be a condition or a function (ctx) -> bool, got {predicate!r}"
        raise DefinitionError("a condition", [problem])
    return _Function(predicate)
