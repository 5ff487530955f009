"""Collecting what is wrong with a definition, to say all of it at once."""

from __future__ import annotations

from collections.abc import Iterable

from flowcompose.core.errors import DefinitionError


class Problems:
    """The problems of one definition, found one after another and raised together.

    Example:
        ```python
        from flowcompose.core.definition import Problems

        problems = Problems("round_robin 'panel'")
        problems.check(3 > 0, "never said")
        problems.raise_if_any()
        ```
    """

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.found: list[str] = []

    def add(self, problem: str) -> None:
        """Note a problem."""
        self.found.append(problem)

    def check(self, holds: bool, problem: str) -> bool:
        """Note `problem` unless `holds`; give `holds` back."""
        if not holds:
            self.add(problem)
        return holds

    def extend(self, problems: Iterable[str]) -> None:
        """Note several."""
        self.found.extend(problems)

    def raise_if_any(self) -> None:
        """Raise a `DefinitionError` with all problems, if there are any."""
        if self.found:
            raise DefinitionError(self.subject, self.found)
