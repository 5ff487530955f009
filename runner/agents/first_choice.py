"""A whole answer: its first choice, with the calls of tools that it makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatResult
from openai import BaseModel

from flowcompose.core.untyped import items_of, unchecked
from flowcompose.runner.agents.tool_calls import Raw, put_calls, raw_call

EMPTY = "received empty response"
"""What is said of an answer without any choice, in upstream's words."""


def read_first(response: Any, read: Callable[[Any], ChatResult]) -> ChatResult:
    """Read an answer.

    Args:
        response: As the client gives it.
        read: Reads what is left, without the calls.

    Raises:
        ValueError: It holds no choice.
    """
    calls = _taken_from(response)
    if getattr(response, "choices", None) == []:
        raise ValueError(EMPTY)
    result = read(response)
    message = result.generations[0].message
    if isinstance(message, AIMessage):
        put_calls(message, calls)
    return result


def _taken_from(response: Any) -> list[Raw]:
    """Cut an answer down to its first choice, and take the calls out of it."""
    choices = items_of(getattr(response, "choices", None))
    if not choices:
        return []
    response.choices = choices[:1]
    message = getattr(choices[0], "message", None)
    calls = items_of(getattr(message, "tool_calls", None))
    if not isinstance(message, BaseModel) or calls is None:
        return []
    raw = [raw_call(each.to_dict() if isinstance(each, BaseModel) else each) for each in calls]
    unchecked(message).tool_calls = None
    return raw
