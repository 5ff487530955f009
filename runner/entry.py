"""The console script. It works, and says what is missing, without the `cli` extra."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import NoReturn

from flowcompose.runner.signals import INTERRUPTED

MISSING = "flowcompose: the command line needs typer and rich: pip install 'flowcompose[cli]'"


def main() -> NoReturn:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that is not UTF-8
    try:
        _leave(_run())
    except KeyboardInterrupt:
        _leave(INTERRUPTED)


def _run() -> int:
    try:
        import rich
        import typer
    except ModuleNotFoundError:
        print(MISSING, file=sys.stderr)
        return 2
    del rich, typer
    from flowcompose.runner.app import app

    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _leave(code: int) -> NoReturn:
    """Exit; at once if a run was left behind, for the interpreter would wait for its request."""
    from flowcompose.runner.follow import left_behind

    if left_behind():
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
