"""The kind Tool: something an agent may use."""

from __future__ import annotations

from pydantic import Field

from flowcompose.runner.manifest.kinds.base import JsonObject, Listed, Spec
from flowcompose.runner.manifest.kinds.values import HeaderSpec, NameRef, ParameterSpec

BUILT_IN = ("noop", "terminate")
"""The tools that every agent may declare."""

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")


class HttpSpec(Spec):
    """A request that is made when the tool is used."""

    url: str = Field(
        default="", description="http or https; {name} is replaced by the argument, escaped."
    )
    method: str = Field(default="GET", description="GET, POST, PUT, DELETE or PATCH.")
    headers: Listed[HeaderSpec] = Field(default=(), description="Headers of the request.")
    timeout: str = Field(
        default="30s",
        description="How long it may take: a whole number with s, m or h; 0 is any time.",
    )
    body: str | None = Field(
        default=None, description="The body; {{.input.name}} is replaced by the argument."
    )
    body_parameters: Listed[ParameterSpec] = Field(
        default=(), description="Further values for {{.name}} in the body."
    )


class McpSpec(Spec):
    """A tool of an MCP server. It is not offered to the model here."""

    mcp_server_ref: NameRef | None = Field(default=None, description="The server.")
    tool_name: str = Field(default="", description="The tool's name there.")


class ToolSpec(Spec):
    """Something an agent may use."""

    type: str = Field(description="http, mcp, agent, team or builtin.")
    description: str = Field(default="", description="What the model is told of it.")
    input_schema: JsonObject | None = Field(
        default=None, description="A JSON Schema of its arguments."
    )
    annotations: JsonObject | None = Field(default=None, description="Hints; no effect here.")
    approval: JsonObject | None = Field(default=None, description="Not asked for here.")
    http: HttpSpec | None = Field(default=None, description="With the type http: the request.")
    mcp: McpSpec | None = Field(default=None, description="With the type mcp: the server's tool.")
    agent: NameRef | None = Field(default=None, description="With the type agent: who is asked.")
    team: NameRef | None = Field(default=None, description="With the type team: who is asked.")
    builtin: NameRef | None = Field(
        default=None, description="With the type builtin: noop or terminate."
    )
