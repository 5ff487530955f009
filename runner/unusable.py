"""Arguments and documents that nothing can be done with."""

from __future__ import annotations

from collections.abc import Sequence

from flowcompose.core.errors import DefinitionError, ManifestError, ManifestProblem


class UnusableError(Exception):
    """What the user gave cannot be run, drawn or read; the problems are for the user."""

    def __init__(self, *problems: str | ManifestProblem) -> None:
        self.found = tuple(
            each if isinstance(each, ManifestProblem) else ManifestProblem(each, "")
            for each in problems
        )
        super().__init__("\n".join(str(each) for each in self.found))

    @classmethod
    def of(cls, error: DefinitionError, *, around: Sequence[str] = ()) -> UnusableError:
        """Take over the problems of a definition.

        Args:
            error: What was raised where it was made.
            around: What is said before each problem, outermost first.
        """
        if isinstance(error, ManifestError):
            return cls(*error.found)
        said = ": ".join([*around, error.subject])
        return cls(*(f"{said}: {problem}" for problem in error.problems))
