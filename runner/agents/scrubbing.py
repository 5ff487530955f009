"""Errors that quote a secret: providers repeat the key that they refuse."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress

from flowcompose.runner.secrets import Redactor


@contextmanager
def scrubbed(redactor: Redactor) -> Generator[None]:
    """Let errors out without the secrets that they quote.

    They stay the same objects: who handles them looks at their class, status and headers.
    """
    try:
        yield
    except Exception as error:
        for each in _with_causes(error):
            _scrub(each, redactor)
        raise


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        each = left.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            left += [each.__cause__, each.__context__]
            yield each


def _scrub(error: BaseException, redactor: Redactor) -> None:
    error.args = tuple(map(redactor.clean_json, error.args))
    for name in ("message", "body", "__notes__"):
        if name in vars(error):
            with suppress(AttributeError):
                setattr(error, name, redactor.clean_json(vars(error)[name]))
