"""Signals that end a program: Ctrl-C, and what a service manager or a closed terminal sends."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
TERMINATED_BY = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
"""The signals that there are on this system."""

INTERRUPTED = 130
"""The exit code by which shells know a program that Ctrl-C ended."""


CANCELED = (
    '{"query": null, "phase": "canceled", "responses": [], '
    '"stop": {"reason": "cancelled", "by": null, "detail": null}, '
    '"tokenUsage": {"promptTokens": 0, "completionTokens": 0, "totalTokens": 0}, '
    '"thread": null, "era": null}'
)
"""What `--json` prints of a command that was ended before it began."""


def _end(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _leave(number: int, frame: object) -> None:
    """Nothing has been begun: an exception would only break what is being imported."""
    given = sys.argv[1:]
    if "--json" in (given[: given.index("--")] if "--" in given else given):
        with suppress(OSError):
            os.write(1, f"{CANCELED}\n".encode())
    os._exit(INTERRUPTED)


def leave_at_once() -> None:
    """Let these signals end the program before its command begins, with 130 and one object."""
    for number in TERMINATED_BY:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _leave)


def ends_us(number: int) -> bool:
    """Say whether a signal is one that ends our work as Ctrl-C does."""
    return signal.getsignal(number) in (signal.default_int_handler, _end, _leave)


@contextmanager
def ending_as_ctrl_c() -> Generator[None]:
    """Hear all of these signals as Ctrl-C; not those that the program is to ignore."""
    changed = [
        number
        for number in TERMINATED_BY
        if threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) in (signal.SIG_DFL, _leave)
    ]
    for number in changed:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)  # all is said: it need not be said again


@contextmanager
def held_off() -> Generator[None]:
    """Let one such signal wait until something small is done; a second one ends the program."""
    numbers = [number for number in TERMINATED_BY if ends_us(number)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.getsignal(number) for number in numbers}
    heard: list[int] = []

    def hold(number: int, frame: object) -> None:
        if heard:
            os._exit(INTERRUPTED)
        heard.append(number)

    for number in numbers:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
