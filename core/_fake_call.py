"""One request to a model without a network: who asks, with which tools, and how it is answered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    BaseCallbackManager,
    CallbackManagerForLLMRun,
    Callbacks,
)
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call
from langchain_core.utils.function_calling import convert_to_openai_tool

_metadata: ContextVar[dict[str, Any] | None] = ContextVar("metadata_of_the_call", default=None)


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """One request to a model."""

    messages: list[BaseMessage]
    """What was sent, in order."""
    kwargs: dict[str, Any]
    """What was bound to the model: `tools`, `tool_choice`, `response_format`, `stop`."""
    metadata: dict[str, Any]
    """The metadata of the call's config, with the engine's own keys."""

    @property
    def agent_name(self) -> str | None:
        """Who was asking, if the call says so."""
        name = self.metadata.get("agent_name")
        return name if isinstance(name, str) else None


@contextmanager
def asked_with(
    callbacks: Callbacks, *metadata: Mapping[str, Any] | None
) -> Generator[None, None, None]:
    """Keep a call's metadata at hand: the engine gives `_stream` no run manager to read it from."""
    inherited = callbacks.metadata if isinstance(callbacks, BaseCallbackManager) else {}
    token = _metadata.set(
        {k: v for part in (inherited, *metadata) for k, v in (part or {}).items()}
    )
    try:
        yield
    finally:
        _metadata.reset(token)


def note_call(
    messages: list[BaseMessage],
    stop: list[str] | None,
    run_manager: CallbackManagerForLLMRun | AsyncCallbackManagerForLLMRun | None,
    kwargs: dict[str, Any],
) -> ModelCall:
    """Put a call on record, with the metadata of its run or, in a stream, of `asked_with`."""
    metadata = run_manager.metadata if run_manager else _metadata.get()
    return ModelCall(
        messages=list(messages),
        kwargs=kwargs if stop is None else {**kwargs, "stop": stop},
        metadata=dict(metadata or {}),
    )


def forced_tools(kwargs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tools of which the answer must call one; empty if it may be text."""
    choice: Any = kwargs.get("tool_choice")
    if choice in (None, False, "auto", "none"):
        return []
    tools = [convert_to_openai_tool(tool).get("function") for tool in kwargs.get("tools") or ()]
    functions = [function for function in tools if function]
    if not isinstance(choice, str | bool):  # a provider's own form: {"function": {"name": ...}}
        choice = choice.get("function", choice).get("name", "any")
    if choice in (True, "any", "required"):
        return functions
    return [function for function in functions if function["name"] == choice]


def call_tool(name: str, arguments: dict[str, Any], call: ModelCall) -> AIMessage:
    """An answer that calls one tool; the id follows from the request, so it is always the same."""
    request = [call.agent_name, name, arguments, *(message.text for message in call.messages)]
    digest = hashlib.sha256(json.dumps(request).encode()).hexdigest()
    return AIMessage(
        "", tool_calls=[tool_call(name=name, args=arguments, id=f"call_{digest[:24]}")]
    )
