"""The wire format of chat completions: replies, and the bodies that they become."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

PIECE = 4
"""Characters per streamed chunk."""


@dataclass(frozen=True)
class ToolCalls:
    """An answer that calls tools."""

    calls: Sequence[tuple[str, Mapping[str, object] | str]]
    """Names and arguments; a text stands for arguments as they are sent."""


@dataclass(frozen=True)
class HttpError:
    """An error answer of the API, such as 429 with `headers={"retry-after-ms": "5"}`."""

    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Truncated:
    """A text that ends because the token limit was reached."""

    text: str


@dataclass(frozen=True)
class Refusal:
    """The model declines, in the field that the API has for it."""

    text: str


@dataclass(frozen=True)
class Hang:
    """No byte for so long, then the connection is closed without an answer."""

    seconds: float


@dataclass(frozen=True)
class Dropped:
    """An answer that breaks off midway, and the connection with it."""

    text: str


Answer: TypeAlias = str | Mapping[str, object] | ToolCalls | Truncated | Refusal | Dropped
"""What has a body in the form of a completion."""

Reply: TypeAlias = Answer | HttpError | Hang
Replies: TypeAlias = Sequence[Reply] | Callable[[dict[str, Any]], Reply]


def completion(reply: Answer, body: Mapping[str, Any]) -> dict[str, Any]:
    """The whole answer to a request."""
    choice = {"index": 0, "message": _message(reply), "finish_reason": _finish(reply)}
    return {
        **_head(body, "chat.completion"),
        "choices": [choice],
        "usage": _usage(reply, body),
    }


def error(reply: HttpError) -> dict[str, Any]:
    """The body of an error answer."""
    return {"error": {"message": reply.message, "type": "error", "param": None, "code": None}}


def events(reply: Answer, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The streamed answer to a request, event by event."""
    options: dict[str, Any] = body.get("stream_options") or {}
    head = _head(body, "chat.completion.chunk")
    deltas = [*_deltas(reply)]
    if isinstance(reply, Dropped):
        deltas = deltas[: len(deltas) // 2 + 1]
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if isinstance(reply, Dropped):
        return
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(reply)}]}
    if options.get("include_usage"):
        yield {**head, "choices": [], "usage": _usage(reply, body)}


def _head(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-test", "object": kind, "created": 0, "model": body.get("model")}


def _finish(reply: Answer) -> str:
    if isinstance(reply, Truncated):
        return "length"
    return "tool_calls" if isinstance(reply, ToolCalls) else "stop"


def _text(reply: Answer) -> str:
    if isinstance(reply, str):
        return reply
    if isinstance(reply, Mapping):
        return json.dumps(reply)
    return "" if isinstance(reply, ToolCalls) else reply.text


def _message(reply: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    if isinstance(reply, ToolCalls):
        return {**message, "tool_calls": _tool_calls(reply)}
    return message | {"refusal" if isinstance(reply, Refusal) else "content": _text(reply)}


def _tool_calls(reply: ToolCalls) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": _written(arguments)},
        }
        for number, (name, arguments) in enumerate(reply.calls, 1)
    ]


def _written(arguments: Mapping[str, object] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _usage(reply: Answer, body: Mapping[str, Any]) -> dict[str, int]:
    sent = math.ceil(len(json.dumps(body.get("messages"))) / 4)
    given = math.ceil(len(json.dumps(_message(reply))) / 4)
    return {"prompt_tokens": sent, "completion_tokens": given, "total_tokens": sent + given}


def _deltas(reply: Answer) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": None if isinstance(reply, ToolCalls) else ""}
    if isinstance(reply, ToolCalls):
        for index, call in enumerate(_tool_calls(reply)):
            function = call["function"]
            begun = {**call, "index": index, "function": {**function, "arguments": ""}}
            yield {"tool_calls": [begun]}
            for piece in _pieces(function["arguments"]):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
        return
    for piece in _pieces(_text(reply)):
        yield {"refusal" if isinstance(reply, Refusal) else "content": piece}


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
