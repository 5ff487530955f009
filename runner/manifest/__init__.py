"""ARK documents: loaded from files, checked together, with the place of every problem."""

from flowcompose.runner.manifest.documents import AnySpec, Document
from flowcompose.runner.manifest.durations import seconds
from flowcompose.runner.manifest.eras import ERAS, Compat, Era
from flowcompose.runner.manifest.kinds.agent import (
    AgentSpec,
    AgentToolSpec,
    FunctionSpec,
    InlineModel,
    ModelRef,
    PartialSpec,
)
from flowcompose.runner.manifest.kinds.model import (
    AnthropicConfig,
    AzureConfig,
    BedrockConfig,
    ModelConfig,
    ModelSpec,
    OpenAIConfig,
    ProviderConfig,
)
from flowcompose.runner.manifest.kinds.query import QuerySpec, TargetSpec
from flowcompose.runner.manifest.kinds.stored import ConfigMapSpec, SecretSpec
from flowcompose.runner.manifest.kinds.team import (
    EdgeSpec,
    GraphSpec,
    MemberSpec,
    SelectorSpec,
    TeamSpec,
)
from flowcompose.runner.manifest.kinds.tool import HttpSpec, McpSpec, ToolSpec
from flowcompose.runner.manifest.kinds.values import (
    HeaderSpec,
    KeyRef,
    LabelSelector,
    NameRef,
    ParameterSpec,
    ValueFrom,
    ValueSource,
)
from flowcompose.runner.manifest.loading import load, load_text
from flowcompose.runner.manifest.manifest import Manifest
from flowcompose.runner.manifest.schema import json_schema
from flowcompose.runner.manifest.templates import fill, is_placeholder

__all__ = [  # noqa: RUF022 - in groups, for reading
    # loading
    "load",
    "load_text",
    "Manifest",
    "Document",
    "AnySpec",
    "Era",
    "ERAS",
    "Compat",
    "json_schema",
    # texts and times
    "fill",
    "is_placeholder",
    "seconds",
    # Team
    "TeamSpec",
    "MemberSpec",
    "SelectorSpec",
    "GraphSpec",
    "EdgeSpec",
    # Agent
    "AgentSpec",
    "AgentToolSpec",
    "FunctionSpec",
    "InlineModel",
    "ModelRef",
    "PartialSpec",
    # Query
    "QuerySpec",
    "TargetSpec",
    "LabelSelector",
    # Model
    "ModelSpec",
    "ModelConfig",
    "ProviderConfig",
    "OpenAIConfig",
    "AzureConfig",
    "BedrockConfig",
    "AnthropicConfig",
    # Tool
    "ToolSpec",
    "HttpSpec",
    "McpSpec",
    # values
    "ValueSource",
    "ValueFrom",
    "KeyRef",
    "NameRef",
    "ParameterSpec",
    "HeaderSpec",
    # Secret and ConfigMap
    "SecretSpec",
    "ConfigMapSpec",
]
