"""The kind Agent: a prompt, a model, and tools."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from flowcompose.runner.manifest.kinds.base import JsonObject, Listed, Spec
from flowcompose.runner.manifest.kinds.values import LabelSelector, NameRef, ParameterSpec

TERMINATE: Final = ("terminate", "terminate_team")
"""What the terminate tool is called where an entry has no type, as on the page on round-robin."""


class ModelRef(NameRef):
    """A Model, by its name."""


class InlineModel(Spec):
    """A model that is named in the agent itself, as the page on round-robin writes it."""

    name: str = Field(description="The model, such as gpt-4; a Model of that name is preferred.")
    type: str | None = Field(default=None, description="Its provider, such as openai.")


class FunctionSpec(Spec):
    """A filter on what a tool gives. It is not applied here."""

    name: str = Field(description="The name of the filter.")
    value: str = Field(default="", description="Its expression.")


class PartialSpec(Spec):
    """A tool with arguments that the model does not choose."""

    name: str | None = Field(
        default=None, description="The Tool; the entry's name is then what the model sees."
    )
    parameters: Listed[ParameterSpec] = Field(default=(), description="The arguments that are set.")


class AgentToolSpec(Spec):
    """A tool that an agent may use."""

    type: str | None = Field(
        default=None, description="built-in, custom, mcp, http, agent, team or builtin."
    )
    name: str = Field(default="", description="noop or terminate, or the name of a Tool.")
    description: str | None = Field(
        default=None, description="What the model is told of it, in place of the tool's own."
    )
    functions: Listed[FunctionSpec] = Field(default=(), description="Filters; not applied here.")
    partial: PartialSpec | None = Field(default=None, description="Arguments that are set.")
    approval: JsonObject | None = Field(default=None, description="Not asked for here.")
    label_selector: LabelSelector | None = Field(
        default=None, description="Tools by their labels, in place of a name (v0.1.31)."
    )

    @property
    def tool(self) -> str:
        """The name of the Tool document."""
        return (self.partial.name if self.partial else None) or self.name


class AgentSpec(Spec):
    """An agent: what it is told, which model answers, which tools it has."""

    prompt: str = Field(default="", description="The system prompt; a template if parameters are.")
    description: str = Field(default="", description="What it is for; selectors read it.")
    model_ref: ModelRef | None = Field(
        default=None, description="The Model that answers; the one named `default` if not given."
    )
    model: InlineModel | None = Field(
        default=None, description="The model itself, as the page on round-robin writes it."
    )
    tools: Listed[AgentToolSpec] = Field(default=(), description="What it may use.")
    parameters: Listed[ParameterSpec] = Field(
        default=(), description="Values for {{.name}} in the prompt."
    )
    output_schema: JsonObject | None = Field(
        default=None, description="A JSON Schema that its answer must fit."
    )
    execution_engine: NameRef | None = Field(
        default=None, description="Another system that runs the agent; ignored here."
    )
