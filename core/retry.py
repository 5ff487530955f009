"""Trying again: what is worth it, how often, and after which wait."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
)

from flowcompose.core.definition import Problems

_TRANSIENT_STATUS = {408, 409, 429, 500, 502, 503, 504, 529}


@dataclass(frozen=True, kw_only=True)
class Retry:
    """How often a default block asks its model again.

    Args:
        attempts: Calls of a model per answer, the first included, when the provider fails in
            a way that may pass: rate limit, overload, timeout, broken connection. 1 for none.
        reasks: How often a structured answer that does not fit its schema, or is empty, is
            asked for again, with the reason told to the model. 0 for none.
        max_wait: The longest wait between two attempts, in seconds. A provider that says
            when to come back is believed up to here.

    Raises:
        DefinitionError: A number is too small; all problems are listed.
    """

    attempts: int = 4
    reasks: int = 2
    max_wait: float = 60.0

    def __post_init__(self) -> None:
        """Refuse a budget with which nothing would be asked at all."""
        problems = Problems("Retry")
        for name, value, least in (("attempts", self.attempts, 1), ("reasks", self.reasks, 0)):
            problems.check(
                type(value) is int and value >= least,
                f"{name} must be a whole number >= {least}, got {value!r}",
            )
        problems.check(
            type(self.max_wait) in (int, float) and self.max_wait >= 0,
            f"max_wait must be seconds >= 0, got {self.max_wait!r}",
        )
        problems.raise_if_any()


def is_transient(error: BaseException) -> bool:
    """Say whether the same request may well succeed later. A 400 never does."""
    known = getattr(error, "is_retryable", None)
    if isinstance(known, bool):
        return known
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in _TRANSIENT_STATUS
    return isinstance(error, (TimeoutError, ConnectionError))


def retrying(
    policy: Retry, notice: Callable[[RetryCallState], None], given_up: Callable[[], bool]
) -> Retrying:
    """The sync loop over attempts; `notice` hears of each failed one.

    It ends when nobody waits for the answer any more, which `given_up` tells.
    """
    return Retrying(
        stop=lambda state: state.attempt_number >= policy.attempts or given_up(),
        retry=retry_if_exception(is_transient),
        wait=_Wait(policy.max_wait),
        before_sleep=notice,
        reraise=True,
    )


def aretrying(policy: Retry, notice: Callable[[RetryCallState], None]) -> AsyncRetrying:
    """The async loop over attempts; `notice` hears of each failed one."""
    return AsyncRetrying(
        stop=stop_after_attempt(policy.attempts),
        retry=retry_if_exception(is_transient),
        wait=_Wait(policy.max_wait),
        before_sleep=notice,
        reraise=True,
    )


@dataclass(frozen=True)
class _Wait:
    """As long as the provider says, else exponential with jitter from half a second."""

    max_wait: float

    def __call__(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = _retry_after(error) if error else None
        backoff = 0.5 * 2 ** (state.attempt_number - 1) * random.uniform(0.5, 1.5)
        return min(self.max_wait, backoff if asked is None else asked)


def _retry_after(error: BaseException) -> float | None:
    """Read the seconds that the provider asks for, from its response headers."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[header]) * unit)
        except (KeyError, TypeError, ValueError):
            continue
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    except (KeyError, TypeError, ValueError):
        return None
