"""Asking servers that do not stream: they answer a streaming request with plain JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from flowcompose.runner.agents.first_choice import EMPTY
from flowcompose.runner.agents.pieces import Aside, Piece


class Seen:
    """What came of a stream."""

    def __init__(self) -> None:
        self._any = False
        self._said = False

    def note(self, piece: ChatGenerationChunk) -> None:
        """Note a piece."""
        self._any = True
        self._said = self._said or not isinstance(piece, Aside)

    def answered(self) -> bool:
        """Tell whether it was an answer at all.

        Raises:
            ValueError: It was one without any choice.
        """
        if self._any and not self._said:
            raise ValueError(EMPTY)
        return self._any


class Streaming:
    """Whether a server streams, which is found out by asking it once."""

    def __init__(self) -> None:
        self._does = True

    def pieces(
        self,
        stream: Callable[[], Iterator[ChatGenerationChunk]],
        whole: Callable[[], ChatResult],
    ) -> Iterator[ChatGenerationChunk]:
        """Give the pieces of a stream; if there are none, a whole answer as the only piece."""
        if self._does:
            seen = Seen()
            for piece in stream():
                seen.note(piece)
                yield piece
            if seen.answered():
                return
        piece = _as_piece(whole())
        self._does = False
        yield piece

    async def apieces(
        self,
        stream: Callable[[], AsyncIterator[ChatGenerationChunk]],
        whole: Callable[[], Awaitable[ChatResult]],
    ) -> AsyncIterator[ChatGenerationChunk]:
        """`pieces` on the async path."""
        if self._does:
            seen = Seen()
            async for piece in stream():
                seen.note(piece)
                yield piece
            if seen.answered():
                return
        piece = _as_piece(await whole())
        self._does = False
        yield piece


def _as_piece(result: ChatResult) -> ChatGenerationChunk:
    said = result.generations[0]
    named = (result.llm_output or {}).get("model_name")
    info: dict[str, Any] = {
        **(said.generation_info or {}),
        **({"model_name": named} if named else {}),
    }
    message = said.message
    if not isinstance(message, AIMessage):
        raise TypeError(message)
    return Piece(message=_chunk_of(message), generation_info=info)


def _chunk_of(message: AIMessage) -> AIMessageChunk:
    return AIMessageChunk(
        content=message.content,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        id=message.id,
        usage_metadata=message.usage_metadata,
        tool_calls=message.tool_calls,
        invalid_tool_calls=message.invalid_tool_calls,
        chunk_position="last",
    )
