"""What the default blocks of one pattern have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowcompose.resources.resource import ContributionsState, Resource

if TYPE_CHECKING:
    from flowcompose.core.context import Context


DEFAULT_KEY = "contributions"
"""The accessor key of a transcript that nobody named."""


@dataclass(frozen=True)
class MemberInfo:
    """A member as the others know it."""

    name: str
    role: str | None = None


@dataclass(frozen=True)
class Panel:
    """What the default blocks of one pattern have in common."""

    name: str
    members: tuple[MemberInfo, ...] = ()
    system: Callable[[Context], str] | None = None
    """Writes the system message that every request of the panel begins with."""
    model: Any = None
    """The pattern's model, for default blocks that name none."""
    accessor_key: str = DEFAULT_KEY
    contributions: Resource[ContributionsState] | None = None
    has_rounds: bool = True
    """Whether it works in rounds, so that they are worth telling a model."""
