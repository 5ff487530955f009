"""Events as lines of JSON."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from flowcompose.core.events import Event
from flowcompose.resources.structured_data import to_json
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.show import complain
from flowcompose.runner.texts import whole
from flowcompose.runner.unusable import UnusableError


class EventFile:
    """A file to which each event is written as it happens, one JSON object to a line.

    Args:
        path: The file.
        append: Whether to go on with what is in it.

    Raises:
        UnusableError: It cannot be opened.
    """

    def __init__(self, path: Path, *, append: bool = False) -> None:
        self._path = path
        try:
            self._file = path.open("a" if append else "w", encoding="utf-8")
        except OSError as error:
            said = f"--events: cannot write {str(path)!r}: {error.strerror or error}"
            raise UnusableError(said) from None
        self._broken = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        with suppress(OSError):  # what was not written was told then
            self._file.close()

    def write(self, event: Event, redactor: Redactor) -> None:
        """Add an event. A full disk is told once, and does not end the run."""
        if self._broken:
            return
        line = redactor.clean_json(event_json(event), numbers=False)
        try:
            self._file.write(whole(json.dumps(line, ensure_ascii=False)) + "\n")
            self._file.flush()
        except OSError as error:
            self._broken = True
            said = f"warning: --events: {self._path}: {error.strerror or error}"
            complain(f"{said}; the run goes on without")


def event_json(event: Event) -> dict[str, Any]:
    """Give an event as JSON: its class as `type`, then its fields."""
    named = {each.name: plain(getattr(event, each.name)) for each in fields(event)}
    return {"type": type(event).__name__, **named}


def plain(value: Any) -> Any:
    """Give any value as JSON."""
    try:
        return to_json(value)
    except Exception:  # a user's own class may refuse in any way
        return repr(value)
