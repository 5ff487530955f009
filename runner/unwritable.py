"""An output that takes no more: a full disk, a closed descriptor, a reader that has left."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


class UnwritableError(Exception):
    """Standard output takes no more; the message is for the user.

    Args:
        error: What writing raised.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(f"cannot write to standard output: {error.strerror or error}")
        self.nobody_reads = isinstance(error, BrokenPipeError)
        """Whether its reader has left, as `head` does: that is no fault."""


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
