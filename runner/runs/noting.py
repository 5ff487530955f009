"""Noting how far a run is, so that it is known of one that is killed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any

from flowcompose.core import events
from flowcompose.core.events import Event
from flowcompose.runner.runs.following import Following
from flowcompose.runner.threads.runs import Runs
from flowcompose.runner.unusable import UnusableError

Took = Callable[[int], None]


class Notes:
    """What is noted of a run beside its checkpoints.

    The run does not need it: that it cannot be written ends no run, and loses no answer.
    """

    def __init__(self, runs: Runs, thread: str) -> None:
        self._runs = runs
        self._thread = thread
        self._problem: str | None = None
        self._turns: dict[str | None, int] = {}

    def took(self, thread: str | None, turns: int) -> None:
        """Note how far a target is, and so how far the run is in all.

        Args:
            thread: The target's.
            turns: That it took in all.
        """
        before = sum(self._turns.values())
        self._turns[thread] = max(turns, self._turns.get(thread, 0))
        if (taken := sum(self._turns.values())) != before:
            self._problem = _problem_of(lambda: self._runs.took(self._thread, taken))

    def end(self, phase: str, stop: dict[str, Any] | None) -> str | None:
        """Note how it ended; gives why that, or how far it is, could not be written."""
        return _problem_of(lambda: self._runs.end(self._thread, phase, stop)) or self._problem


def _problem_of(write: Callable[[], None]) -> str | None:
    try:
        write()
    except UnusableError as error:
        return str(error)
    except KeyboardInterrupt:  # it ends the waiting
        return "interrupted"
    return None


def noting_turns(following: Following, took: Took) -> Following:
    """Have `took` told of each turn before the run goes on with the next one.

    It is called where the run is at work, not where it is shown: that may be later.
    """
    run = following.events
    if isinstance(run, AsyncGenerator):
        return replace(following, events=_anoting(run, took))
    return replace(following, events=_noting(run, took))


def _noting(run: Generator[Event], took: Took) -> Generator[Event]:
    with closing(run):
        for event in run:
            _note(event, took)
            yield event


async def _anoting(run: AsyncGenerator[Event], took: Took) -> AsyncGenerator[Event]:
    async with aclosing(run):
        async for event in run:
            _note(event, took)
            yield event


def _note(event: Event, took: Took) -> None:
    told = (events.TurnCompleted, events.TurnFailed, events.RunCompleted)
    if isinstance(event, told) and not event.path:
        took(event.turn)
