"""Making a chat model from a name such as `openai:gpt-4o`."""

from __future__ import annotations

import asyncio
import os
from functools import lru_cache
from importlib.util import find_spec
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel

from flowcompose.core.errors import DefinitionError

TIMEOUT = 120.0
"""Seconds without an answer after which a request of a model made here is given up."""

# An async client belongs to the event loop that first used it: in a second `asyncio.run` it
# fails with "Event loop is closed". So each loop has models of its own.
_of_loop: WeakKeyDictionary[Any, dict[tuple[Any, ...], BaseChatModel]] = WeakKeyDictionary()


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
    models = _of_loop.setdefault(loop, {})
    found = models.get((model, base_url, key))
    if found is None:
        found = models[model, base_url, key] = _make_openai(model, base_url, key, own_client=True)
    return found


@lru_cache(maxsize=32)
def _sync_openai(model: str, base_url: str | None, key: str) -> BaseChatModel:
    return _make_openai(model, base_url, key, own_client=False)


def _make_openai(model: str, base_url: str | None, key: str, *, own_client: bool) -> BaseChatModel:
    from langchain_openai import ChatOpenAI
    from openai import DefaultAsyncHttpxClient
    from pydantic import SecretStr

    return ChatOpenAI(
        model=model,
        base_url=base_url,
        api_key=SecretStr(key),
        timeout=TIMEOUT,
        max_retries=0,
        stream_usage=True,
        http_async_client=DefaultAsyncHttpxClient(timeout=TIMEOUT) if own_client else None,
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
    except (ImportError, ValueError) as error:
        raise DefinitionError(f"model {name!r}", [str(error)]) from error
