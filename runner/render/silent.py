"""No transcript: for programs that want the answer alone."""

from __future__ import annotations

from typing import Any, Self

from flowcompose.core.events import Event
from flowcompose.core.results import Result
from flowcompose.resources.usage import Usage


class SilentRenderer:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is to be given back."""

    def feed(self, event: Event) -> None:
        """Show nothing."""

    def note(self, about: str, said: str) -> None:
        """Show nothing."""

    def broke_off(self, how: str, left: Result[Any], usage: Usage | None = None) -> None:
        """Show nothing."""
