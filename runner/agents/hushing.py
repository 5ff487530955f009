"""Answers without the secrets that they repeat, so that nobody who follows them hears one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from flowcompose.core.untyped import items_of, mapping_of
from flowcompose.runner.secrets import Redactor

# One text to a stream.
_KEY = ""


def hushed(result: ChatResult, redactor: Redactor) -> ChatResult:
    """Give a whole answer without secrets."""
    said = [_without(each, redactor) for each in result.generations]
    return ChatResult(generations=said, llm_output=result.llm_output)


def _without(said: ChatGeneration, redactor: Redactor) -> ChatGeneration:
    content = _cleaned(said.message.content, redactor)
    if content == said.message.content:
        return said
    message = _saying(said.message, content)
    return ChatGeneration(message=message, generation_info=said.generation_info)


def hushed_pieces(
    pieces: Iterator[ChatGenerationChunk], redactor: Redactor
) -> Iterator[ChatGenerationChunk]:
    """Give the pieces of an answer without secrets, also of one that is split over some."""
    hushing = _Hushing(redactor)
    for piece in pieces:
        yield hushing.read(piece)
    yield from hushing.rest()


async def ahushed_pieces(
    pieces: AsyncIterator[ChatGenerationChunk], redactor: Redactor
) -> AsyncIterator[ChatGenerationChunk]:
    """`hushed_pieces` on the async path."""
    hushing = _Hushing(redactor)
    async for piece in pieces:
        yield hushing.read(piece)
    for piece in hushing.rest():
        yield piece


class _Hushing:
    """Holds back what could be the beginning of a secret, until it is clear what it is."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._stream = redactor.stream()

    def read(self, piece: ChatGenerationChunk) -> ChatGenerationChunk:
        """Give a piece with the text that may be heard by now."""
        said = piece.message.content
        content = self._heard(said, last=_is_last(piece))
        if content == said:
            return piece
        return type(piece)(
            message=_saying(piece.message, content), generation_info=piece.generation_info
        )

    def rest(self) -> Iterator[ChatGenerationChunk]:
        """Give what is left of an answer that ended without saying so."""
        if text := self._stream.flush(_KEY):
            yield ChatGenerationChunk(message=AIMessageChunk(content=text))

    def _heard(self, said: Any, *, last: bool) -> Any:
        if not isinstance(said, str):
            return _cleaned(said, self._redactor)
        heard = self._stream.feed(_KEY, said)
        return heard + self._stream.flush(_KEY) if last else heard


def _is_last(piece: ChatGenerationChunk) -> bool:
    """Say whether no text follows: its end is told, or there are calls of tools already."""
    message = piece.message
    told = (piece.generation_info or {}).get("finish_reason")
    calls = isinstance(message, AIMessageChunk) and (
        message.chunk_position == "last" or message.tool_call_chunks
    )
    return bool(told or calls)


def _cleaned(content: Any, redactor: Redactor) -> Any:
    """Clean a text, or the texts among the parts of which an answer is made."""
    if isinstance(content, str):
        return redactor.clean(content)
    return [_part(each, redactor) for each in items_of(content) or ()]


def _part(part: Any, redactor: Redactor) -> Any:
    if (parts := mapping_of(part)) is not None:
        return {**parts, "text": redactor.clean(parts["text"])} if "text" in parts else parts
    return redactor.clean(part)


def _saying(message: BaseMessage, content: Any) -> Any:
    return message.model_copy(update={"content": content})
