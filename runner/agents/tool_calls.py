"""Reading the calls of tools in an answer: strictly, whether it was streamed or not.

LangChain mends what was cut off if it was streamed, and so a tool would be run with half of its
arguments; of a whole answer it takes no list, and the answer would be lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import invalid_tool_call, tool_call

from flowcompose.core.untyped import mapping_of
from flowcompose.runner.manifest.json_text import json_object

Raw = tuple[object, object, object]
"""The name, the arguments and the id of a call, as a server sent them."""


def put_calls(message: AIMessage, calls: Iterable[Raw]) -> None:
    """Give an answer its calls: those that can be made, and those that cannot."""
    read = [(_name(name), _arguments(given), given, _id(number)) for name, given, number in calls]
    message.tool_calls = [
        tool_call(name=name, args=arguments, id=number)
        for name, arguments, _, number in read
        if arguments is not None
    ]
    message.invalid_tool_calls = [
        invalid_tool_call(name=name, args=str(given), id=number, error="no JSON object")
        for name, arguments, given, number in read
        if arguments is None
    ]


def reread(message: AIMessageChunk) -> None:
    """Give an answer that was streamed its calls, now that it is whole."""
    put_calls(
        message, [(each["name"], each["args"], each["id"]) for each in message.tool_call_chunks]
    )


def raw_call(call: object) -> Raw:
    """Take apart a call in OpenAI's form."""
    given: dict[str, Any] = dict(mapping_of(call) or {})
    function: dict[str, Any] = dict(mapping_of(given.get("function")) or {})
    return function.get("name"), function.get("arguments"), given.get("id")


def _name(given: object) -> str:
    return given if isinstance(given, str) else ""


def _id(given: object) -> str:
    """Give the id of a call; the answer of its tool must name one, and some servers give none."""
    return given if isinstance(given, str) and given else f"call_{uuid4().hex}"


def _arguments(given: object) -> dict[str, Any] | None:
    """Give the arguments; without any, and where they are null, there are none."""
    if isinstance(given, str) and given.strip() not in ("", "null"):
        return json_object(given)
    if isinstance(given, str | None):
        return {}
    read = mapping_of(given)  # some servers send them as they are
    return None if read is None else dict(read)
