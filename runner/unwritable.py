"""An output that takes no more: a full disk, a closed descriptor, a reader that has left."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress


class UnwritableError(Exception):
    """Standard output takes no more; the message is for the user.

    Args:
        error: What writing raised.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(f"cannot write to standard output: {error.strerror or error}")
        self._nobody_reads = isinstance(error, BrokenPipeError)

    def told(self) -> int:
        """Tell it, unless a reader has left, as `head` does; gives the exit code."""
        if not self._nobody_reads:
            with suppress(OSError):
                print(f"flowcompose: {self}", file=sys.stderr, flush=True)
        return 1


@contextmanager
def writing() -> Generator[None]:
    """Tell an output that cannot be written from whatever else fails.

    Raises:
        UnwritableError: It cannot.
    """
    try:
        yield
    except OSError as error:
        raise UnwritableError(error) from error
