"""What a run is told as: one JSON object, and an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flowcompose.core.errors import ManifestProblem
from flowcompose.core.results import Stop
from flowcompose.resources.usage import Tokens
from flowcompose.runner.runs.ended import Ended
from flowcompose.runner.signals import INTERRUPTED
from flowcompose.runner.teams import Answer
from flowcompose.runner.unusable import UnusableError

FAILED = 1
UNUSABLE = 2

_CODES = {"done": 0, "error": FAILED, "canceled": INTERRUPTED}


@dataclass(frozen=True)
class Told:
    """How a command ended."""

    code: int
    report: dict[str, Any]
    """What `--json` prints."""


def told_of_run(
    ended: Sequence[Ended], *, query: str | None, era: str | None, thread: str | None
) -> Told:
    """Tell what came of all targets."""
    answers = [each.answer for each in ended]
    left = next((each.answer for each in ended if each.broke is not None), None)
    phase = phase_of(answers) if left is None else left.phase
    used = sum((answer.usage for answer in answers), Tokens())
    report = {
        "query": query,
        "phase": phase,
        "responses": [_response(each.answer, each.questions) for each in ended],
        "stop": stop_json(stop_of(answers) if left is None else left.stop),
        "tokenUsage": {
            "promptTokens": used.input_tokens,
            "completionTokens": used.output_tokens,
            "totalTokens": used.total_tokens,
        },
        "thread": thread,
        "era": era,
    }
    return Told(_CODES[phase], report)


def told_of_failure(phase: str, stop: Stop, *, query: str | None) -> Told:
    """Tell that nothing came of it."""
    told = told_of_run([], query=query, era=None, thread=None)
    return Told(_CODES[phase], {**told.report, "phase": phase, "stop": stop_json(stop)})


def told_of_unusable(error: UnusableError) -> Told:
    """Tell what is wrong with what was given, in the form that `validate` has."""
    return Told(UNUSABLE, validation(error.era, error.documents, error.found))


def validation(
    era: str | None, documents: Sequence[dict[str, Any]], problems: Sequence[ManifestProblem]
) -> dict[str, Any]:
    """Give the object of `validate`."""
    return {
        "ok": all(each.severity != "error" for each in problems),
        "era": era,
        "documents": list(documents),
        "problems": [_problem(each) for each in problems],
    }


def phase_of(answers: Sequence[Answer]) -> str:
    """The phase of the whole: the worst one."""
    phases = {answer.phase for answer in answers}
    return next((each for each in ("error", "canceled") if each in phases), "done")


def stop_of(answers: Sequence[Answer]) -> Stop | None:
    """Why it ended: for the first target that did not end well, else for the last."""
    bad = (answer for answer in answers if answer.phase != "done")
    which = next(bad, answers[-1] if answers else None)
    return which.stop if which else None


def stop_json(stop: Stop | None) -> dict[str, Any] | None:
    """Write a stop."""
    return None if stop is None else stop.model_dump(mode="json")


def _response(answer: Answer, questions: Sequence[Any]) -> dict[str, Any]:
    response: dict[str, Any] = {
        "target": {"type": answer.target_type, "name": answer.target},
        "phase": answer.phase,
        "content": answer.content,
        "raw": answer.raw,
    }
    if answer.error is not None:
        response["error"] = answer.error
    if questions:
        response["interrupts"] = list(questions)
    return response


def _problem(problem: ManifestProblem) -> dict[str, Any]:
    return {
        "severity": problem.severity,
        "file": problem.file or None,
        "line": problem.line,
        "path": problem.path or None,
        "message": problem.message,
    }
