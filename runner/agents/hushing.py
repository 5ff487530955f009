"""Answers without the secrets that they repeat, so that nobody who follows them hears one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from flowcompose.core.untyped import items_of, mapping_of
from flowcompose.runner.secrets import Redactor

# One text to a stream, and what stands in its place where the model declines.
_TEXT = "text"
_REFUSAL = "refusal"

_CALLS = ("tool_calls", "function_call")
"""Beside a text: a tool is called with what the model says."""


def hushed(result: ChatResult, redactor: Redactor) -> ChatResult:
    """Give a whole answer without secrets."""
    said = [_without(each, redactor) for each in result.generations]
    return ChatResult(generations=said, llm_output=result.llm_output)


def _without(said: ChatGeneration, redactor: Redactor) -> ChatGeneration:
    content = _cleaned(said.message.content, redactor)
    beside = _beside(said.message.additional_kwargs, redactor)
    message = _saying(said.message, content, beside)
    if message is said.message:
        return said
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
        self._form: Mapping[Any, Any] | None = None
        """The part to which the text belongs; None where an answer is not made of parts."""

    def read(self, piece: ChatGenerationChunk) -> ChatGenerationChunk:
        """Give a piece with the text that may be heard by now."""
        said = piece.message
        # A text may go on after the calls of tools, and after the reason of its end.
        last = isinstance(said, AIMessageChunk) and said.chunk_position == "last"
        content = self._heard(said.content)
        beside = self._heard_beside(said.additional_kwargs)
        if last:
            content = self._ended(content)
            beside = self._ended_beside(beside)
        message = _saying(said, content, beside)
        if message is said:
            return piece
        return type(piece)(message=message, generation_info=piece.generation_info)

    def rest(self) -> Iterator[ChatGenerationChunk]:
        """Give what is left of an answer that ended without saying so."""
        content, beside = self._ended("" if self._form is None else []), self._ended_beside({})
        if content or beside:
            message = AIMessageChunk(content=content, additional_kwargs=beside)
            yield ChatGenerationChunk(message=message)

    def _heard(self, said: Any) -> Any:
        if isinstance(said, str):
            return self._stream.feed(_TEXT, said)
        return [self._heard_part(each) for each in items_of(said) or ()]

    def _heard_part(self, part: Any) -> Any:
        parts = mapping_of(part)
        if parts is None:
            return self._stream.feed(_TEXT, part) if isinstance(part, str) else part
        if not isinstance(text := parts.get("text"), str):
            return _part(parts, self._redactor)
        self._form = {key: parts[key] for key in ("type", "index") if key in parts}
        return {**parts, "text": self._stream.feed(_TEXT, text)}

    def _heard_beside(self, said: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(refusal := said.get(_REFUSAL), str):
            return _beside(said, self._redactor)
        rest = {key: value for key, value in said.items() if key != _REFUSAL}
        heard = self._stream.feed(_REFUSAL, refusal)
        return {**_beside(rest, self._redactor), _REFUSAL: heard}

    def _ended(self, content: Any) -> Any:
        """Add what was held back of a text."""
        text = self._stream.flush(_TEXT)
        if not text or isinstance(content, str):
            return content + text if text else content
        return [*content, text if self._form is None else {**self._form, "text": text}]

    def _ended_beside(self, beside: dict[str, Any]) -> dict[str, Any]:
        if text := self._stream.flush(_REFUSAL):
            return {**beside, _REFUSAL: f"{beside.get(_REFUSAL) or ''}{text}"}
        return beside


def _cleaned(content: Any, redactor: Redactor) -> Any:
    """Clean a text, or the texts among the parts of which an answer is made."""
    if isinstance(content, str):
        return redactor.clean(content)
    return [_part(each, redactor) for each in items_of(content) or ()]


def _part(part: Any, redactor: Redactor) -> Any:
    """Clean a part: a text, a thought, a refusal, but no call of a tool."""
    kind = (mapping_of(part) or {}).get("type")
    is_call = isinstance(kind, str) and "call" in kind
    return part if is_call else redactor.clean_json(part)


def _beside(said: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    return {
        key: value if key in _CALLS else redactor.clean_json(value) for key, value in said.items()
    }


def _saying(message: BaseMessage, content: Any, beside: dict[str, Any]) -> Any:
    """Give a message with other words; the same one where they are none."""
    if content == message.content and beside == message.additional_kwargs:
        return message
    return message.model_copy(update={"content": content, "additional_kwargs": beside})
