"""Checking tools."""

from __future__ import annotations

import re
from typing import Final

from flowcompose.runner.manifest.checks.context import Context, listed
from flowcompose.runner.manifest.checks.schemas import schema_problem
from flowcompose.runner.manifest.checks.sources import check_headers, check_parameters
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.durations import seconds_of_tool
from flowcompose.runner.manifest.http_url import UrlTemplate
from flowcompose.runner.manifest.kinds.tool import BUILT_IN, METHODS, HttpSpec, McpSpec, ToolSpec
from flowcompose.runner.manifest.templates import BODY_FIELD, left_as_they_are

_TYPES: Final = ("http", "mcp", "agent", "team", "builtin")
_HOLE = re.compile(r"\(\$|\$\{|<[^<>]+>")


def check_tool(context: Context, tool: Document, spec: ToolSpec) -> None:
    """Note what is wrong with a tool."""
    problem = schema_problem(spec.input_schema) if spec.input_schema is not None else None
    if problem:
        context.error(tool, ("spec", "inputSchema"), f"invalid inputSchema: {problem}")
    match spec.type:
        case "http":
            _check_http(context, tool, spec.http)
        case "mcp":
            _check_mcp(context, tool, spec.mcp)
        case "agent" | "team":
            _check_asked(context, tool, spec)
        case "builtin":
            _check_builtin(context, tool, spec)
        case other:
            message = f"unsupported tool type '{other}': must be {listed(_TYPES)}"
            context.error(tool, ("spec", "type"), message)


def _check_http(context: Context, tool: Document, http: HttpSpec | None) -> None:
    path = ("spec", "http")
    if http is None:
        context.error(tool, path, "http spec is required for http type")
        return
    _check_url(context, tool, http.url)
    if http.method not in METHODS:
        supported = f"supported methods are {', '.join(METHODS)}"
        message = f"invalid HTTP method '{http.method}': {supported}"
        context.error(tool, (*path, "method"), message)
    try:
        seconds_of_tool(http.timeout)
    except ValueError as error:
        context.error(tool, (*path, "timeout"), str(error))
    check_headers(context, tool, (*path, "headers"), http.headers)
    check_parameters(context, tool, (*path, "bodyParameters"), http.body_parameters)
    for part in left_as_they_are(http.body or "", BODY_FIELD):
        filled = "only {{.input.name}}, {{.input}} and {{.name}} are filled in"
        context.warning(tool, (*path, "body"), f"{part} stays as it is: {filled}")


def _check_url(context: Context, tool: Document, url: str) -> None:
    path = ("spec", "http", "url")
    if not url:
        context.error(tool, path, "URL is required for http tool")
    elif problem := _problem_of_url(url):
        if _HOLE.search(url):
            context.warning(tool, path, "url is only a placeholder: put in where the tool is")
        else:
            # What follows a question mark may be a key.
            shown = re.split(r"[?#]", url)[0].rpartition("@")[2][:100]
            context.error(tool, path, f"invalid URL '{shown}': {problem}")


def _problem_of_url(url: str) -> str | None:
    try:
        UrlTemplate(url)
    except ValueError as error:
        return str(error)
    return None


def _check_mcp(context: Context, tool: Document, mcp: McpSpec | None) -> None:
    path = ("spec", "mcp")
    if mcp is None:
        context.error(tool, path, "MCP spec is required for mcp type")
        return
    if mcp.mcp_server_ref is None or not mcp.mcp_server_ref.name:
        context.error(tool, (*path, "mcpServerRef"), "MCP server name is required")
    if not mcp.tool_name:
        context.error(tool, (*path, "toolName"), "MCP tool name is required")
    context.elsewhere(tool, path, "MCP tools are not offered to the model here")


def _check_asked(context: Context, tool: Document, spec: ToolSpec) -> None:
    asked = spec.agent if spec.type == "agent" else spec.team
    path = ("spec", spec.type)
    if asked is None or not asked.name:
        context.error(tool, path, f"{spec.type} field is required for {spec.type} type")
        return
    message = context.missing(spec.type.capitalize(), asked.name, tool, (*path, "name"))
    if message:
        context.error(tool, (*path, "name"), f"references {spec.type}: {message}")


def _check_builtin(context: Context, tool: Document, spec: ToolSpec) -> None:
    name = spec.builtin.name if spec.builtin else tool.name
    if name not in BUILT_IN:
        supported = f"supported builtin tools are: {', '.join(BUILT_IN)}"
        message = f"unsupported builtin tool '{name}': {supported}"
        context.error(tool, ("spec", "builtin", "name"), message)
