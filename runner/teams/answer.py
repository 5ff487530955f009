"""What a target of a Query answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from flowcompose.core.results import Stop
from flowcompose.resources.usage import Usage

Phase = Literal["done", "error", "canceled"]


@dataclass(frozen=True)
class Answer:
    """What came of one target."""

    target_type: str
    """`agent`, `team`, `model`, `tool`; of a Python object `pattern` or `flow`."""
    target: str
    """Its name."""
    phase: Phase
    """Whether it came to an end, failed, or was broken off."""
    content: str = ""
    """The answer's text; of a failure the text of the error."""
    raw: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The new messages in OpenAI's form, each with the `name` of who said it."""
    error: str | None = None
    """What went wrong; None if nothing did."""
    stop: Stop | None = None
    """Why it ended; None where nothing ran."""
    usage: Usage = field(default_factory=Usage)
    """What it cost."""
