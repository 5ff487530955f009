"""What an answer of a model without a network weighs, and how it streams."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCallChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb: the counts are for arithmetic in tests, not for bills."""


def count_usage(messages: Sequence[BaseMessage], answer: AIMessage) -> UsageMetadata:
    """The tokens of a call, counted from its characters: the same call always costs the same."""
    sent = sum(map(_characters, messages))
    asked, given = (math.ceil(n / CHARACTERS_PER_TOKEN) for n in (sent, _characters(answer)))
    return UsageMetadata(input_tokens=asked, output_tokens=given, total_tokens=asked + given)


def split_pieces(text: str, size: int | None) -> list[str]:
    """Cut a text into words (`size=None`) or slices; joined, they are the text again."""
    if size is None:
        return re.findall(r"\S+\s*|\s+", text)
    return [text[start : start + size] for start in range(0, len(text), size)]


def stream_chunks(answer: AIMessage, size: int | None) -> Iterator[ChatGenerationChunk]:
    """Stream an answer; what may come only once (usage, metadata) comes with the last chunk."""
    # An empty answer still has one chunk: the engine refuses a stream without any.
    *parts, last = [*_content_parts(answer, size), *_tool_parts(answer, size)] or [
        AIMessageChunk(content="")
    ]
    last = last.model_copy(
        update={
            "usage_metadata": answer.usage_metadata,
            "response_metadata": answer.response_metadata,
            "additional_kwargs": answer.additional_kwargs,
            "chunk_position": "last",
        }
    )
    for part in (*parts, last):
        part.id, part.name = answer.id, answer.name
        yield ChatGenerationChunk(message=part)


def _characters(message: BaseMessage) -> int:
    if not isinstance(message, AIMessage):
        return len(message.text)
    calls = (call["name"] + json.dumps(call["args"]) for call in message.tool_calls)
    return len(message.text) + sum(map(len, calls))


def _content_parts(answer: AIMessage, size: int | None) -> list[AIMessageChunk]:
    if isinstance(answer.content, str):
        return [AIMessageChunk(content=piece) for piece in split_pieces(answer.content, size)]
    return [AIMessageChunk(content=answer.content)]


def _tool_parts(answer: AIMessage, size: int | None) -> Iterator[AIMessageChunk]:
    calls = [
        *((call["name"], json.dumps(call["args"]), call["id"]) for call in answer.tool_calls),
        *((call["name"], call["args"], call["id"]) for call in answer.invalid_tool_calls),
    ]
    for index, (name, arguments, call_id) in enumerate(calls):
        yield _tool_part(tool_call_chunk(name=name, args="", id=call_id, index=index))
        for piece in split_pieces(arguments or "", size):
            yield _tool_part(tool_call_chunk(name=None, args=piece, id=None, index=index))


def _tool_part(chunk: ToolCallChunk) -> AIMessageChunk:
    return AIMessageChunk(content="", tool_call_chunks=[chunk])
