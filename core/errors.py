"""Everything flowcompose raises.

FlowComposeError
+- DefinitionError (ValueError)   what was written cannot work: raised where it was written
|  +- ManifestError               a document that cannot work: `.file`, `.line`, `.path`
+- RunError (RuntimeError)        a run failed: `.result` holds what was achieved
   +- MemberError                 a member failed: `.agent_name`, `.round`, `.turn`
   +- SelectorError               nobody could be chosen to speak: `.answer`
   +- OutputError                 a structured answer that could not be had
   +- MaxTurnsReached             a cap was reached, and `on_limit="raise"` asked for it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from flowcompose.core.results import Result


class FlowComposeError(Exception):
    """The root of all errors of this library: catch it to catch them all."""


class DefinitionError(FlowComposeError, ValueError):
    """A definition, an argument or a setting that cannot work.

    Raised before anything runs, with every problem found, not only the first.
    """

    problems: tuple[str, ...]
    """One sentence per problem; each quotes the value and says what is allowed."""

    def __init__(self, subject: str, problems: Sequence[str]) -> None:
        self.subject = subject
        self.problems = tuple(problems)
        listed = "".join(f"\n  - {problem}" for problem in self.problems)
        super().__init__(
            f"{subject}: {self.problems[0]}"
            if len(self.problems) == 1
            else f"{subject}: {len(self.problems)} problems{listed}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle from the parts: an exception's default is its single message."""
        return type(self), (self.subject, self.problems)


@dataclass(frozen=True, slots=True)
class ManifestProblem:
    """Something that is wrong with a document, and where it stands."""

    message: str
    file: str
    """The file, as its user named it."""
    line: int | None = None
    """Counted from 1; None where the problem is that of a whole file."""
    path: str = ""
    """Where in the document, such as `spec.members[0].name`."""
    severity: Literal["error", "warning"] = "error"
    """A warning does not keep the document from being run."""
    stays: bool = False
    """Whether it stays a warning where warnings count as errors: what is missing may come from
    elsewhere, or is of a cluster alone."""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return ": ".join(filter(None, (place, self.path, self.message)))


class ManifestError(DefinitionError):
    """A document, or a set of them, that cannot work."""

    found: tuple[ManifestProblem, ...]
    """Every problem with its place. `.problems` are the same as sentences."""

    def __init__(self, subject: str, found: Sequence[ManifestProblem]) -> None:
        super().__init__(subject, [str(each) for each in found])
        self.found = tuple(found)

    @property
    def file(self) -> str:
        """In which file the first problem is."""
        return self.found[0].file

    @property
    def line(self) -> int | None:
        """On which line the first problem is."""
        return self.found[0].line

    @property
    def path(self) -> str:
        """Where in its document the first problem is."""
        return self.found[0].path

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle from the parts."""
        return type(self), (self.subject, self.found)


class RunError(FlowComposeError, RuntimeError):
    """A run that failed. The pattern stays usable."""

    result: Result[Any] | None
    """The run up to the failure: transcript, critiques, usage, tasks. None if nothing ran yet."""

    def __init__(self, message: str, *, result: Result[Any] | None = None) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle message and attributes: what a class takes by keyword is lost otherwise."""
        return _rebuilt, (type(self), str(self), self.__dict__)


class MemberError(RunError):
    """A member failed in its turn; the member's own exception is `__cause__`."""

    def __init__(
        self,
        message: str,
        *,
        agent_name: str,
        round: int,
        turn: int,
        result: Result[Any] | None = None,
    ) -> None:
        super().__init__(message, result=result)
        self.agent_name = agent_name
        """Who was speaking."""
        self.round = round
        """In which round, counted from 1."""
        self.turn = turn
        """In which turn of the run, counted from 1."""


class SelectorError(RunError):
    """The selector failed, or chose nobody who may speak."""

    def __init__(
        self, message: str, *, answer: str | None = None, result: Result[Any] | None = None
    ) -> None:
        super().__init__(message, result=result)
        self.answer = answer
        """What it said, if it said something."""


class OutputError(RunError):
    """A model did not give a structured answer that fits the schema."""

    def __init__(
        self, message: str, *, answer: str | None = None, result: Result[Any] | None = None
    ) -> None:
        super().__init__(message, result=result)
        self.answer = answer
        """The last answer as the model gave it, if there was one."""


def _rebuilt(cls: type[RunError], message: str, attributes: dict[str, Any]) -> RunError:
    error = cls.__new__(cls, message)
    error.args = (message,)
    error.__dict__.update(attributes)
    return error


class MaxTurnsReached(RunError):  # noqa: N818 - it names what happened, and is public
    """A cap was reached. Raised only with `on_limit="raise"`; the result is complete."""
