"""Getting values from where they stand, and knowing which of them are secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from flowcompose.runner.manifest.documents import DEFAULT_NAMESPACE, Document
from flowcompose.runner.manifest.kinds.model import BedrockConfig, ModelSpec
from flowcompose.runner.manifest.kinds.stored import ConfigMapSpec, SecretSpec
from flowcompose.runner.manifest.kinds.tool import ToolSpec
from flowcompose.runner.manifest.kinds.values import (
    HeaderSpec,
    KeyRef,
    ParameterSpec,
    ValueFrom,
    ValueSource,
)
from flowcompose.runner.manifest.loaded import Loaded
from flowcompose.runner.manifest.templates import is_placeholder

SHORTEST_SECRET: Final = 4

_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password|credential", re.IGNORECASE)


def stored(loaded: Loaded, kind: str, ref: KeyRef, namespace: str | None) -> str | None:
    """Give what stands under a key of a Secret or ConfigMap."""
    document = loaded.find(kind, ref.name, namespace)
    spec = document.spec if document else None
    return spec.values.get(ref.key) if isinstance(spec, SecretSpec | ConfigMapSpec) else None


def value_of(
    loaded: Loaded,
    source: ValueSource,
    parameters: Mapping[str, str],
    namespace: str | None = None,
) -> str | None:
    """Give a value; None if it is nowhere, or only its place is held."""
    text = _text_of(loaded, source, parameters, namespace)
    return None if text is None or is_placeholder(text) else text


def _text_of(
    loaded: Loaded, source: ValueSource, parameters: Mapping[str, str], namespace: str | None
) -> str | None:
    if source.value:
        return source.value
    where = source.value_from
    if where is None:
        return source.value
    if where.secret_key_ref:
        return stored(loaded, "Secret", where.secret_key_ref, namespace)
    if where.config_map_key_ref:
        return stored(loaded, "ConfigMap", where.config_map_key_ref, namespace)
    if where.query_parameter_ref:
        return parameters.get(where.query_parameter_ref.name)
    return None


def parameters_of(
    loaded: Loaded,
    declared: Iterable[ParameterSpec],
    given: Mapping[str, str],
    namespace: str | None = None,
) -> dict[str, str]:
    """Give the values of the parameters that can be had."""
    values = {each.name: _text_of(loaded, each, given, namespace) for each in declared}
    return {name: value for name, value in values.items() if value is not None}


def lacks_of(
    loaded: Loaded,
    declared: Iterable[ParameterSpec],
    given: Mapping[str, str],
    namespace: str | None = None,
) -> list[str]:
    """Say of each parameter that cannot be had what it lacks."""
    return [
        f"parameter '{each.name}': {_lack(loaded, each.value_from or ValueFrom(), namespace)}"
        for each in declared
        if _text_of(loaded, each, given, namespace) is None
    ]


def _lack(loaded: Loaded, where: ValueFrom, namespace: str | None) -> str:
    if where.secret_key_ref:
        return _lack_of_key(loaded, "Secret", where.secret_key_ref, namespace)
    if where.config_map_key_ref:
        return _lack_of_key(loaded, "ConfigMap", where.config_map_key_ref, namespace)
    if where.query_parameter_ref:
        return f"query parameter '{where.query_parameter_ref.name}' not found"
    if where.service_ref:
        return f"the service '{where.service_ref.name}' of a cluster is not found here"
    return "it has no value"


def _lack_of_key(loaded: Loaded, kind: str, ref: KeyRef, namespace: str | None) -> str:
    holder = f"{kind[0].lower()}{kind[1:]} '{ref.name}'"
    if loaded.find(kind, ref.name, namespace) is None:
        return f"{holder} does not exist in namespace '{namespace or DEFAULT_NAMESPACE}'"
    return f"key '{ref.key}' not found in {holder}"


def secrets_of(loaded: Loaded) -> frozenset[str]:
    """Give every text that must not be shown."""
    found = (text for document in loaded.documents for text in _secrets(loaded, document))
    return frozenset(
        each
        for text in found
        for each in (text, text.strip())
        if len(each) >= SHORTEST_SECRET and not is_placeholder(each)
    )


def _secrets(loaded: Loaded, document: Document) -> Iterator[str]:
    spec = document.spec
    if isinstance(spec, SecretSpec):
        yield from spec.values.values()
    for source in _sources(spec):
        yield _text_of(loaded, source, {}, document.namespace) or ""


def _sources(spec: object) -> Iterator[ValueSource]:
    """Give the values of a document that are secret wherever they stand."""
    if isinstance(spec, ModelSpec):
        for config in (spec.config.openai, spec.config.azure, spec.config.anthropic):
            if config:
                yield from filter(None, (config.api_key,))
                yield from _secret_headers(config.headers)
        if spec.config.bedrock:
            yield from _bedrock(spec.config.bedrock)
    elif isinstance(spec, ToolSpec) and spec.http:
        yield from _secret_headers(spec.http.headers)


def _bedrock(config: BedrockConfig) -> Iterator[ValueSource]:
    keys = (config.api_key, config.access_key_id, config.secret_access_key, config.session_token)
    yield from filter(None, keys)
    yield from _secret_headers(config.headers)


def _secret_headers(headers: Iterable[HeaderSpec]) -> Iterator[ValueSource]:
    yield from (each.value for each in headers if _SECRET_HEADER.search(each.name))
