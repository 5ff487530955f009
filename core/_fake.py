"""A chat model that answers by itself: what `ScriptedModel` and `OfflineModel` share."""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
    Callbacks,
)
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, LLMResult
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from flowcompose.core._fake_call import ModelCall, asked_with, note_call
from flowcompose.core._fake_chunks import count_usage, stream_chunks


class FakeChatModel(BaseChatModel):
    """Sync, async, streams, tools and structured answers around one method: `_begin`."""

    latency: float = Field(default=0.0, ge=0)
    """Seconds that every call takes before its first word."""
    chunk_size: int | None = Field(default=None, gt=0)
    """Characters per streamed chunk; `None` streams word by word."""

    @abstractmethod
    def _begin(self, call: ModelCall) -> Callable[[], AIMessage]:
        """Take note of a call; what is returned gives the answer once the latency is over."""

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools in the form a provider would receive them."""
        choice = {} if tool_choice is None else {"tool_choice": tool_choice}
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        call = note_call(messages, stop, run_manager, kwargs)
        answer = self._begin(call)
        time.sleep(self.latency)
        return _result(self._finished(answer(), call))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        call = note_call(messages, stop, run_manager, kwargs)
        answer = self._begin(call)
        await asyncio.sleep(self.latency)
        return _result(self._finished(answer(), call))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        call = note_call(messages, stop, run_manager, kwargs)
        answer = self._begin(call)
        time.sleep(self.latency)
        yield from stream_chunks(self._finished(answer(), call), self.chunk_size)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        call = note_call(messages, stop, run_manager, kwargs)
        answer = self._begin(call)
        await asyncio.sleep(self.latency)
        for chunk in stream_chunks(self._finished(answer(), call), self.chunk_size):
            yield chunk

    def _finished(self, answer: AIMessage, call: ModelCall) -> AIMessage:
        answer.usage_metadata = answer.usage_metadata or count_usage(call.messages, answer)
        # Usage callbacks of the engine ignore an answer that does not name its model.
        answer.response_metadata.setdefault("model_name", self._llm_type)
        return answer

    # The four entrances of the engine, each only to keep the call's metadata for `_stream`.

    def generate_prompt(
        self,
        prompts: list[PromptValue],
        stop: list[str] | None = None,
        callbacks: Callbacks = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Answer prompts; see `invoke`."""
        with asked_with(callbacks, kwargs.get("metadata"), self.metadata):
            return super().generate_prompt(prompts, stop, callbacks, **kwargs)

    async def agenerate_prompt(
        self,
        prompts: list[PromptValue],
        stop: list[str] | None = None,
        callbacks: Callbacks = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Answer prompts; see `ainvoke`."""
        with asked_with(callbacks, kwargs.get("metadata"), self.metadata):
            return await super().agenerate_prompt(prompts, stop, callbacks, **kwargs)

    def stream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[AIMessageChunk]:
        """Stream an answer."""
        config = ensure_config(config)
        chunks = super().stream(input, config, stop=stop, **kwargs)
        # Around the first step only: a variable set across a `yield` leaks to the caller.
        with asked_with(config.get("callbacks"), config.get("metadata"), self.metadata):
            first = next(chunks)
        yield first
        yield from chunks

    async def astream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[AIMessageChunk]:
        """Stream an answer."""
        config = ensure_config(config)
        chunks = super().astream(input, config, stop=stop, **kwargs)
        with asked_with(config.get("callbacks"), config.get("metadata"), self.metadata):
            first = await anext(chunks)
        yield first
        async for chunk in chunks:
            yield chunk


def _result(answer: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=answer)])
