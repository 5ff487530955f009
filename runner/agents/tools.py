"""The tools that an Agent document declares, as LangChain's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from langchain_core.tools import BaseTool

from flowcompose.core.blocks import Block
from flowcompose.core.errors import DefinitionError
from flowcompose.runner.agents.ask_tool import ask_tool
from flowcompose.runner.agents.builtin_tools import builtin_tool
from flowcompose.runner.agents.http_document import http_call
from flowcompose.runner.agents.http_tool import HttpTool
from flowcompose.runner.agents.partial_tool import with_arguments
from flowcompose.runner.manifest.kinds.agent import TERMINATE, AgentSpec, AgentToolSpec
from flowcompose.runner.manifest.kinds.tool import BUILT_IN, HttpSpec, ToolSpec

if TYPE_CHECKING:
    from flowcompose.runner.manifest import Document, Manifest

Ask = Callable[[str, str, str], Block]
"""Gives an agent or a team: the namespace that asks, its kind (`agent`, `team`) and its name."""

_BUILTIN_TYPES = ("built-in", "builtin")
_ASKED = ("agent", "team")


def tools_for(
    manifest: Manifest,
    agent: Document,
    *,
    ask: Ask,
    parameters: Mapping[str, str] = MappingProxyType({}),
) -> list[BaseTool]:
    """Give the tools of an agent, without those that cannot be had here (of MCP servers).

    Args:
        manifest: The documents.
        agent: The Agent document.
        ask: Gives the agents and teams that are tools; called when one is first used.
        parameters: Those of the query, which tools may ask for.

    Raises:
        DefinitionError: A tool is not among the documents, its request cannot be made, or an
            argument that is set has no value.
    """
    spec = agent.spec
    if not isinstance(spec, AgentSpec):
        return []
    maker = _Maker(manifest, agent, ask, parameters)
    entries = [each for entry in spec.tools for each in maker.named(entry)]
    made = [(entry, maker.made(entry)) for entry in entries]
    return [maker.finished(entry, each) for entry, each in made if each is not None]


@dataclass(frozen=True)
class _Maker:
    manifest: Manifest
    agent: Document
    ask: Ask
    parameters: Mapping[str, str]

    def named(self, entry: AgentToolSpec) -> Iterator[AgentToolSpec]:
        """Give an entry, or one for each tool that it means by its labels."""
        if entry.name or entry.label_selector is None:
            yield entry
            return
        for each in self.manifest.loaded.fitting("Tool", entry.label_selector, self.agent):
            yield entry.model_copy(update={"name": each.name})

    def made(self, entry: AgentToolSpec) -> BaseTool | None:
        """Give the tool of an entry; None if it cannot be had here."""
        told = entry.description or ""
        if entry.type in _BUILTIN_TYPES and entry.tool in BUILT_IN:
            return builtin_tool(entry.tool, entry.name, told)
        document = self.manifest.find("Tool", entry.tool, self.agent.namespace)
        if document is not None and isinstance(document.spec, ToolSpec):
            return self._of_document(entry, document, document.spec)
        if entry.type in _ASKED:
            return self._asked(self.agent, entry.type, entry.tool, entry.name, told)
        if entry.type is None and entry.tool in TERMINATE:
            return builtin_tool("terminate", entry.name, told)
        if entry.type == "mcp":
            return None
        raise self._error(entry.name, f"no Tool {entry.tool!r} is among the documents")

    def finished(self, entry: AgentToolSpec, made: BaseTool) -> BaseTool:
        """Give it with the arguments set that the entry sets."""
        declared = entry.partial.parameters if entry.partial else ()
        # A model that chose an argument in place of one that is set would do what it must not.
        if lacks := self.manifest.lacks_of(declared, self.parameters, self.agent.namespace):
            raise self._error(entry.name, *lacks)
        values = self.manifest.parameters_of(declared, self.parameters, self.agent.namespace)
        return with_arguments(made, values) if values else made

    def _of_document(
        self, entry: AgentToolSpec, document: Document, spec: ToolSpec
    ) -> BaseTool | None:
        told = entry.description or spec.description
        if spec.type == "http" and spec.http:
            return self._http(entry.name, told, document, spec, spec.http)
        if spec.type in _BUILTIN_TYPES:
            kind = spec.builtin.name if spec.builtin else document.name
            if kind not in BUILT_IN:
                raise self._error(entry.name, f"there is no built-in tool {kind!r}")
            return builtin_tool(kind, entry.name, told)
        named = spec.agent or spec.team
        if spec.type in _ASKED and named:
            return self._asked(document, spec.type, named.name, entry.name, told)
        return None

    def _asked(self, referrer: Document, kind: str, asked: str, name: str, told: str) -> BaseTool:
        namespace = referrer.namespace
        document = self.manifest.find(kind.capitalize(), asked, namespace)
        own = document.description if document else ""
        return ask_tool(
            name,
            told or own or f"Ask the {kind} {asked}",
            partial(self.ask, namespace, kind, asked),
        )

    def _http(
        self, name: str, told: str, document: Document, spec: ToolSpec, http: HttpSpec
    ) -> BaseTool:
        try:
            call, schema = http_call(
                self.manifest, document.namespace, http, spec.input_schema, self.parameters
            )
        except ValueError as error:
            raise self._error(document.name, str(error)) from None
        told = told or f"HTTP request to {call.url.origin}"
        return HttpTool(name=name, description=told, args_schema=schema, call=call)

    def _error(self, tool: str, *problems: str) -> DefinitionError:
        return DefinitionError(f"tool {tool!r} of agent {self.agent.name!r}", problems)
