"""Gathering what is wrong with documents, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from flowcompose.core.errors import ManifestProblem
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.marks import Path, said
from flowcompose.runner.manifest.sentences import printable

Severity = Literal["error", "warning"]


class Findings:
    """All problems of a set of documents."""

    def __init__(self) -> None:
        self._problems: dict[ManifestProblem, None] = {}
        self._files: dict[str, None] = {}
        self._broken: set[int] = set()
        self._doubtful: set[int] = set()
        self._unread: set[tuple[int, Path]] = set()
        self._answered: set[ManifestProblem] = set()
        self._above: set[tuple[int, Path]] = set()

    @property
    def problems(self) -> tuple[ManifestProblem, ...]:
        """All of them, as they stand in the files."""
        order = {file: index for index, file in enumerate(self._files)}
        last = len(order)
        return tuple(
            sorted(self._problems, key=lambda each: (order.get(each.file, last), each.line or 0))
        )

    @property
    def answered(self) -> frozenset[ManifestProblem]:
        """Those that are none where the command line says which model is asked."""
        return frozenset(self._answered)

    def read(self, file: str) -> None:
        """Note that a file is read now: its problems stand before those of later files."""
        self._files[file] = None

    def is_broken(self, document: Document) -> bool:
        """Tell whether an error was found in a document."""
        return document.key in self._broken

    def is_doubtful(self, document: Document) -> bool:
        """Tell whether a warning was found in a document that is an error under `--strict`."""
        return document.key in self._doubtful

    def add(self, problem: ManifestProblem) -> ManifestProblem:
        """Note a problem of a file, and give it as it is noted."""
        message, path = printable(problem.message), printable(problem.path)
        noted = replace(problem, message=message, path=path)
        self._problems[noted] = None
        return noted

    def unread(self, document: Document, path: Path, message: str) -> None:
        """Note a field whose value cannot be taken; what is said of it later is left out."""
        self._note(document, path, message, "error", stays=False)
        self._unread.add((document.key, path))
        self._above.update((document.key, above) for above in _prefixes(path))

    def error(self, document: Document, path: Path, message: str) -> None:
        """Note what keeps a document from being run."""
        self._say(document, path, message, "error", stays=False)

    def warning(
        self,
        document: Document,
        path: Path,
        message: str,
        *,
        stays: bool = False,
        of_model: bool = False,
    ) -> None:
        """Note what a document runs without, or otherwise than it may mean.

        Args:
            document: Where it stands.
            path: Where in it.
            message: What it is.
            stays: Whether it is no error under `--strict` either.
            of_model: Whether it is none where the command line says which model is asked.
        """
        noted = self._say(document, path, message, "warning", stays=stays)
        if of_model and noted is not None:
            self._answered.add(noted)

    def _say(
        self, document: Document, path: Path, message: str, severity: Severity, *, stays: bool
    ) -> ManifestProblem | None:
        if self._is_unread(document, path):
            return None
        return self._note(document, path, message, severity, stays=stays)

    def _is_unread(self, document: Document, path: Path) -> bool:
        """Tell whether a field could not be read, or something in it, or that which it is in."""
        if (document.key, path) in self._above:
            return True
        return any((document.key, above) in self._unread for above in _prefixes(path))

    def _note(
        self, document: Document, path: Path, message: str, severity: Severity, *, stays: bool
    ) -> ManifestProblem:
        line = document.line_at(path)
        noted = self.add(ManifestProblem(message, document.file, line, said(path), severity, stays))
        if severity == "error":
            self._broken.add(document.key)
        elif not stays:
            self._doubtful.add(document.key)
        return noted


def _prefixes(path: Path) -> Iterator[Path]:
    return (path[:length] for length in range(len(path) + 1))
