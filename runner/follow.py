"""Running in the background, so that Ctrl-C is heard at once, and between two events.

When the engine is interrupted, it waits for the model's answer before it lets the
interruption out: up to two minutes for a server that hangs.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from queue import Empty, SimpleQueue

from flowcompose.core.events import Event

_NAME = "flowcompose-run"

# Python on Windows hears Ctrl-C only between two waits.
_PATIENCE = 0.2

_Pipe = SimpleQueue[Event | BaseException | None]


def follow(events: Iterator[Event]) -> Iterator[Event]:
    """Give the events of a run that goes on in a thread of its own; raise what it raises."""
    pipe: _Pipe = SimpleQueue()
    # A daemon: who leaves in the middle does not wait for it (see `left_behind`).
    target = copy_context().run
    threading.Thread(target=target, args=(_pump, events, pipe), name=_NAME, daemon=True).start()
    with _interruptions_as_items(pipe):
        while (item := _next(pipe)) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item


def left_behind() -> bool:
    """Say whether a run still goes on. Its pool threads would hold up the interpreter's exit."""
    return any(thread.name == _NAME for thread in threading.enumerate())


@contextmanager
def _interruptions_as_items(pipe: _Pipe) -> Generator[None]:
    """Let Ctrl-C wait its turn: between two events, never in the middle of showing one.

    A second Ctrl-C does not wait.
    """
    before = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread()
    if not ours or before is not signal.default_int_handler:
        yield  # a program that has a handler of its own, or is to hear no Ctrl-C
        return

    def heard(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        pipe.put(KeyboardInterrupt())

    signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _pump(events: Iterator[Event], pipe: _Pipe) -> None:
    try:
        for event in events:
            pipe.put(event)
    except BaseException as error:
        pipe.put(error)
    else:
        pipe.put(None)


def _next(pipe: _Pipe) -> Event | BaseException | None:
    while True:
        try:
            return pipe.get(timeout=_PATIENCE)
        except Empty:
            continue
