"""Checking the tools that agents have."""

from __future__ import annotations

from typing import Final

from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.checks.sources import check_parameters
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.kinds.agent import TERMINATE, AgentToolSpec
from flowcompose.runner.manifest.kinds.tool import BUILT_IN
from flowcompose.runner.manifest.marks import Path

_NAMED: Final = ("custom", "mcp", "http", "agent", "team", "builtin")


def check_agent_tool(context: Context, agent: Document, tool: AgentToolSpec, index: int) -> None:
    """Note what is wrong with a tool of an agent."""
    path = ("spec", "tools", index)
    match tool.type:
        case None:
            _check_untyped(context, agent, path, tool, index)
        case "built-in":
            _check_built_in(context, agent, path, tool, index)
        case kind if kind in _NAMED:
            _check_named(context, agent, path, tool, f"tool[{index}]", kind)
        case other:
            message = f"tool[{index}]: unsupported tool type '{other}': supported types are: "
            context.error(agent, (*path, "type"), message + ", ".join(("built-in", *_NAMED)))
    _check_extras(context, agent, path, tool)


def _check_untyped(
    context: Context, agent: Document, path: Path, tool: AgentToolSpec, index: int
) -> None:
    if not tool.tool:
        message = f"tool[{index}]: a type and a name must be given"
        context.error(agent, path, message)
        return
    if tool.name in TERMINATE:
        message = f"tool[{index}] '{tool.name}' has no type: taken for the terminate tool"
        context.warning(agent, path, message)
        return
    message = f"tool[{index}] '{tool.name}' has no type: taken for a custom one"
    context.warning(agent, path, message)
    _check_named(context, agent, path, tool, f"tool[{index}]", "custom")


def _check_built_in(
    context: Context, agent: Document, path: Path, tool: AgentToolSpec, index: int
) -> None:
    if not tool.name:
        context.error(agent, path, f"tool[{index}]: built-in tools must specify a name")
    elif tool.name not in BUILT_IN:
        supported = "supported built-in tools are: noop, terminate"
        message = f"tool[{index}]: unsupported built-in tool '{tool.name}': {supported}"
        context.error(agent, (*path, "name"), message)


def _check_named(
    context: Context, agent: Document, path: Path, tool: AgentToolSpec, which: str, kind: str
) -> None:
    if not tool.tool:
        _check_selected(context, agent, path, tool, f"{which}: {kind} tools")
        return
    message = context.missing("Tool", tool.tool, agent, (*path, "name"))
    if message is None or (kind == "builtin" and tool.tool in BUILT_IN):
        return
    if kind == "mcp":
        unavailable = "MCP tools are not offered to the model here"
        context.elsewhere(agent, (*path, "name"), f"{which}: {unavailable}")
    else:
        context.error(agent, (*path, "name"), f"{which}: {message}")


def _check_selected(
    context: Context, agent: Document, path: Path, tool: AgentToolSpec, which: str
) -> None:
    """Note tools that have no name, nor labels by which they are found."""
    if tool.label_selector is None:
        context.error(agent, path, f"{which} must specify a name")
    elif not any(context.loaded.fitting("Tool", tool.label_selector, agent)):
        message = "labelSelector fits none of the tools that are loaded"
        context.warning(agent, (*path, "labelSelector"), message)


def _check_extras(context: Context, agent: Document, path: Path, tool: AgentToolSpec) -> None:
    if tool.functions:
        message = "functions are not applied: the model is given all that the tool gives"
        context.warning(agent, (*path, "functions"), message)
    if tool.approval:
        message = "approval is not asked for: the tool is used at once"
        context.warning(agent, (*path, "approval"), message)
    if tool.partial:
        base = (*path, "partial", "parameters")
        check_parameters(context, agent, base, tool.partial.parameters)
