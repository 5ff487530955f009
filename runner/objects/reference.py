"""Telling `module:object` and `file.py:object` from the path of a document."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_DOCUMENTS = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Reference:
    """Where an object of Python is."""

    module: str
    """The module; empty where a file is named."""
    file: Path | None
    name: str
    """The object in it, maybe dotted; empty where only a file is named."""

    def __str__(self) -> str:
        place = self.module if self.file is None else str(self.file)
        return f"{place}:{self.name}" if self.name else place

    def absolute(self) -> Reference:
        """Give the same place, wherever it is asked for."""
        file = None if self.file is None else self.file.resolve()
        return Reference(self.module, file, self.name)


def reference_in(path: str) -> Reference | None:
    """Read a reference to Python; None where it is the path of a document or a folder.

    The last colon parts them: a file may have colons in its name, and a drive before it.
    """
    if path.endswith(".py"):
        return Reference("", Path(path), "")
    place, colon, name = path.rpartition(":")
    if not colon or Path(path).exists():
        return None
    if place.endswith(".py"):
        return Reference("", Path(place), name)
    named = _DOTTED.fullmatch(place) and _DOTTED.fullmatch(name) and not _is_document(name)
    return Reference(place, None, name) if named else None


def _is_document(name: str) -> bool:
    return name.lower().endswith(_DOCUMENTS)
