"""The console script. It works, and says what is missing, without the `cli` extra.

It loads nothing of the library before signals are heard.
"""

from __future__ import annotations

import atexit
import sys
from typing import NoReturn

from flowcompose.runner.signals import INTERRUPTED, all_is_said, ignore_at_last, leave_at_once

_PATIENCE = 0.3
"""Seconds for a run that was left: if it ends, the program ends as programs do."""

MISSING = "flowcompose: the command line needs typer and rich: pip install 'flowcompose[cli]'"


def main() -> NoReturn:
    """Run the command line."""
    leave_at_once()
    # The first that is registered is called last: nothing that can hang comes after it.
    atexit.register(ignore_at_last)
    from flowcompose.runner.streams import make_usable

    make_usable()
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
    import warnings

    # They quote what a server sent, and so a secret that it repeats.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings")
    from flowcompose.runner.app import app
    from flowcompose.runner.unwritable import UnwritableError, writing

    try:
        with writing():  # a usage or a help text, too
            app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except UnwritableError as error:
        return error.told()
    return 0


def _leave(code: int) -> NoReturn:
    """Exit; at once if a run was left behind, for the interpreter would wait for its request."""
    all_is_said(code)
    import os

    from flowcompose.runner.follow import left_behind
    from flowcompose.runner.streams import flushed

    code = all_is_said(flushed(code))
    if left_behind(wait=_PATIENCE):
        os._exit(code)
    sys.exit(code)
