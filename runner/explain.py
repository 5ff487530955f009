"""From an error of a provider to one sentence for the person at the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from flowcompose.runner.render.words import clean

_ADVICE = {
    401: "check the key, OPENAI_API_KEY",
    403: "check what the key in OPENAI_API_KEY may use",
    404: "check OPENAI_MODEL and OPENAI_BASE_URL",
    429: "the limit or the budget is used up; try again later",
}
_UNREACHED = "check OPENAI_BASE_URL and the network"


def explain(error: BaseException) -> str:
    """Say what went wrong where it went wrong, and what can be done."""
    said = next(filter(None, map(_of_provider, _chain(error))), None) or str(error)
    where = str(error).partition(" failed")[0]
    prefix = f"{where} failed: " if said != str(error) and where != str(error) else ""
    return _without_key(clean(prefix + said))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _of_provider(error: BaseException) -> str | None:
    """Providers share the shape of their errors, and no class."""
    status, name = getattr(error, "status_code", None), type(error).__name__
    if isinstance(status, int):
        advice = _ADVICE.get(status)
        told = f"the provider answered {status}: {_message(error)}"
        return f"{told.rstrip('.')}; {advice}" if advice else told
    if name in ("APIConnectionError", "APITimeoutError") or isinstance(error, ConnectionError):
        reason = [str(each) for each in _chain(error) if str(each)][-1:]
        return f"the provider was not reached ({''.join(reason) or name}); {_UNREACHED}"
    return None


def _message(error: BaseException) -> str:
    body = getattr(error, "body", None)
    told = body.get("message") if isinstance(body, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - any JSON
    return str(told or error)  # pyright: ignore[reportUnknownArgumentType] - see above


def _without_key(text: str) -> str:
    """Servers quote the key that they refuse."""
    key = os.environ.get("OPENAI_API_KEY")
    return text.replace(key, "***") if key else text
