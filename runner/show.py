"""Running a pattern before a user's eyes, to an exit code, and telling them what happens."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, TextIO

from flowcompose.core.errors import FlowComposeError, RunError
from flowcompose.core.pattern import Pattern
from flowcompose.core.results import Stop
from flowcompose.runner.explain import explain
from flowcompose.runner.follow import follow
from flowcompose.runner.render import Renderer
from flowcompose.runner.runs.so_far import SoFar
from flowcompose.runner.signals import INTERRUPTED
from flowcompose.runner.texts import whole
from flowcompose.runner.unwritable import writing


def show(pattern: Pattern[Any], goal: Any, renderer: Renderer) -> int:
    """Run to the end, and give the exit code: 0, 1 for a failure, 130 for Ctrl-C."""
    so_far = SoFar()
    try:
        with renderer:
            for event in follow(pattern.events(goal)):
                so_far.feed(event)
                renderer.feed(event)
    except KeyboardInterrupt:
        renderer.broke_off("interrupted", so_far.result(Stop(reason="cancelled")))
        return INTERRUPTED
    except FlowComposeError as error:
        carried = error.result if isinstance(error, RunError) else None
        left = so_far.result(Stop(reason="failed"))
        renderer.broke_off("failed", left, carried.usage if carried else None)
        complain(explain(error))
        return 1
    return 0


def say(text: str, output: TextIO | None = None) -> None:
    """Print a text; what is no character in it is replaced.

    Raises:
        UnwritableError: Standard output takes no more.
    """
    with writing():
        print(whole(text), file=output or sys.stdout, flush=True)


def complain(problem: str) -> None:
    """Tell the user, apart from the output; where nobody listens, the output may be wanted yet."""
    with suppress(OSError):
        print(whole(f"flowcompose: {problem}"), file=sys.stderr)
