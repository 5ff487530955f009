"""A set of documents that was loaded, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from flowcompose.core.errors import ManifestError, ManifestProblem
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.eras import Era
from flowcompose.runner.manifest.kinds.query import TargetSpec
from flowcompose.runner.manifest.kinds.values import ParameterSpec, ValueSource
from flowcompose.runner.manifest.loaded import Loaded
from flowcompose.runner.manifest.resolving import (
    lacks_of,
    parameters_of,
    secrets_of,
    value_of,
)

_NONE: Mapping[str, str] = {}


@dataclass(frozen=True, eq=False)
class Manifest:
    """Documents, as they were loaded. It is there even if nothing in it can be used."""

    era: Era
    """Whose behaviour holds for the whole set."""
    loaded: Loaded = field(repr=False)
    problems: tuple[ManifestProblem, ...]
    """Errors and warnings, as they stand in the files."""
    notices: tuple[str, ...]
    """What was passed over, and is no problem."""
    answered: frozenset[ManifestProblem] = field(default=frozenset(), repr=False)
    """Those problems that are none where the command line says which model is asked."""

    @property
    def documents(self) -> tuple[Document, ...]:
        """All documents of the kinds that are read, in order."""
        return self.loaded.documents

    @property
    def errors(self) -> tuple[ManifestProblem, ...]:
        """What keeps the documents from being run."""
        return tuple(each for each in self.problems if each.severity == "error")

    @property
    def warnings(self) -> tuple[ManifestProblem, ...]:
        """What they run without, or otherwise than they may mean."""
        return tuple(each for each in self.problems if each.severity == "warning")

    @cached_property
    def secrets(self) -> frozenset[str]:
        """Every text that must not be shown: of Secrets, API keys and headers."""
        return secrets_of(self.loaded)

    def find(self, kind: str, name: str, namespace: str | None = None) -> Document | None:
        """Give the document of a kind and name; that of the namespace first, if one is given."""
        return self.loaded.find(kind, name, namespace)

    def of_kind(self, kind: str) -> list[Document]:
        """Give all documents of a kind, in order."""
        return self.loaded.of_kind(kind)

    def targets_of(self, query: Document) -> tuple[TargetSpec, ...]:
        """Give who is asked by a query, its label selector included."""
        return self.loaded.targets_of(query)

    def raise_if_errors(self, strict: bool = False) -> None:
        """Stop here if something is wrong.

        Args:
            strict: Take warnings for errors, but for those that stay warnings.

        Raises:
            ManifestError: With every problem.
        """
        found = [
            each
            for each in self.problems
            if each.severity == "error" or (strict and not each.stays)
        ]
        if found:
            raise ManifestError("documents", found)

    def value(
        self,
        source: ValueSource,
        parameters: Mapping[str, str] = _NONE,
        namespace: str | None = None,
    ) -> str | None:
        """Give a value from where it stands.

        Args:
            source: The value, or where it is.
            parameters: Those of the query.
            namespace: That of the document that names it.

        Returns:
            None if it is nowhere, or if only a placeholder is there.
        """
        return value_of(self.loaded, source, parameters, namespace)

    def parameters_of(
        self,
        declared: Iterable[ParameterSpec],
        given: Mapping[str, str] = _NONE,
        namespace: str | None = None,
    ) -> dict[str, str]:
        """Give the values of parameters by name, without those that are nowhere.

        Args:
            declared: The parameters of a document.
            given: Those of the query.
            namespace: That of the document.
        """
        return parameters_of(self.loaded, declared, given, namespace)

    def lacks_of(
        self,
        declared: Iterable[ParameterSpec],
        given: Mapping[str, str] = _NONE,
        namespace: str | None = None,
    ) -> list[str]:
        """Say of each parameter that is nowhere what it lacks; the arguments are as above."""
        return lacks_of(self.loaded, declared, given, namespace)
