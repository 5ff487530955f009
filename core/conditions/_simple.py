"""What the ready-made conditions have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from flowcompose.core.condition import Condition
from flowcompose.core.context import Context
from flowcompose.resources.contributions import Entry


class Simple(Condition, ABC):
    """A condition without parts."""

    @abstractmethod
    def holds(self, ctx: Context) -> bool:
        """Say whether it holds."""

    def fired(self, ctx: Context) -> Condition | None:
        """Give this condition if it holds."""
        return self if self.holds(ctx) else None


def heard(
    ctx: Context, names: tuple[str, ...] | None = None, *, nested: bool = False
) -> Iterator[Entry]:
    """Give the contributions that count, newest first: what fires a condition was just said.

    Args:
        ctx: The run.
        names: Only what these said, wherever they did; None for all members of the pattern.
        nested: Count what was said inside nested teams too, which is the team's word as well.
    """
    entries = reversed(ctx.contributions.raw)
    if names is not None:
        wanted = frozenset(names)
        return (each for each in entries if _is_of(each, wanted, nested))
    return entries if nested else (each for each in entries if not each.get("path"))


def _is_of(entry: Entry, names: frozenset[str], nested: bool) -> bool:
    return entry["agent_name"] in names or (nested and not names.isdisjoint(entry.get("path", ())))


def called(name: str, *positional: object, **options: object) -> str:
    """Write a call as a user does: what was not given is left out, a tuple is a list."""
    given = [_shown(value) for value in positional]
    given += [f"{key}={_shown(value)}" for key, value in options.items() if value not in _LEFT_OUT]
    return f"{name}({', '.join(given)})"


_LEFT_OUT = (None, False)


def _shown(value: object) -> str:
    return repr(list(value) if isinstance(value, tuple) else value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - any tuple
