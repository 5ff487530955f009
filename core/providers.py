"""Making a chat model from a name such as `openai:gpt-4o`."""

from __future__ import annotations

import asyncio
import os
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from flowcompose.core.errors import DefinitionError
from flowcompose.core.per_loop import PerLoop

if TYPE_CHECKING:  # some 25 ms, which only those pay who make a model
    from langchain_core.language_models import BaseChatModel
    from openai import DefaultAsyncHttpxClient

TIMEOUT = 120.0
"""Seconds without an answer after which a request of a model made here is given up."""


def build_model(name: str) -> BaseChatModel:
    """Give the model that `name` means, the same object for the same name and environment.

    Raises:
        DefinitionError: The name has no provider, or the provider's package is missing.
    """
    if name == "offline":
        return _offline()
    provider, colon, model = name.partition(":")
    if not colon or not provider or not model:
        allowed = "'openai:gpt-4o' (provider:name), 'intent/chat' or 'offline'"
        raise DefinitionError(f"model {name!r}", [f"must look like {allowed}"])
    return _openai(model) if provider == "openai" else _other(name)


@lru_cache(maxsize=1)
def _offline() -> BaseChatModel:
    from flowcompose.core.offline import OfflineModel

    return OfflineModel()


def _openai(model: str) -> BaseChatModel:
    """Make a ChatOpenAI whose retries are left to us, and that always reports usage."""
    key, base_url = os.environ.get("OPENAI_API_KEY"), os.environ.get("OPENAI_BASE_URL")
    if not key:
        problem = "OPENAI_API_KEY is not set (a server that needs no key takes any value)"
        raise DefinitionError(f"model 'openai:{model}'", [problem])
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return _sync_openai(model, base_url, key)
    return _models.of(loop).openai(model, base_url, key)


class _LoopModels:
    """The models of one event loop, and the client that they share."""

    def __init__(self) -> None:
        from openai import DefaultAsyncHttpxClient

        self._client = DefaultAsyncHttpxClient(timeout=TIMEOUT)
        self._made: dict[tuple[str, str | None, str], BaseChatModel] = {}

    def openai(self, model: str, base_url: str | None, key: str) -> BaseChatModel:
        """Give the model, made once."""
        known = (model, base_url, key)
        if known not in self._made:
            self._made[known] = _make_openai(model, base_url, key, self._client)
        return self._made[known]

    async def aclose(self) -> None:
        """Close the client; its loop ends."""
        await self._client.aclose()


_models = PerLoop(_LoopModels)


@lru_cache(maxsize=32)
def _sync_openai(model: str, base_url: str | None, key: str) -> BaseChatModel:
    return _make_openai(model, base_url, key, None)


def _make_openai(
    model: str, base_url: str | None, key: str, client: DefaultAsyncHttpxClient | None
) -> BaseChatModel:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    return ChatOpenAI(
        model=model,
        base_url=base_url,
        api_key=SecretStr(key),
        timeout=TIMEOUT,
        max_retries=0,
        stream_usage=True,
        http_async_client=client,
    )


@lru_cache(maxsize=32)
def _other(name: str) -> BaseChatModel:
    if find_spec("langchain") is None:
        problem = (
            "only 'openai:' is built in; for other providers: pip install 'flowcompose[models]'"
        )
        raise DefinitionError(f"model {name!r}", [problem])
    from langchain.chat_models import init_chat_model

    try:
        return init_chat_model(name)
    except Exception as error:  # each provider has its own way to say that a key is missing
        raise DefinitionError(f"model {name!r}", [str(error)]) from error
