"""Noting how far a run is, so that it is known of one that is killed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, closing
from dataclasses import replace

from flowcompose.core import events
from flowcompose.core.events import Event
from flowcompose.runner.runs.following import Following

Took = Callable[[int], None]


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
    if isinstance(event, (events.TurnCompleted, events.TurnFailed)) and not event.path:
        took(event.turn)
