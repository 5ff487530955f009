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

    def __bool__(self) -> bool:
        """Refuse `a or b` and `not a`, which would forget one of the two, and hold always."""
        msg = f"{self!r} is no truth value: combine conditions with |, & and ~, not or, and, not"
        raise TypeError(msg)


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


@dataclass(frozen=True, repr=False)
class _Combined(Condition, ABC):
    left: Condition
    right: Condition

    @property
    def async_parts(self) -> tuple[str, ...]:
        return self.left.async_parts + self.right.async_parts


class AnyOf(_Combined):
    """Holds when one of two holds; the first that does is named."""

    def fired(self, ctx: Context) -> Condition | None:
        """Give the first part that holds."""
        held = self.left.fired(ctx)
        return self.right.fired(ctx) if held is None else held

    async def afired(self, ctx: Context) -> Condition | None:
        """Give the first part that holds."""
        held = await self.left.afired(ctx)
        return await self.right.afired(ctx) if held is None else held

    def __repr__(self) -> str:
        return f"{self.left!r} | {_bracketed(self.right, AnyOf)}"


class AllOf(_Combined):
    """Holds when both hold; the whole is named."""

    def fired(self, ctx: Context) -> Condition | None:
        """Give this condition if both parts hold."""
        if self.left.fired(ctx) is None or self.right.fired(ctx) is None:
            return None
        return self

    async def afired(self, ctx: Context) -> Condition | None:
        """Give this condition if both parts hold."""
        if await self.left.afired(ctx) is None or await self.right.afired(ctx) is None:
            return None
        return self

    def __repr__(self) -> str:
        return f"{_bracketed(self.left, AnyOf)} & {_bracketed(self.right, AnyOf, AllOf)}"


@dataclass(frozen=True, repr=False)
class Not(Condition):
    """Holds when its part does not."""

    part: Condition

    def fired(self, ctx: Context) -> Condition | None:
        """Give this condition if its part does not hold."""
        return self if self.part.fired(ctx) is None else None

    async def afired(self, ctx: Context) -> Condition | None:
        """Give this condition if its part does not hold."""
        return self if await self.part.afired(ctx) is None else None

    @property
    def async_parts(self) -> tuple[str, ...]:
        """The part's."""
        return self.part.async_parts

    def __repr__(self) -> str:
        return f"~{_bracketed(self.part, AnyOf, AllOf)}"


def _bracketed(part: Condition, *kinds: type[Condition]) -> str:
    """Write a part as Python reads it: one that binds less tightly stands in brackets."""
    return f"({part!r})" if isinstance(part, kinds) else repr(part)


def as_condition(predicate: Condition | Predicate) -> Condition:
    """Give a condition for anything that `terminate_when` takes.

    Raises:
        DefinitionError: It is neither a condition nor a function of one argument.
    """
    if isinstance(predicate, Condition):
        return predicate
    if not callable(predicate) or isinstance(predicate, type) or not _takes_one(predicate):
        problem = f"must be a condition or a function (ctx) -> bool, got {predicate!r}"
        raise DefinitionError("a condition", [problem])
    return _Function(predicate)


def _takes_one(function: Predicate) -> bool:
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # a built-in without a signature: it shows when it is called
        return True
    return True
