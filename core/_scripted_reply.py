"""What a reply in a script may be, and the message that it becomes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from flowcompose.core._fake_call import ModelCall, call_tool, forced_tools

Reply: TypeAlias = (
    str
    | Mapping[str, Any]
    | BaseModel
    | BaseException
    | type[BaseException]
    | Callable[[list[BaseMessage]], "Reply"]
)
"""Text, a structured answer, a whole message, an error to raise, or a function that gives one."""

Replies: TypeAlias = Sequence[Reply] | Callable[[list[BaseMessage]], Reply]
"""Replies in order, or one function that is asked every time."""


def as_message(reply: Reply, call: ModelCall) -> AIMessage:
    """What a reply says to a call, or raises."""
    if isinstance(reply, BaseException) or _is_error_class(reply):
        raise reply
    if isinstance(reply, str):
        return AIMessage(reply)
    if isinstance(reply, AIMessage):
        return reply.model_copy(deep=True)
    if isinstance(reply, BaseModel):
        return _structured(reply.model_dump(mode="json", by_alias=True), type(reply).__name__, call)
    if isinstance(reply, Mapping):
        return _structured(to_jsonable_python(reply), None, call)
    if callable(reply):
        return as_message(_ask(reply, call), call)
    message = (
        "a reply must be str, dict, a pydantic model, AIMessage, an exception "
        f"or a function, not {reply!r}"
    )
    raise TypeError(message)


def _ask(reply: Callable[..., Reply], call: ModelCall) -> Reply:
    parameters = inspect.signature(reply).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return reply(call.messages, **call.kwargs)
    return reply(call.messages)


def _structured(value: dict[str, Any], name: str | None, call: ModelCall) -> AIMessage:
    tools = forced_tools(call.kwargs)
    if not tools:
        return AIMessage(json.dumps(value, ensure_ascii=False))
    # Agents bind the tool for the structured answer after their other tools.
    chosen = next((tool for tool in tools if _is_meant(tool, value, name)), tools[-1])
    return call_tool(chosen["name"], value, call)


def _is_meant(tool: Mapping[str, Any], value: Mapping[str, Any], name: str | None) -> bool:
    if name is not None:
        return str(tool["name"]) == name
    known: Mapping[str, Any] = tool.get("parameters", {}).get("properties", {})
    return value.keys() <= known.keys()


def _is_error_class(reply: Reply) -> TypeGuard[type[BaseException]]:
    return isinstance(reply, type) and issubclass(reply, BaseException)
