"""The chat models of documents: LangChain's, for servers that are not all like OpenAI's.

They fall back to whole answers where a server does not stream, say the same either way, and let
no error and no answer out that repeats a secret.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from pydantic import PrivateAttr, ValidationError

from flowcompose.core.explain import explain_fields
from flowcompose.runner.agents.first_choice import read_first
from flowcompose.runner.agents.hushing import ahushed_pieces, hushed, hushed_pieces
from flowcompose.runner.agents.pieces import of_first_choice, piece_of
from flowcompose.runner.agents.scrubbing import scrubbed
from flowcompose.runner.agents.whole_answers import Streaming
from flowcompose.runner.secrets import Redactor

if TYPE_CHECKING:
    from langchain_openai.chat_models.base import BaseChatOpenAI as _Base
else:
    _Base = object  # a second pydantic base would bring its own defaults of the fields

T = TypeVar("T")
Stop = list[str] | None
Listener = CallbackManagerForLLMRun | None
AsyncListener = AsyncCallbackManagerForLLMRun | None


_KNOWS_NONE = Redactor([])


@dataclass(frozen=True)
class _Manners:
    """How a model deals with its server: what it found out, and what it must not tell."""

    streaming: Streaming = field(default_factory=Streaming)
    own: Redactor = _KNOWS_NONE
    """Its keys."""
    others: Redactor = _KNOWS_NONE
    """What else is not to be heard from it."""

    @contextmanager
    def scrubbed(self) -> Generator[None]:
        """Let errors out without secrets."""
        with scrubbed(self.own), scrubbed(self.others):
            yield


class _Careful(_Base):
    """Falls back, reads strictly and keeps secrets, before a class that asks."""

    if TYPE_CHECKING:
        _manners: _Manners

    def keep_secret(self, *secrets: str) -> None:
        """Say what must not stand in an error."""
        self._manners = replace(self._manners, own=Redactor(secrets))

    def keeping(self, redactor: Redactor) -> Self:
        """Give this model, which says none of these secrets either; what it learns, both know."""
        other = self.model_copy()
        other._manners = replace(self._manners, others=redactor)
        return other

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: Stop = None,
        run_manager: Listener = None,
        **kwargs: Any,
    ) -> ChatResult:
        with self._manners.scrubbed():
            result = super()._generate(messages, stop, run_manager, **kwargs)
        return hushed(result, self._manners.others)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: Stop = None,
        run_manager: AsyncListener = None,
        **kwargs: Any,
    ) -> ChatResult:
        with self._manners.scrubbed():
            result = await super()._agenerate(messages, stop, run_manager, **kwargs)
        return hushed(result, self._manners.others)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: Stop = None,
        run_manager: Listener = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        stream = partial(super()._stream, messages, stop, **kwargs)
        whole = partial(super()._generate, messages, stop, **_unstreamed(kwargs))
        with self._manners.scrubbed():
            pieces = self._manners.streaming.pieces(stream, whole)
            for piece in hushed_pieces(pieces, self._manners.others):
                if run_manager:
                    run_manager.on_llm_new_token(piece.text, chunk=piece)
                yield piece

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: Stop = None,
        run_manager: AsyncListener = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        stream = partial(super()._astream, messages, stop, **kwargs)
        whole = partial(super()._agenerate, messages, stop, **_unstreamed(kwargs))
        with self._manners.scrubbed():
            pieces = self._manners.streaming.apieces(stream, whole)
            async for piece in ahushed_pieces(pieces, self._manners.others):
                if run_manager:
                    await run_manager.on_llm_new_token(piece.text, chunk=piece)
                yield piece

    def _create_chat_result(
        self, response: Any, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        read = super()._create_chat_result  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - the same
        return _read(partial(read_first, response, partial(read, generation_info=generation_info)))

    def _convert_chunk_to_generation_chunk(
        self,
        chunk: dict[str, Any],
        default_chunk_class: type,
        base_generation_info: dict[str, Any] | None,
    ) -> ChatGenerationChunk | None:
        event = of_first_choice(chunk) if "choices" in chunk else chunk
        convert = super()._convert_chunk_to_generation_chunk  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - bare dicts
        made = _read(partial(convert, event, default_chunk_class, base_generation_info))
        return None if made is None else piece_of(made, event)


class EndpointChat(_Careful, ChatOpenAI):
    """A model behind an endpoint that speaks OpenAI's API."""

    _manners: _Manners = PrivateAttr(default_factory=_Manners)


class AzureEndpointChat(_Careful, AzureChatOpenAI):
    """A model behind an endpoint of Azure."""

    _manners: _Manners = PrivateAttr(default_factory=_Manners)


def _read(read: Callable[[], T]) -> T:
    """Read an answer. What pydantic says of one that is none quotes it, and stays in here."""
    try:
        return read()
    except ValidationError as error:
        problem = explain_fields(error)
    raise ValueError(problem)  # where no other error is being handled, and so is not its context


def _unstreamed(kwargs: dict[str, Any]) -> dict[str, Any]:
    drop = ("stream", "stream_usage", "stream_options")
    return {key: value for key, value in kwargs.items() if key not in drop}
