"""What every check is given, and the words that several of them use."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Final

from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.eras import Era
from flowcompose.runner.manifest.findings import Findings
from flowcompose.runner.manifest.loaded import Loaded
from flowcompose.runner.manifest.marks import Path

CAP: Final = 100
"""Turns of a strategy that needs a cap and has none."""

GUESSES: Final = 100
"""How many wrong names are compared with how many right ones: it takes its time."""


@dataclass(frozen=True)
class Context:
    """The documents that are checked, and where to say what is wrong."""

    loaded: Loaded
    era: Era
    findings: Findings
    _guesses: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def error(self, document: Document, path: Path, message: str) -> None:
        """Note what keeps a document from being run."""
        self.findings.error(document, path, message)

    def warning(self, document: Document, path: Path, message: str) -> None:
        """Note what it runs without, or otherwise than it may mean."""
        self.findings.warning(document, path, message)

    def find(self, kind: str, name: str, referrer: Document) -> Document | None:
        """Find a document that another one names."""
        return self.loaded.find(kind, name, referrer.namespace)

    def missing(self, kind: str, name: str, referrer: Document) -> str | None:
        """Say that a document is nowhere; None if it is there."""
        if self.find(kind, name, referrer):
            return None
        where = f"does not exist in namespace '{referrer.namespace}'"
        return f"{kind[0].lower()}{kind[1:]} '{name}' {where}{self._hint(kind, name)}"

    def _hint(self, kind: str, name: str) -> str:
        elsewhere = self.loaded.namespaces_of(kind, name)
        if elsewhere:
            return f", but in '{elsewhere[0]}'"
        if (kind, name) not in self._guesses and len(self._guesses) < GUESSES:
            names = [each.name for each in self.loaded.of_kind(kind)][:GUESSES]
            close = difflib.get_close_matches(name[:GUESSES], names, n=1)
            self._guesses[kind, name] = close[0] if close else ""
        guess = self._guesses.get((kind, name))
        return f": did you mean '{guess}'?" if guess else ""


def listed(names: tuple[str, ...], last: str = "or") -> str:
    """Write names as a sentence lists them: `'a', 'b', or 'c'`."""
    quoted = [f"'{name}'" for name in names]
    return f"{', '.join(quoted[:-1])}, {last} {quoted[-1]}"
