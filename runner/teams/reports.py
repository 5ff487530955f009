"""From what a run left to messages, the text that counts, and what went wrong."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Protocol

from flowcompose.core.messages import slug
from flowcompose.core.results import Result
from flowcompose.resources.structured_data import to_json
from flowcompose.runner.teams.messages import Message


class Reported(NamedTuple):
    """What is to be told of a run."""

    raw: list[Message]
    """The new messages."""
    content: str
    """The text that counts as the answer."""
    error: str | None
    """What went wrong, in the words of who knows best; None if nothing did, or nobody knows."""


class Report(Protocol):
    """Reads what a run left."""

    def __call__(self, result: Result[Any] | None, error: BaseException | None = None) -> Reported:
        """Give what is to be told.

        Args:
            result: The run up to its end or its failure; None if nothing ran.
            error: What it failed with.
        """
        ...


def report_of_python(result: Result[Any] | None, error: BaseException | None = None) -> Reported:
    """Report a run of a pattern or flow that is an object of Python."""
    if result is None:
        return Reported([], "", None)
    raw = [
        {"role": "assistant", "content": each.text, "name": slug(each.agent_name)}
        for each in result.contributions
    ]
    said = raw[-1]["content"] if raw else ""
    return Reported(raw, said if result.output is None else _as_text(result.output), None)


def _as_text(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(to_json(output), ensure_ascii=False)
