"""An object of Python as a job."""

from __future__ import annotations

import json
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from flowcompose.core.flow.flow import Flow
from flowcompose.core.pattern import Pattern
from flowcompose.runner.asked import Asked
from flowcompose.runner.objects import Reference, find_object
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams import Job
from flowcompose.runner.teams.reports import report_of_python
from flowcompose.runner.unusable import UnusableError

Checkpointer = BaseCheckpointSaver[Any] | None

_MODELS = ("model", "base_url", "api_key")


def job_of_python(reference: Reference, asked: Asked, checkpointer: Checkpointer) -> Job:
    """Make a job of a pattern or flow.

    Raises:
        UnusableError: The module fails, or it is not to be run like this.
        DefinitionError: The object cannot work, or not with this input.
    """
    _check(asked)
    found = find_object(reference)
    pattern = _keeping(found, checkpointer)
    return Job(
        target_type="flow" if isinstance(found, Flow) else "pattern",
        target=pattern.name or "",
        pattern=pattern,
        goal=_goal(pattern, asked.input or ""),
        redactor=Redactor(asked.keys),
        reports=report_of_python,
    )


def _keeping(found: Pattern[Any] | Flow[Any], checkpointer: Checkpointer) -> Pattern[Any]:
    """Let the user's word at the command line count more than the checkpointer of the object."""
    if isinstance(found, Flow):
        return found.compile(checkpointer=checkpointer)
    return found if checkpointer is None else found.copy({"checkpointer": checkpointer})


def _check(asked: Asked) -> None:
    problems: list[str] = []
    if asked.input is None:
        problems.append("say what to work on: --input TEXT or --input-file FILE")
    for name in ("query", "team"):
        if getattr(asked, name) is not None:
            problems.append(f"--{name} is for documents, and {asked.paths[0]!r} is Python")
    given = [f"--{n.replace('_', '-')}" for n in _MODELS if getattr(asked, n) is not None]
    if given:
        say = "set FLOWCOMPOSE_MODEL, OPENAI_BASE_URL or OPENAI_API_KEY instead"
        problems.append(f"{', '.join(given)}: an object of Python names its own models; {say}")
    if problems:
        raise UnusableError(*problems)


def _goal(pattern: Pattern[Any], text: str) -> Any:
    """A flow may want more than a text: then the text is JSON."""
    schema = pattern.program.input_schema
    if schema is None:
        return text
    try:
        given = json.loads(text)
    except ValueError as error:
        wanted = f"{pattern.name!r} takes JSON that fits {schema.__name__}"
        raise UnusableError(f"--input: {wanted}; this is none: {error}") from None
    pattern.program.read_input(given)
    return given
