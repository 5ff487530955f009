"""Failures of members that keep what was said before them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from langchain_core.tools import ToolException
from langgraph.errors import GraphBubbleUp
from pydantic import ValidationError

from flowcompose.core.errors import FlowComposeError, MaxTurnsReached, RunError
from flowcompose.core.explain import explain, explain_fields
from flowcompose.core.untyped import unchecked
from flowcompose.runner.agents.scrubbing import scrub
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams.messages import Message, of_contributions


class TurnError(FlowComposeError):
    """An agent or a team failed in its turn."""

    def __init__(self, message: str, messages: Sequence[Message] = ()) -> None:
        super().__init__(message)
        self.messages = list(messages)
        """What it had said up to then, its tool calls and their answers included."""


def words_of(error: Exception, tool: str = "") -> str:
    """Say what went wrong; the class of an error is told only where it tells something.

    Args:
        error: What was raised.
        tool: Which tool did, if one did: its name stands beside the words, and so not in them.
    """
    if isinstance(error, ValidationError):
        return explain_fields(error)
    is_plain = isinstance(error, ToolException) or type(error) in (RuntimeError, ValueError)
    text = str(error) if is_plain else ""
    return text.removeprefix(f"{tool}: ") or _told(error)


def _told(error: Exception) -> str:
    """Name the server too that was not reached, but no path of it: that may be a secret."""
    told = explain(error)
    if not any(each.__name__ == "APIConnectionError" for each in type(error).__mro__):
        return told
    url = unchecked(error).request.url
    return f"{told.rstrip('.')} ({url.scheme}://{url.netloc.decode()})"


def failure_of(
    what: str,
    error: Exception,
    redactor: Redactor,
    said: Sequence[Message] = (),
    words: str | None = None,
) -> TurnError:
    """Give the failure of a turn, with no secret in it.

    Args:
        what: What failed.
        error: How.
        redactor: Knows the secrets.
        said: What was said in the turn.
        words: How, in words; by default those of the error.
    """
    told = words_of(error) if words is None else words
    text = f"{what} failed: {told}"
    shown = redactor.clean(text)
    failure = TurnError(shown, said)
    # What quotes a secret must not come along in a traceback.
    failure.__cause__ = error if shown == text else None
    failure.__suppress_context__ = True
    return failure


@contextmanager
def failing_as(make: Callable[[Exception], TurnError], redactor: Redactor) -> Generator[None]:
    """Let what goes wrong out as the failure of a turn; that a run waits is no failure.

    Args:
        make: Gives the failure, with all that is known when it happens.
        redactor: Knows the secrets, which the error behind it must not tell either.
    """
    outer = sys.exc_info()[1]
    try:
        yield
    except GraphBubbleUp:
        raise
    except Exception as error:
        failure = make(error)
        scrub(error, redactor, outer)
        raise failure  # noqa: B904 - its cause is decided there


def left_of(error: BaseException) -> list[Message]:
    """Give all messages of a run that failed, those of the failing member last."""
    result = error.result if isinstance(error, RunError) else None
    said = of_contributions(result.contributions) if result is not None else []
    cause = error if isinstance(error, TurnError) else error.__cause__
    return [*said, *(cause.messages if isinstance(cause, TurnError) else [])]


def told_of(error: BaseException, at_cap: str) -> str:
    """Say what went wrong in the words of whoever failed.

    Args:
        error: What the run ended with.
        at_cap: What is said where it was the cap.
    """
    if isinstance(error, MaxTurnsReached):
        return at_cap
    cause = error if isinstance(error, TurnError) else error.__cause__
    if isinstance(cause, TurnError):
        return str(cause)
    return explain(error) if isinstance(error, Exception) else type(error).__name__
