"""Running in the background, so that Ctrl-C is heard at once, and between two events.

When the engine is interrupted, it waits for the model's answer before it lets the
interruption out: up to two minutes for a server that hangs.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing, contextmanager
from contextvars import copy_context
from queue import Empty, SimpleQueue

from flowcompose.core.errors import FlowComposeError
from flowcompose.core.events import Event
from flowcompose.runner.signals import TERMINATED_BY, ends_us

_NAME = "flowcompose-run"
_AT_WORK = (_NAME, "flowcompose-turn")
"""Names of threads that may be at work for a run: its own, and those of turns with a limit."""

# Python on Windows hears Ctrl-C only between two waits.
_PATIENCE = 0.2

_Pipe = SimpleQueue[Event | BaseException | None]


class OverdueError(Exception):
    """A run was not at its end when it was to be."""


class EndedByStepError(FlowComposeError):
    """A member or a step raised what is to end a program, as `sys.exit` does."""

    def __init__(self, raised: BaseException) -> None:
        said = f"{type(raised).__name__}: {raised}".rstrip(": ")
        super().__init__(f"a member or step ended in place of an answer: {said}")


def follow(
    events: Generator[Event] | AsyncGenerator[Event], *, until: float | None = None
) -> Generator[Event]:
    """Give the events of a run that goes on in a thread of its own; raise what it raises.

    Args:
        events: The run; an async one gets an event loop of its own.
        until: When the run is left behind, by `time.monotonic`.

    Raises:
        OverdueError: It was not at its end by then.
    """
    pipe: _Pipe = SimpleQueue()
    left = threading.Event()
    # A daemon: who leaves in the middle does not wait for it (see `left_behind`).
    run = threading.Thread(
        target=copy_context().run, args=(_pump, events, pipe, left), name=_NAME, daemon=True
    )
    try:
        with _interruptions_as_items(pipe):
            run.start()
            while isinstance(item := _next(pipe, until), Event):
                yield item
            if not isinstance(item, KeyboardInterrupt):
                run.join(_PATIENCE)  # it is at its end, but for what a turn left at work
            if item is not None:
                raise item
    finally:
        left.set()


def left_behind(wait: float = 0) -> bool:
    """Say whether a run still goes on. Its pool threads would hold up the interpreter's exit.

    Args:
        wait: How many seconds it is given.
    """
    until = time.monotonic() + wait
    here = threading.current_thread()
    threads = [
        thread for thread in threading.enumerate() if thread.name in _AT_WORK and thread is not here
    ]
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0))
    return any(thread.is_alive() for thread in threads)


@contextmanager
def _interruptions_as_items(pipe: _Pipe) -> Generator[None]:
    """Let Ctrl-C wait its turn: between two events, never in the middle of showing one.

    A second Ctrl-C does not wait.
    """
    # Not of a program that has a handler of its own, or is to hear no Ctrl-C.
    before = {number: signal.getsignal(number) for number in TERMINATED_BY if ends_us(number)}
    if threading.current_thread() is not threading.main_thread():
        before = {}

    def heard(number: int, frame: object) -> None:
        restore()
        pipe.put(KeyboardInterrupt())

    def restore() -> None:
        for number, handler in before.items():
            if signal.getsignal(number) is heard:
                signal.signal(number, handler)

    for number in before:
        signal.signal(number, heard)
    try:
        yield
    finally:
        restore()


def _pump(
    events: Generator[Event] | AsyncGenerator[Event], pipe: _Pipe, left: threading.Event
) -> None:
    """Pass on what happens; a run that was left ends with what it is in the middle of."""
    with _end_as_item(pipe):
        if isinstance(events, AsyncGenerator):
            asyncio.run(_apump(events, pipe, left))
        else:
            _pump_here(events, pipe, left)


@contextmanager
def _end_as_item(pipe: _Pipe) -> Generator[None]:
    """Pass on how it ended; who follows it hears of the first end only."""
    try:
        yield
    except Exception as error:
        pipe.put(error)
    except BaseException as error:  # no Ctrl-C: that is heard where the run is followed
        pipe.put(EndedByStepError(error))
    else:
        pipe.put(None)


# Left runs are closed here. A traceback may hold them until the interpreter exits, which then
# waits for a thread of the engine that only ends with the run.
def _pump_here(events: Generator[Event], pipe: _Pipe, left: threading.Event) -> None:
    with closing(events):
        for event in events:
            pipe.put(event)
            if left.is_set():
                break


async def _apump(events: AsyncGenerator[Event], pipe: _Pipe, left: threading.Event) -> None:
    # The end is told from in here: the loop then waits for what a turn with a limit left at work.
    with _end_as_item(pipe):
        async with aclosing(events):
            async for event in events:
                pipe.put(event)
                if left.is_set():
                    break


def _next(pipe: _Pipe, until: float | None) -> Event | BaseException | None:
    while True:
        left = _PATIENCE if until is None else min(_PATIENCE, until - time.monotonic())
        try:
            return pipe.get(timeout=max(left, 0))
        except Empty:
            if left <= 0:
                raise OverdueError from None
