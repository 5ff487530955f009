"""The frame of a command: whatever happens in it, it ends with one answer and an exit code."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any, TextIO

from flowcompose.core.results import Stop
from flowcompose.runner.keys import known_keys
from flowcompose.runner.render.words import clean
from flowcompose.runner.runs.telling import Told, told_of_failure, told_of_unusable
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.show import complain, say
from flowcompose.runner.signals import INTERRUPTED, all_is_said, ending_as_ctrl_c, held_off
from flowcompose.runner.unusable import UnusableError
from flowcompose.runner.unwritable import UnwritableError, writing


def conclude(
    work: Callable[[], Told],
    *,
    wants_json: bool,
    quiet: bool = False,
    query: str | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
) -> int:
    """Do the work of a command, print the object if it is wanted, and give the exit code.

    Args:
        work: What the command does.
        wants_json: Whether its answer is to be printed, and nothing else.
        quiet: Whether warnings are left out.
        query: What is told of it where it comes to nothing.
        api_key: The one that was given, which must not be shown.
        base_url: The endpoint that was given, which may hold a secret.
    """
    try:
        with ending_as_ctrl_c(), alone_on_stdout(wants_json) as output:
            told = _told(work, query, Redactor(known_keys(api_key, base_url)), quiet=quiet)
            with held_off():
                if wants_json:
                    say(json.dumps(told.report, ensure_ascii=False), output)
                all_is_said(told.code)
    except UnwritableError as error:
        return all_is_said(error.told())
    except KeyboardInterrupt:  # before or after the work
        return INTERRUPTED
    return told.code


def _told(work: Callable[[], Told], query: str | None, redactor: Redactor, *, quiet: bool) -> Told:
    try:
        return work()
    except UnusableError as error:
        for each in error.found:
            is_warning = each.severity == "warning"
            if is_warning and quiet:
                continue
            mark = "warning: " if is_warning else ""
            complain(redactor.clean(clean(f"{mark}{each}")))
        told = told_of_unusable(error)
        return Told(told.code, redactor.clean_json(told.report, numbers=False))
    except KeyboardInterrupt:
        return told_of_failure("canceled", Stop(reason="cancelled"), query=query)
    except UnwritableError:
        raise
    except BaseException as error:  # a user's code may raise what is to end a program
        said = redactor.clean(_unexpected(error))
        complain(said)
        return told_of_failure("error", Stop(reason="failed", detail=said), query=query)


def _unexpected(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "nowhere"
    said = clean(" ".join(f"{type(error).__name__}: {error}".split()))
    return f"unexpected {said} ({place}); this is a bug"


@contextmanager
def alone_on_stdout(wanted: bool) -> Generator[TextIO]:
    """Give the output, and let whatever else is printed meanwhile go where errors go.

    A user's module may print, and so may a program that a tool of it starts.
    """
    output = sys.stdout
    if not wanted:
        yield output
        return
    with redirect_stdout(sys.stderr), _descriptor_freed(output) as free:
        yield free


@contextmanager
def _descriptor_freed(output: TextIO) -> Generator[TextIO]:
    """Give a stream of its own to what descriptor 1 leads to, and lead 1 to where 2 leads."""
    if not _is_standard(output):
        yield output
        return
    with writing():
        output.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    own = os.fdopen(kept, "w", encoding="utf-8", errors="replace")
    try:
        yield own
    finally:
        with suppress(OSError):  # what was not written was told then
            own.close()


def _is_standard(output: Any) -> bool:
    try:
        number: int = output.fileno()
        os.fstat(2)
    except (OSError, ValueError, AttributeError):  # in a test, or without any output
        return False
    return number == 1
