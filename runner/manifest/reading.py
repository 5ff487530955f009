"""Reading a file of documents: what stands in it, and on which lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from flowcompose.core.errors import ManifestProblem
from flowcompose.runner.manifest.budget import DOCUMENTS, FILE_BYTES, RESTARTS, RefusedError
from flowcompose.runner.manifest.composing import Composer
from flowcompose.runner.manifest.marks import Mark, said
from flowcompose.runner.manifest.yaml_events import (
    MarkedYAMLError,
    YAMLError,
    events,
    events_of,
    line_of,
)

_BOUNDARY = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB]\w\w)\\u([dD][c-fC-F]\w\w)")


@dataclass(frozen=True, slots=True)
class Raw:
    """A document as it was read."""

    value: object = field(repr=False)
    mark: Mark = field(repr=False)
    file: str


@dataclass(slots=True)
class Read:
    """What a file holds."""

    documents: list[Raw] = field(default_factory=list[Raw])
    problems: list[ManifestProblem] = field(default_factory=list[ManifestProblem])


def decoded(data: bytes) -> str:
    """Give the text of a file.

    Raises:
        RefusedError: It is too large, or no text.
    """
    if len(data) > FILE_BYTES:
        raise RefusedError(f"larger than {FILE_BYTES // 1024 // 1024} MB", None)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"no UTF-8 text (byte {error.start})"
        raise RefusedError(message, data.count(b"\n", 0, error.start) + 1) from None


def read(text: str, file: str) -> Read:
    """Read documents; one that is broken does not hide those after it."""
    found = Read()
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        found.problems.append(ManifestProblem("no text: it holds NUL bytes", file, line))
        return found
    if text.lstrip()[:1] in ("{", "["):
        text = _PAIR.sub(_character, text)  # JSON writes so what YAML does not know
    begun = -1
    for _ in range(RESTARTS):
        broken = _read_on(text, file, found)
        # The boundary itself may be what the reader did not expect.
        start = None if broken is None else max(_start_of_line(text, broken), begun + 1)
        rest = None if start is None else _BOUNDARY.search(text, start)
        if rest is None:
            break
        # Lines that were read are kept empty, so that the numbers hold.
        blank = "\n" * text.count("\n", 0, rest.start())
        text = blank + text[rest.start() :]
        begun = len(blank)
    return found


def _character(match: re.Match[str]) -> str:
    backslashes, high, low = match.groups()
    try:
        pair = int(high, 16) << 16 | int(low, 16)
    except ValueError:
        return match.group()
    return backslashes + pair.to_bytes(4, "big").decode("utf-16-be")


def _start_of_line(text: str, line: int) -> int:
    """Give where a line (counted from 1) begins; the end of the text if it has no such line."""
    position = 0
    for _ in range(line - 1):
        position = text.find("\n", position) + 1
        if not position:
            return len(text)
    return position


def _read_on(text: str, file: str, found: Read) -> int | None:
    """Read documents until one is broken; give its line."""
    try:
        source = events_of(text)
        for event in source:
            if isinstance(event, events.DocumentStartEvent):
                if len(found.documents) == DOCUMENTS:
                    message = f"more than {DOCUMENTS} documents: the rest is not read"
                    found.problems.append(ManifestProblem(message, file, line_of(event)))
                    break
                _read_one(source, file, found)
            elif isinstance(event, events.StreamEndEvent):
                break
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        message = f"no YAML: {error.problem or error.context}"
        found.problems.append(ManifestProblem(message, file, line))
        return line
    except RefusedError as error:
        found.problems.append(ManifestProblem(error.message, file, error.line))
        return error.line
    except YAMLError as error:
        found.problems.append(ManifestProblem(f"no YAML: {_first_line(error)}", file))
    return None


def _read_one(source: Iterator[events.Event], file: str, found: Read) -> None:
    composer = Composer(source)
    value, mark = composer.value(next(source))
    found.problems += [
        ManifestProblem(flaw.message, file, flaw.line, said(flaw.path)) for flaw in composer.flaws
    ]
    found.documents.append(Raw(value, mark, file))


def _first_line(error: YAMLError) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
