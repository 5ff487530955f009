"""A model of a server, as it is to be asked: what a document and the command line agree on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from flowcompose.core.providers import TIMEOUT

if TYPE_CHECKING:
    from flowcompose.runner.agents.chat import AzureEndpointChat, EndpointChat

NO_KEY = "unused"
"""Sent where there is none: the client insists on one."""

AZURE_VERSION = "2024-12-01-preview"
"""Of Azure's API, where a document names none."""


@dataclass(frozen=True)
class Place:
    """Where a model is, and how it is asked."""

    base_url: str
    model: str
    key: str = field(repr=False)
    options: str = "{}"
    """Arguments of the chat model, as JSON."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    azure_version: str | None = None
    """Of Azure's API; None for a server that speaks OpenAI's."""
    of_document: bool = False
    """Whether a document names the server: it learns nothing of the environment."""

    def chat(self) -> EndpointChat | AzureEndpointChat:
        """Give the chat model, made once: what it finds out of its server holds for all."""
        return _made(self)


def options_text(options: Mapping[str, Any]) -> str:
    """Write arguments so that two places can be told apart by them."""
    return json.dumps(options, sort_keys=True)


@lru_cache(maxsize=128)
def _made(place: Place) -> EndpointChat | AzureEndpointChat:
    chat = _openai(place) if place.azure_version is None else _azure(place)
    keys = [place.key] if place.key != NO_KEY else []
    chat.keep_secret(*keys, *(value for _, value in place.headers))
    if place.of_document:
        _seal(chat, place)
    return chat


def _common(place: Place) -> dict[str, Any]:
    from pydantic import SecretStr

    from flowcompose.runner.agents.loop_client import async_client, sync_client

    return {
        "model": place.model,
        "api_key": SecretStr(place.key),
        "timeout": TIMEOUT,
        "max_retries": 0,
        "stream_usage": True,
        "http_client": sync_client(),
        "http_async_client": async_client(),
        **json.loads(place.options),
    }


def _openai(place: Place) -> EndpointChat:
    from flowcompose.runner.agents.chat import EndpointChat

    return EndpointChat(base_url=place.base_url, **_common(place))


def _azure(place: Place) -> AzureEndpointChat:
    from flowcompose.runner.agents.chat import AzureEndpointChat

    return AzureEndpointChat(
        azure_endpoint=place.base_url,
        azure_deployment=place.model,
        api_version=place.azure_version,
        azure_ad_token=None,
        **_common(place),
    )


def _seal(chat: EndpointChat | AzureEndpointChat, place: Place) -> None:
    """Take out what OpenAI's client reads from the environment, and send the headers.

    The organization, the project, OPENAI_CUSTOM_HEADERS and the token of Azure are the
    user's, and for the user's own endpoints. As `default_headers` of the model the
    document's would stand in its repr.
    """
    clients: tuple[Any, ...] = chat.root_client, chat.root_async_client
    for client in clients:
        client.organization = client.project = None
        client._custom_headers = dict(place.headers)
        if place.azure_version is not None:
            client._azure_ad_token = client._azure_ad_token_provider = None
