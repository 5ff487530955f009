"""The kind Model: where a model is reached, and with which key."""

from __future__ import annotations

from pydantic import Field

from flowcompose.runner.manifest.kinds.base import JsonObject, Listed, Spec
from flowcompose.runner.manifest.kinds.values import HeaderSpec, ValueSource

PROVIDERS = ("openai", "azure", "bedrock", "anthropic")


class ProviderConfig(Spec):
    """What every provider may be given."""

    base_url: ValueSource | None = Field(default=None, description="Where it is reached.")
    api_key: ValueSource | None = Field(default=None, description="The key; best in a Secret.")
    api_version: ValueSource | None = Field(default=None, description="The version of its API.")
    properties: dict[str, ValueSource] = Field(
        default_factory=dict, description="Settings such as temperature and max_tokens."
    )
    headers: Listed[HeaderSpec] = Field(default=(), description="Headers of every request.")


class OpenAIConfig(ProviderConfig):
    """An endpoint that speaks OpenAI's API."""


class AzureConfig(ProviderConfig):
    """An endpoint of Azure OpenAI."""

    auth: JsonObject | None = Field(
        default=None, description="Ways to prove who one is other than a key; not used here."
    )


class AnthropicConfig(ProviderConfig):
    """Anthropic's API; run here only through --base-url."""

    version: ValueSource | None = Field(default=None, description="The version of its API.")


class BedrockConfig(ProviderConfig):
    """Models of Amazon Bedrock; run here only through --base-url."""

    region: ValueSource | None = Field(default=None, description="The region.")
    access_key_id: ValueSource | None = Field(default=None, description="The key's id.")
    secret_access_key: ValueSource | None = Field(default=None, description="The key.")
    session_token: ValueSource | None = Field(default=None, description="A token for a while.")
    model_arn: ValueSource | None = Field(default=None, description="The model's ARN.")


class ModelConfig(Spec):
    """The provider's settings, under its name."""

    openai: OpenAIConfig | None = Field(default=None, description="An OpenAI endpoint.")
    azure: AzureConfig | None = Field(default=None, description="An Azure endpoint.")
    bedrock: BedrockConfig | None = Field(default=None, description="Amazon Bedrock.")
    anthropic: AnthropicConfig | None = Field(default=None, description="Anthropic.")


class ModelSpec(Spec):
    """A model, and where it is reached."""

    model: ValueSource = Field(description="Which model of the provider, such as gpt-4o.")
    type: str | None = Field(
        default=None, description="completions; up to v0.1.31 the provider's name."
    )
    given_provider: str | None = Field(
        default=None,
        alias="provider",
        description="openai, azure, bedrock or anthropic (v0.1.50 and later).",
    )
    config: ModelConfig = Field(
        default_factory=ModelConfig, description="Where it is reached, under the provider's name."
    )
    poll_interval: str | None = Field(default=None, description="No effect here.")

    @property
    def provider(self) -> str | None:
        """Who serves it: what `provider` says, or `type` where that names a provider."""
        named = self.type if self.type in PROVIDERS else None
        return self.given_provider or named

    @property
    def endpoint(self) -> ProviderConfig | None:
        """The settings of its provider, if they are given."""
        configs: dict[str | None, ProviderConfig | None] = {
            "openai": self.config.openai,
            "azure": self.config.azure,
            "bedrock": self.config.bedrock,
            "anthropic": self.config.anthropic,
        }
        return configs.get(self.provider)
