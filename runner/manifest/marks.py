"""Where the parts of a document stand in its file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from flowcompose.runner.manifest.shapes import is_list, is_mapping

Path = tuple[str | int, ...]
"""The way to a value: keys of mappings, indices of lists."""

_PLAIN = re.compile(r"[\w$/-]+")
_PART = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.\[\]]+)')


@dataclass(slots=True)
class Mark:
    """The line of a value, and the marks of what stands in it."""

    line: int
    """That of its key, where it has one; counted from 1."""
    parts: dict[str | int, Mark] = field(default_factory=lambda: dict[str | int, Mark]())

    def line_of(self, path: Path) -> int:
        """Give the line of a field, or of the nearest above it that is there."""
        mark = self
        for part in path:
            below = mark.parts.get(part)
            if below is None:
                break
            mark = below
        return mark.line


def said(path: Path) -> str:
    """Write a path as it is shown: `spec.members[0].name`."""
    return "".join(_said(part) for part in path).removeprefix(".")


def parts_of(path: str) -> Path:
    """Read a path as `said` writes it."""
    return tuple(_parts(path))


def _said(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    if _PLAIN.fullmatch(part):
        return f".{part}"
    escaped = part.replace("\\", "\\\\").replace('"', '\\"')
    return f'["{escaped}"]'


def _parts(path: str) -> Iterator[str | int]:
    for quoted, index, plain in _PART.findall(path):
        if index:
            yield int(index)
        else:
            yield plain or re.sub(r"\\(.)", r"\1", quoted)


def at(value: object, path: Path) -> object:
    """Give the value at a path; None where there is none."""
    for part in path:
        value = _part(value, part)
    return value


def _part(value: object, part: str | int) -> object:
    if is_mapping(value) and isinstance(part, str):
        return value.get(part)
    if is_list(value) and isinstance(part, int) and part < len(value):
        return value[part]
    return None
