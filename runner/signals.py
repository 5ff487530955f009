"""Signals that end a program: Ctrl-C, and what a service manager or a closed terminal sends."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
TERMINATED_BY = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
"""The signals that there are on this system."""

INTERRUPTED = 130
"""The exit code by which shells know a program that Ctrl-C ended."""


def _end(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def ends_us(number: int) -> bool:
    """Say whether a signal is one that ends our work as Ctrl-C does."""
    return signal.getsignal(number) in (signal.default_int_handler, _end)


@contextmanager
def ending_as_ctrl_c() -> Generator[None]:
    """Hear all of these signals as Ctrl-C; not those that the program is to ignore."""
    changed = [
        number
        for number in TERMINATED_BY
        if threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in changed:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


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
