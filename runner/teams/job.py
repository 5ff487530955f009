"""Something to run, with all that is needed to tell what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flowcompose.core.errors import RunError
from flowcompose.core.pattern import Pattern
from flowcompose.core.results import Result, Stop
from flowcompose.resources.usage import Usage
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams.answer import Answer, Phase
from flowcompose.runner.teams.messages import Message, cleaned
from flowcompose.runner.teams.reports import Report

_ENDED: dict[str, Phase] = {"cancelled": "canceled", "interrupted": "canceled"}


@dataclass(frozen=True)
class Job:
    """One target of a Query, or an object of a Python file, ready to run."""

    target_type: str
    target: str
    pattern: Pattern[Any]
    goal: Any
    """What `pattern.run` takes."""
    redactor: Redactor
    """Knows what must not be shown."""
    reports: Report
    """Reads what a run made."""
    query: str | None = None
    era: str | None = None
    """The era of the documents; None for Python."""
    timeout: float | None = None
    """Seconds that the Query gives it; None for any time."""
    cap: int | None = None
    """Turns that it takes at most, if that is known."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """What members are called in the documents, where the pattern calls them otherwise."""

    def answer(self, result: Result[Any]) -> Answer:
        """Tell what a run gave that came to its end, or waits for an answer."""
        raw, content, error = self.reports(result)
        phase: Phase = "error" if error else _ENDED.get(result.stop.reason, "done")
        return self._answer(phase, content, raw, error, result.stop, result.usage)

    def failure(self, error: BaseException, result: Result[Any] | None = None) -> Answer:
        """Tell what is left of a run that failed, or was broken off: what was said stays.

        Args:
            error: What it ended with. What is no `Exception`, as Ctrl-C, makes it `canceled`.
            result: What is known of the run besides, if the error carries nothing.
        """
        left = (error.result if isinstance(error, RunError) else None) or result
        raw, content, text = self.reports(left, error)
        usage = left.usage if left is not None else Usage()
        if not isinstance(error, Exception):
            return self._answer("canceled", content, raw, None, Stop(reason="cancelled"), usage)
        said = text or str(error) or type(error).__name__
        stop = left.stop if left is not None else Stop(reason="failed", detail=said)
        return self._answer("error", said, raw, said, stop, usage)

    def _answer(
        self,
        phase: Phase,
        content: str,
        raw: list[Message],
        error: str | None,
        stop: Stop,
        usage: Usage,
    ) -> Answer:
        clean = self.redactor.clean
        return Answer(
            target_type=self.target_type,
            target=self.target,
            phase=phase,
            content=clean(content),
            raw=[cleaned(message, self.redactor) for message in raw],
            error=None if error is None else clean(error),
            stop=self._told(stop),
            usage=usage,
        )

    def _told(self, stop: Stop) -> Stop:
        detail = stop.detail and self.redactor.clean(stop.detail)
        return stop.model_copy(
            update={"by": stop.by and self.names.get(stop.by, stop.by), "detail": detail}
        )
