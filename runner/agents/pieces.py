"""The pieces of a streamed answer, which together say what the whole one would have said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from flowcompose.core.untyped import items_of, mapping_of
from flowcompose.runner.agents.tool_calls import reread


class Piece(ChatGenerationChunk):
    """A piece of an answer; joined with the others, its calls of tools are read as a whole's."""

    def __add__(self, other: ChatGenerationChunk | list[ChatGenerationChunk]) -> Piece:
        """Join it with those that follow."""
        joined = super().__add__(other)
        message = joined.message
        if isinstance(message, AIMessageChunk) and message.chunk_position == "last":
            reread(message)
        return Piece(message=message, generation_info=joined.generation_info)


class Aside(Piece):
    """A piece that says nothing of the answer, only of its tokens."""


def of_first_choice(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Give an event of a stream without choices other than the first, and with calls numbered."""
    choices = [mapping_of(each) or {} for each in items_of(chunk.get("choices")) or ()]
    first = [dict(each) for each in choices if not each.get("index")]
    for choice in first:
        delta = mapping_of(choice.get("delta"))
        choice["delta"] = None if delta is None else _numbered(delta)
    return {**chunk, "choices": first}


def _numbered(delta: Mapping[Any, Any]) -> dict[Any, Any]:
    """Give each call the number without which it would be dropped; not all servers send one."""
    calls = [dict(mapping_of(each) or {}) for each in items_of(delta.get("tool_calls")) or ()]
    for index, call in enumerate(calls):
        call["index"] = index if call.get("index") is None else call["index"]
        call["function"] = mapping_of(call.get("function")) or {}
    return {**delta, "tool_calls": calls}


def piece_of(made: ChatGenerationChunk, chunk: Mapping[str, Any]) -> Piece:
    """Give the piece of an event, with the refusal that it may hold."""
    if "choices" not in chunk:  # of a stream with a schema: its last event holds all
        return Piece(message=made.message, generation_info=made.generation_info)
    if not chunk["choices"]:
        return Aside(message=made.message, generation_info=made.generation_info)
    delta = mapping_of(chunk["choices"][0]["delta"]) or {}
    if isinstance(refusal := delta.get("refusal"), str):
        made.message.additional_kwargs["refusal"] = refusal
    return Piece(message=made.message, generation_info=made.generation_info)
