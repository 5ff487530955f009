"""Arguments and documents that nothing can be done with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowcompose.core.errors import DefinitionError, ManifestError, ManifestProblem


class UnusableError(Exception):
    """What the user gave cannot be run, drawn or read; the problems are for the user.

    Args:
        problems: What is wrong, and where if that is known.
        era: Of the documents, if any were loaded.
        documents: The loaded ones, as `validate` writes them.
    """

    def __init__(
        self,
        *problems: str | ManifestProblem,
        era: str | None = None,
        documents: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.era = era
        self.documents = tuple(documents)
        self.found = tuple(
            each if isinstance(each, ManifestProblem) else ManifestProblem(each, "")
            for each in problems
        )
        super().__init__("\n".join(str(each) for each in self.found))

    @classmethod
    def of(cls, error: DefinitionError) -> UnusableError:
        """Take over the problems of a definition."""
        if isinstance(error, ManifestError):
            return cls(*error.found)
        return cls(*(f"{error.subject}: {problem}" for problem in error.problems))
