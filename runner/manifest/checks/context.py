"""What every check is given, and the words that several of them use."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from flowcompose.runner.manifest.documents import DEFAULT_NAMESPACE, Document
from flowcompose.runner.manifest.eras import Era
from flowcompose.runner.manifest.findings import Findings
from flowcompose.runner.manifest.loaded import Loaded
from flowcompose.runner.manifest.marks import Path
from flowcompose.runner.manifest.shapes import is_list, is_mapping

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

    def elsewhere(
        self, document: Document, path: Path, message: str, *, of_model: bool = False
    ) -> None:
        """Note what the command line may supply, or only a cluster has: no error if strict."""
        of_model = of_model or document.kind == "Model"
        self.findings.warning(document, path, message, stays=True, of_model=of_model)

    def placeholder(self, document: Document, path: Path, message: str, *, of_model: bool) -> None:
        """Note a value that was never put in."""
        self.findings.warning(document, path, message, of_model=of_model)

    @cached_property
    def secrets_of_others(self) -> frozenset[str]:
        """The names of the Secrets that other documents than Models read."""
        others = (each.raw for each in self.loaded.documents if each.kind != "Model")
        return frozenset(_secrets_in(list(others)))

    def find(self, kind: str, name: str, referrer: Document) -> Document | None:
        """Find a document that another one names."""
        return self.loaded.find(kind, name, referrer.namespace)

    def missing(self, kind: str, name: str, referrer: Document, path: Path) -> str | None:
        """Say that a document is nowhere; None if it is there, with a note if it is elsewhere.

        Args:
            kind: Its kind.
            name: Its name.
            referrer: The document that names it.
            path: Where it does.
        """
        if self.found(kind, name, referrer, path):
            return None
        where = f"does not exist in namespace '{referrer.namespace}'"
        return f"{kind[0].lower()}{kind[1:]} '{name}' {where}{self._hint(kind, name)}"

    def found(self, kind: str, name: str, referrer: Document, path: Path) -> bool:
        """Tell whether a document is there, and note if it is of another namespace."""
        found = self.find(kind, name, referrer)
        if found and found.namespace not in (referrer.namespace, DEFAULT_NAMESPACE):
            message = f"{found.title} is taken from namespace '{found.namespace}'"
            self.warning(referrer, path, f"{message}: this document has none of its own")
        return found is not None

    def ambiguous(self, kind: str, name: str, referrer: Document) -> str | None:
        """Say that a document is in several namespaces, none of which is meant more than others."""
        places = self.loaded.namespaces_of(kind, name)
        if len(places) < 2 or self.find(kind, name, referrer):
            return None
        return f"{kind[0].lower()}{kind[1:]} '{name}' is in {_all_of(places)}: name the namespace"

    def _hint(self, kind: str, name: str) -> str:
        elsewhere = self.loaded.namespaces_of(kind, name)
        if elsewhere:
            return f", but in {_all_of(elsewhere)}"
        if (kind, name) not in self._guesses and len(self._guesses) < GUESSES:
            names = [each.name for each in self.loaded.of_kind(kind)][:GUESSES]
            close = difflib.get_close_matches(name[:GUESSES], names, n=1)
            self._guesses[kind, name] = close[0] if close else ""
        guess = self._guesses.get((kind, name))
        return f": did you mean '{guess}'?" if guess else ""


def _secrets_in(value: object) -> Iterator[str]:
    """Name the Secrets that are read anywhere in a value."""
    if is_list(value):
        for each in value:
            yield from _secrets_in(each)
    elif is_mapping(value):
        ref = value.get("secretKeyRef")
        if is_mapping(ref):
            yield str(ref.get("name"))
        yield from _secrets_in(list(value.values()))


def _all_of(names: list[str]) -> str:
    return " and ".join(f"'{name}'" for name in names)


def listed(names: tuple[str, ...], last: str = "or") -> str:
    """Write names as a sentence lists them: `'a', 'b', or 'c'`."""
    quoted = [f"'{name}'" for name in names]
    return f"{', '.join(quoted[:-1])}, {last} {quoted[-1]}"
