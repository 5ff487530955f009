"""Errors that quote a secret: providers repeat the key that they refuse."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from flowcompose.core.untyped import unchecked
from flowcompose.runner.secrets import Redactor

_TELLING = (
    *("message", "body", "code", "param", "type", "request_id"),
    *("strerror", "filename", "filename2", "__notes__"),
)
"""What errors of providers and of the system say besides their arguments."""

_OF_THE_WIRE = ("content-encoding", "content-length", "transfer-encoding")
"""Headers of a body as it came, not as it is now."""


@contextmanager
def scrubbed(redactor: Redactor) -> Generator[None]:
    """Let errors out without the secrets that they quote.

    They stay the same objects: who handles them looks at their class, status and headers.
    """
    outer = sys.exc_info()[1]
    try:
        yield
    except Exception as error:
        scrub(error, redactor, outer)
        raise


def scrub(error: BaseException, redactor: Redactor, outer: BaseException | None = None) -> None:
    """Take secrets out of what an error says, and of what it came of.

    Args:
        error: What was raised.
        redactor: Knows the secrets.
        outer: What the caller was handling by then; it is the caller's, and stays as it is.
    """
    for each in _with_causes(error, outer):
        _scrub(each, redactor)


def _with_causes(error: BaseException, outer: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = {id(outer)}
    left: list[BaseException | None] = [error]
    while left:
        each = left.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            group: Iterable[BaseException] = getattr(each, "exceptions", ())
            left += [each.__cause__, each.__context__, *group]
            yield each


def _scrub(error: BaseException, redactor: Redactor) -> None:
    error.args = tuple(map(redactor.clean_json, error.args))
    cleaned = {name: redactor.clean_json(getattr(error, name, None)) for name in _TELLING}
    # What is no exchange of httpx, or of a library that took its place, stays as it is.
    with suppress(Exception):
        cleaned["request"] = _bare(unchecked(error).request, redactor)
    with suppress(Exception):
        cleaned["response"] = _told(vars(error)["response"], redactor)
        cleaned["request"] = cleaned["response"].request
    for name, value in cleaned.items():
        if getattr(error, name, None) is not None:
            with suppress(AttributeError, TypeError):
                setattr(error, name, value)


def _bare(request: Any, redactor: Redactor) -> Any:
    """Give a request as it may be told: what was sent is not among it."""
    return type(request)(request.method, redactor.clean(str(request.url)))


def _told(response: Any, redactor: Redactor) -> Any:
    """Give what callbacks and tracers are told of an answer."""
    headers = {name: redactor.clean(value) for name, value in response.headers.items()}
    return type(response)(
        response.status_code,
        headers={name: value for name, value in headers.items() if name not in _OF_THE_WIRE},
        text=redactor.clean(_text(response)),
        request=_bare(response.request, redactor),
    )


def _text(response: Any) -> str:
    """Give the body; of a stream that was not read there is none."""
    try:
        return str(response.text)
    except RuntimeError:
        return ""
