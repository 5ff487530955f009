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
            _taken.append(number)


def ends_us(number: int) -> bool:
    """Say whether a signal is one that ends our work as Ctrl-C does."""
    return signal.getsignal(number) in (signal.default_int_handler, _end, _leave)


@contextmanager
def ending_as_ctrl_c() -> Generator[None]:
    """Hear all of these signals as Ctrl-C; not those that the program is to ignore."""
    before = {
        number: signal.getsignal(number)
        for number in TERMINATED_BY
        if threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) in (signal.SIG_DFL, _leave)
    }
    for number in before:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is _end:  # else all is said, see `all_is_said`
                signal.signal(number, handler)


class _Said:
    """What a signal does once all is said: the program ends as it would have ended."""

    def __init__(self, code: int) -> None:
        self._code = code

    def __call__(self, number: int, frame: object) -> None:
        with suppress(Exception):  # what a user's code has printed may still be on its way
            sys.stdout.flush()
        os._exit(self._code)


def all_is_said(code: int) -> int:
    """Let these signals change the end of the program no more; gives its exit code.

    One that waits ends it now. Only in the console script: another program has an end of its own.
    """
    said = _Said(code)
    for number in _ours():
        held = signal.signal(number, said)
        if isinstance(held, _Held) and held.heard:
            said(number, None)
    return code


def ignore_at_last() -> None:
    """Be deaf where the interpreter winds down: it would give the signals back their defaults."""
    for number in _ours():
        signal.signal(number, signal.SIG_IGN)


_taken: list[int] = []
"""The signals that the console script hears."""


def _ours() -> list[int]:
    """Those of them for which a user's code has not set a handler of its own."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [number for number in _taken if _is_ours(signal.getsignal(number))]


def _is_ours(handler: object) -> bool:
    return handler in (_end, _leave) or isinstance(handler, (_Said, _Held))


@contextmanager
def held_off() -> Generator[None]:
    """Let one such signal wait until something small is done; a second one ends the program."""
    numbers = [number for number in TERMINATED_BY if ends_us(number)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.getsignal(number) for number in numbers}
    held = _Held()
    for number in numbers:
        signal.signal(number, held)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is held:  # else all is said
                signal.signal(number, handler)


class _Held:
    def __init__(self) -> None:
        self.heard = False

    def __call__(self, number: int, frame: object) -> None:
        if self.heard:
            os._exit(INTERRUPTED)
        self.heard = True
