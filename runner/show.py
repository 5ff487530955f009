"""Running a pattern before a user's eyes, to an exit code."""

from __future__ import annotations

import sys
from typing import Any

from flowcompose.core.errors import FlowComposeError, RunError
from flowcompose.core.pattern import Pattern
from flowcompose.runner.explain import explain
from flowcompose.runner.follow import follow
from flowcompose.runner.render import Renderer
from flowcompose.runner.signals import INTERRUPTED


def show(pattern: Pattern[Any], goal: Any, renderer: Renderer) -> int:
    """Run to the end, and give the exit code: 0, 1 for a failure, 130 for Ctrl-C."""
    try:
        with renderer:
            for event in follow(pattern.events(goal)):
                renderer.feed(event)
    except KeyboardInterrupt:
        renderer.broke_off("interrupted")
        return INTERRUPTED
    except FlowComposeError as error:
        renderer.broke_off("failed", error.result if isinstance(error, RunError) else None)
        complain(explain(error))
        return 1
    return 0


def complain(problem: str) -> None:
    """Tell the user, apart from the output."""
    print(f"flowcompose: {problem}", file=sys.stderr)
