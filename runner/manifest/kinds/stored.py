"""The kinds Secret and ConfigMap: values that other documents name by key."""

from __future__ import annotations

from pydantic import Field

from flowcompose.runner.manifest.kinds.base import Spec


class SecretSpec(Spec):
    """Values that are shown nowhere."""

    values: dict[str, str] = Field(repr=False, description="By key, decoded.")


class ConfigMapSpec(Spec):
    """Values that many documents use."""

    values: dict[str, str] = Field(description="By key.")


class SecretContent(Spec):
    """How a Secret is written."""

    data: dict[str, str] = Field(
        default_factory=dict, repr=False, description="Values in base64, by key."
    )
    string_data: dict[str, str] = Field(
        default_factory=dict, repr=False, description="Values as they are, by key."
    )
    type: str | None = Field(default=None, description="No effect here.")
    immutable: bool | None = Field(default=None, description="No effect here.")


class ConfigMapContent(Spec):
    """How a ConfigMap is written."""

    data: dict[str, str] = Field(default_factory=dict, description="Values, by key.")
    binary_data: dict[str, str] = Field(default_factory=dict, description="Not read here.")
    immutable: bool | None = Field(default=None, description="No effect here.")
