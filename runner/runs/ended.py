"""How one job ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flowcompose.core.results import Result
from flowcompose.runner.teams import Answer


@dataclass(frozen=True)
class Ended:
    """How one job ended."""

    answer: Answer
    result: Result[Any] | None = None
    """What the run gave, if it came to its end or waits for an answer."""
    questions: tuple[Any, ...] = ()
    """What it waits to be told, as JSON that may be shown."""
    broke: BaseException | None = None
    """What ended all of it: an interruption, or a reader that is gone."""
