"""Finding the files that a user names, and reading them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flowcompose.core.errors import ManifestProblem
from flowcompose.runner.manifest.budget import FILE_BYTES, RefusedError
from flowcompose.runner.manifest.reading import decoded

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Of the files that are read in a folder."""


@dataclass(frozen=True)
class Source:
    """A file, and what stands in it."""

    file: str
    named: bool
    """Whether the user named the file itself, and not the folder it is in."""
    text: str | None
    problem: ManifestProblem | None = None


def sources(paths: Sequence[str | Path]) -> Iterator[Source]:
    """Read files and folders, each file once."""
    seen: set[str] = set()
    for path in (os.fspath(each) for each in paths):
        if not _is_folder(path):
            if _is_new(path, seen):
                yield _source(path, named=True)
            continue
        files = list(_files_in(path))
        if not files:
            wanted = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
            yield _bad(path, named=True, message=f"no documents are in this folder ({wanted})")
        for file in files:
            if _is_new(file, seen):
                yield _source(file, named=False)


def _is_folder(path: str) -> bool:
    try:
        return os.path.isdir(path)
    except ValueError:  # a NUL byte, in a version of Python that minds
        return False


def _is_new(path: str, seen: set[str]) -> bool:
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):
        real = path
    if real in seen:
        return False
    seen.add(real)
    return True


def _files_in(folder: str) -> Iterator[str]:
    """Give the files of a folder and of those in it, in order; hidden ones are left out."""
    entered: set[str] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in entered:  # a link that leads back
            folders.clear()
            continue
        entered.add(real)
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for file in sorted(files):
            path = os.path.join(place, file)
            if _is_wanted(file) and os.path.isfile(path):
                yield path


def _is_wanted(file: str) -> bool:
    return not file.startswith(".") and file.lower().endswith(SUFFIXES)


def _source(path: str, *, named: bool) -> Source:
    try:
        with open(path, "rb") as file:
            text = decoded(file.read(FILE_BYTES + 1))
    except RefusedError as error:
        return _bad(path, named=named, message=error.message, line=error.line)
    except OSError as error:
        return _bad(path, named=named, message=f"cannot be read: {error.strerror or error}")
    except ValueError as error:
        return _bad(path, named=named, message=f"cannot be read: {error}")
    return Source(_label(path), named, text)


def _bad(path: str, *, named: bool, message: str, line: int | None = None) -> Source:
    label = _label(path)
    return Source(label, named, None, ManifestProblem(message, label, line))


def _label(path: str) -> str:
    """Give a path as it can be printed: a name need not be text."""
    return path.encode("utf-8", "backslashreplace").decode()
