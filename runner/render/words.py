"""Words that both forms of a transcript share."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel

from flowcompose.core.events import ToolCalled
from flowcompose.core.results import Result
from flowcompose.core.untyped import items_of, mapping_of
from flowcompose.patterns.turn_loop.shape import RoundRobinFinalShape
from flowcompose.resources.contributions import Contribution
from flowcompose.resources.usage import Tokens
from flowcompose.runner.texts import whole

# A model could else move the cursor, or write to the clipboard, of who reads it.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """Drop control characters, lines and tabs stay; what is no character is replaced."""
    return _CONTROL.sub("", whole(text))


def place(path: tuple[str, ...], *names: str) -> str:
    """Name the members inside which something happens, outermost first."""
    return clean(" > ".join(filter(None, (*path, *names))))


def call(event: ToolCalled) -> str:
    """Write a tool call as it would be written in Python."""
    args = (f"{key}={json.dumps(value, default=str)}" for key, value in event.args.items())
    return clean(f"{event.tool}({', '.join(args)})")


def words_of(said: Contribution) -> str:
    """What somebody said; of a model that refused to, the refusal."""
    return refusal_in((mapping_of(said.data) or {}).get("messages")) or said.text


def refusal_in(messages: Any) -> str:
    """Give the refusal in which messages in OpenAI's form end, marked as one; else nothing."""
    last = mapping_of((items_of(messages) or [None])[-1]) or {}
    refusal = None if last.get("content") else last.get("refusal")
    return f"[refused] {refusal}" if refusal else ""


def count(number: int, noun: str) -> str:
    """`1 turn`, `2 turns`, `1,234 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def tokens(used: Tokens) -> str:
    """What a run cost."""
    total = count(used.total_tokens, "token")
    return f"{total} ({used.input_tokens:,} in, {used.output_tokens:,} out)"


def why(result: Result[Any]) -> str:
    """Why a run ended, and who or what ended it."""
    stop = result.stop
    by = f" by {stop.by}" if stop.by else ""
    return clean(f"{stop.reason}{by}{f' ({stop.detail})' if stop.detail else ''}")


def is_new(result: Result[Any], *, heard: bool) -> bool:
    """Say whether the deliverable is something that the transcript did not show.

    Args:
        result: What the run gave.
        heard: Whether anybody spoke before our eyes; who resumes a finished run hears nobody.
    """
    if result.contributions and not heard:
        return result.output not in (None, "")
    said = words_of(result.contributions[-1]).strip() if result.contributions else None
    output = result.output
    if isinstance(output, str):
        return output.strip() != said
    return output is not None and not isinstance(output, RoundRobinFinalShape)


def title_of(output: Any) -> str:
    """Name a deliverable: the class of a typed one."""
    return type(output).__name__ if isinstance(output, BaseModel) else "Output"


def label(field: str) -> str:
    """A field's name for reading."""
    return clean(field.replace("_", " "))


def as_data(output: Any) -> Any:
    """A deliverable as what JSON knows."""
    return output.model_dump(mode="json") if isinstance(output, BaseModel) else output
