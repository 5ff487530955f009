"""The three streams of a program, any of which its caller may have closed."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from flowcompose.runner.unwritable import UnwritableError


def make_usable() -> None:
    """Let a stream that is closed be one that fails, and a text be written on any terminal."""
    # Else the next file that is opened has the number of the stream, and prints go into it.
    for number, how in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, how)
    sys.stdout = _usable(sys.stdout, 1)
    sys.stderr = _usable(sys.stderr, 2)


def _usable(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:
        # Of 1, which can only be read, every writing fails; what goes to 2 is dropped.
        return os.fdopen(number, "w", encoding="utf-8", errors="replace", closefd=False)
    _replace_what_is_foreign(stream)
    return stream


def _replace_what_is_foreign(stream: TextIO) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def flushed(code: int) -> int:
    """Write what is not yet written, and give the exit code: 1 where that fails."""
    try:
        sys.stdout.flush()
    except OSError as error:
        failed = code or UnwritableError(error).told()
        _discard(1)
        return failed
    finally:
        with suppress(OSError):
            sys.stderr.flush()
    return code


def _discard(number: int) -> None:
    """Let the interpreter, which tries once more, not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)
