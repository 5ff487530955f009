"""Checking models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flowcompose.runner.manifest.checks.context import Context, listed
from flowcompose.runner.manifest.checks.properties import check_properties
from flowcompose.runner.manifest.checks.sources import (
    check_headers,
    check_no_placeholder,
    check_source,
)
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.kinds.model import (
    PROVIDERS,
    AzureConfig,
    BedrockConfig,
    ModelSpec,
    ProviderConfig,
)
from flowcompose.runner.manifest.kinds.values import ValueSource
from flowcompose.runner.manifest.marks import Path
from flowcompose.runner.manifest.templates import is_placeholder

_CALLED: Final = ("openai", "azure")
_TYPES: Final = ("completions", *PROVIDERS)


def check_model(context: Context, model: Document, spec: ModelSpec) -> None:
    """Note what is wrong with a model."""
    path = ("spec", "model")
    check_source(context, model, path, spec.model)
    check_no_placeholder(context, model, path, spec.model, "give --model")
    if not _check_provider(context, model, spec):
        return
    provider = str(spec.provider)
    if provider not in _CALLED:
        message = f"{provider} models are not called here: give --base-url"
        context.elsewhere(model, ("spec",), message)
    if spec.endpoint is None:
        message = f"{provider} configuration is required for {provider} model type"
        context.error(model, ("spec", "config"), message)
    else:
        _check_endpoint(context, model, ("spec", "config", provider), spec.endpoint)


def _check_provider(context: Context, model: Document, spec: ModelSpec) -> bool:
    if spec.given_provider is not None and spec.given_provider not in PROVIDERS:
        message = f"unsupported provider '{spec.given_provider}': must be {listed(PROVIDERS)}"
        context.error(model, ("spec", "provider"), message)
        return False
    if spec.type is not None and spec.type not in _TYPES:
        message = f"unsupported model type '{spec.type}': must be {listed(_TYPES)}"
        context.error(model, ("spec", "type"), message)
        return False
    if spec.provider is None:
        message = f"provider is required: {listed(PROVIDERS)}"
        context.error(model, ("spec", "provider"), message)
        return False
    return True


def _check_endpoint(context: Context, model: Document, path: Path, config: ProviderConfig) -> None:
    for name, source in _sources(config):
        check_source(context, model, (*path, name), source)
    check_properties(context, model, (*path, "properties"), config.properties)
    check_headers(context, model, (*path, "headers"), config.headers)
    if config.base_url:
        _check_base_url(context, model, (*path, "baseUrl"), config.base_url)
    if config.api_key:
        instead = "give --api-key"
        check_no_placeholder(context, model, (*path, "apiKey"), config.api_key, instead)
    _check_complete(context, model, path, config)


def _sources(config: ProviderConfig) -> Iterator[tuple[str, ValueSource]]:
    for name, info in type(config).model_fields.items():
        value: object = getattr(config, name)
        if isinstance(value, ValueSource):
            yield info.alias or name, value


def _check_complete(context: Context, model: Document, path: Path, config: ProviderConfig) -> None:
    if isinstance(config, BedrockConfig):
        return
    if config.base_url is None and path[-1] in _CALLED:
        context.error(model, (*path, "baseUrl"), "'baseUrl' is required")
    if isinstance(config, AzureConfig) and config.auth is not None:
        message = "auth is not used here: give --api-key, or an apiKey"
        context.warning(model, (*path, "auth"), message)
    elif config.api_key is None:
        context.error(model, (*path, "apiKey"), "'apiKey' is required")


def _check_base_url(context: Context, model: Document, path: Path, source: ValueSource) -> None:
    check_no_placeholder(context, model, path, source, "give --base-url")
    url = source.value
    if url and not is_placeholder(url) and not url.startswith(("http://", "https://")):
        message = "invalid URL format: it must begin with http:// or https://"
        context.error(model, (*path, "value"), message)
