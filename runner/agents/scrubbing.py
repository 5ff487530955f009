"""Errors that quote a secret: providers repeat the key that they refuse."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from flowcompose.runner.secrets import Redactor

_TELLING = ("message", "body", "code", "param", "type", "request_id", "__notes__")
"""What errors of providers say besides their arguments."""

_OF_THE_WIRE = ("content-encoding", "content-length", "transfer-encoding")
"""Headers of a body as it came, not as it is now."""


@contextmanager
def scrubbed(redactor: Redactor) -> Generator[None]:
    """Let errors out without the secrets that they quote.

    They stay the same objects: who handles them looks at their class, status and headers.
    """
    try:
        yield
    except Exception as error:
        scrub(error, redactor)
        raise


def scrub(error: BaseException, redactor: Redactor) -> None:
    """Take secrets out of what an error says, and of what it came of."""
    for each in _with_causes(error):
        _scrub(each, redactor)


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
    cleaned = {name: redactor.clean_json(vars(error).get(name)) for name in _TELLING}
    # The caller's error may be among them, with an answer of any library: that one stays as it is.
    with suppress(Exception):
        cleaned |= _exchange(vars(error)["response"], redactor)
    for name in cleaned.keys() & vars(error).keys():
        with suppress(AttributeError):
            setattr(error, name, cleaned[name])


def _exchange(response: Any, redactor: Redactor) -> dict[str, Any]:
    """Give what callbacks and tracers are told of an answer. What was sent is not among it.

    It is one of httpx, or of a library that took its place: clients bring their own.
    """
    request = response.request
    bare = type(request)(request.method, redactor.clean(str(request.url)))
    headers = {name: redactor.clean(value) for name, value in response.headers.items()}
    clean = type(response)(
        response.status_code,
        headers={name: value for name, value in headers.items() if name not in _OF_THE_WIRE},
        text=redactor.clean(_text(response)),
        request=bare,
    )
    return {"response": clean, "request": bare}


def _text(response: Any) -> str:
    """Give the body; of a stream that was not read there is none."""
    try:
        return str(response.text)
    except RuntimeError:
        return ""
