"""What the documents say of an agent's model, as far as it can be had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flowcompose.runner.agents.header import is_framing, problem_of_header
from flowcompose.runner.agents.place import NO_KEY
from flowcompose.runner.manifest.base_url import problem_of_url
from flowcompose.runner.manifest.kinds.agent import AgentSpec
from flowcompose.runner.manifest.kinds.model import ModelSpec, ProviderConfig

if TYPE_CHECKING:
    from flowcompose.runner.manifest import Document, Manifest
    from flowcompose.runner.manifest.kinds.values import ValueSource

_SERVED = ("openai", "azure")
"""Providers whose API is spoken here."""


@dataclass(frozen=True)
class Declared:
    """A Model document, or the name of one that is not there."""

    name: str
    """Of the document."""
    model: str | None = None
    """The provider's name of the model."""
    provider: str | None = None
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    version: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    public_properties: Mapping[str, str] = field(default_factory=dict[str, str])
    """Those that stand in no Secret, and may go to another server too."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    missing: tuple[str, ...] = ()
    """Why its server cannot be asked; a model and a key may come from elsewhere."""

    @property
    def is_openai_like(self) -> bool:
        """Whether the model may be one that OpenAI serves too."""
        return self.provider is None or self.provider in _SERVED


def declared_for(manifest: Manifest, agent: Document | None, ref: str | None) -> Declared:
    """Read the Model document of an agent, or of a name."""
    spec = agent.spec if agent is not None and isinstance(agent.spec, AgentSpec) else AgentSpec()
    inline = spec.model.name if spec.model else None
    named = ref or (spec.model_ref.name if spec.model_ref else None)
    namespace = agent.namespace if agent is not None else None
    if spec.model_ref and spec.model_ref.namespace:
        namespace = spec.model_ref.namespace
    name = named or inline or "default"
    document = manifest.find("Model", name, namespace)
    if document is None:
        there = ", ".join(sorted(each.name for each in manifest.of_kind("Model"))) or "none"
        missing = f"no Model {name!r} is among the documents (there is: {there})"
        of_agent = None if named else inline
        provider = spec.model.type if spec.model and of_agent else None
        return Declared(name, model=of_agent, provider=provider, missing=(missing,))
    if not isinstance(document.spec, ModelSpec):
        return Declared(name, missing=(f"Model {name!r} cannot be read",))
    return _Reading(manifest, name, document.namespace, document.spec).declared()


@dataclass(frozen=True)
class _Reading:
    manifest: Manifest
    name: str
    namespace: str
    spec: ModelSpec

    def declared(self) -> Declared:
        """Read what can be had, and say what cannot."""
        config = self.spec.endpoint or ProviderConfig()
        properties, secrets = self._properties(config), self.manifest.secrets
        return Declared(
            name=self.name,
            model=self._value(self.spec.model),
            provider=self.spec.provider,
            base_url=self._value(config.base_url),
            key=self._value(config.api_key) if config.api_key else NO_KEY,
            version=self._value(config.api_version),
            properties=properties,
            public_properties={k: v for k, v in properties.items() if v not in secrets},
            headers=tuple(self._headers(config)),
            missing=tuple(self._missing(config)),
        )

    def _missing(self, config: ProviderConfig) -> Iterator[str]:
        provider, where = self.spec.provider, f"Model {self.name!r}"
        if provider not in _SERVED:
            yield f"{where} is of provider {provider!r}, which is not asked here directly"
            return
        url = self._value(config.base_url)
        problem = "it has no value here" if url is None else problem_of_url(url)
        if problem:
            yield f"{where}: baseUrl: {problem}"
        for header in config.headers:
            value = self._value(header.value)
            problem = "it has no value here" if value is None else None
            if problem := problem or problem_of_header(header.name, value or ""):
                yield f"{where}: header {header.name!r}: {problem}"

    def _properties(self, config: ProviderConfig) -> dict[str, str]:
        read = {name: self._value(source) for name, source in config.properties.items()}
        return {name: value for name, value in read.items() if value is not None}

    def _headers(self, config: ProviderConfig) -> Iterator[tuple[str, str]]:
        for header in config.headers:
            value = self._value(header.value)
            if value is not None and not is_framing(header.name):
                yield header.name, value

    def _value(self, source: ValueSource | None) -> str | None:
        """Give a value without the line's end that files of secrets have."""
        if source is None:
            return None
        value = self.manifest.value(source, namespace=self.namespace)
        return (value or "").strip() or None
