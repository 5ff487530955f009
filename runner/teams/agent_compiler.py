"""From Agent documents to the agents that they become wherever they work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from flowcompose.core.blocks import Block
from flowcompose.core.errors import DefinitionError
from flowcompose.runner.agents.endpoint import Endpoint, model_for
from flowcompose.runner.agents.output_schema import bind
from flowcompose.runner.agents.tools import tools_for
from flowcompose.runner.manifest import Document, Manifest, fill
from flowcompose.runner.manifest.kinds.agent import AgentSpec, AgentToolSpec
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams.agent import Agent
from flowcompose.runner.teams.eras import RULES, Rules
from flowcompose.runner.teams.wording import Wording

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Key = tuple[str, str]
"""A namespace and a name."""


@dataclass(frozen=True)
class AgentCompiler(ABC):
    """Makes agents of documents, each once, with their models and tools."""

    manifest: Manifest
    endpoint: Endpoint
    """What the command line says of models."""
    redactor: Redactor
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    """Those of the query, which agents may ask for."""
    wording: Wording = field(default_factory=Wording)
    """The user's input."""
    _agents: dict[Key, Agent] = field(default_factory=dict[Key, Agent], init=False)

    @property
    def rules(self) -> Rules:
        """Those of the documents' era."""
        return RULES[self.manifest.era]

    @abstractmethod
    def asked(self, namespace: str, kind: str, name: str) -> Block:
        """Give an agent or a team as a tool has it: it works on a text, and hears nothing else."""

    def agent(self, name: str, namespace: str) -> Agent:
        """Give an agent by name.

        Raises:
            DefinitionError: There is none.
        """
        key = (namespace, name)
        if key not in self._agents:
            self._agents[key] = self._agent_of(self.document("Agent", name, namespace))
        return self._agents[key]

    def document(self, kind: str, name: str, namespace: str) -> Document:
        """Find a document.

        Raises:
            DefinitionError: There is none that can be used.
        """
        found = self.manifest.find(kind, name, namespace)
        if found is None or found.spec is None:
            there = ", ".join(sorted(each.name for each in self.manifest.of_kind(kind))) or "none"
            problem = f"no {kind} {name!r} is among the documents; there is: {there}"
            raise DefinitionError(f"{kind} {name!r}", [problem])
        return found

    def model(self, document: Document | None, ref: str | None) -> BaseChatModel:
        """Give the model of an agent, or one by its name; neither is the default one.

        Raises:
            DefinitionError: There is none, and the command line says nothing of it.
        """
        return model_for(self.manifest, document, self.endpoint, ref, self.redactor)

    def tool(self, name: str, namespace: str) -> BaseTool:
        """Give a tool by name, as an agent would have it.

        Raises:
            DefinitionError: There is none that can be used here.
        """
        document = self.document("Tool", name, namespace)
        having = AgentSpec(tools=(AgentToolSpec(type="custom", name=name),))
        tools = self._tools(replace(document, spec=having))
        if not tools:
            raise DefinitionError(f"Tool {name!r}", ["tools of MCP servers cannot be used here"])
        return tools[0]

    def _agent_of(self, document: Document) -> Agent:
        spec = document.spec
        if not isinstance(spec, AgentSpec):
            raise TypeError(document)
        name, namespace = document.name, document.namespace
        return Agent(
            name=name,
            full_name=f"{namespace}/{name}",
            prompt=self._prompt(spec, namespace),
            model=partial(self.model, document, None),
            make_tools=partial(self._tools, document),
            asking=partial(_asking, spec, f"namespace-{namespace}-agent-{name}"),
            redactor=self.redactor,
            wording=self.wording,
            lacks=tuple(self.manifest.lacks_of(spec.parameters, self.parameters, namespace)),
        )

    def _prompt(self, spec: AgentSpec, namespace: str) -> str:
        """Fill in the parameters, where any are declared; a prompt without is taken as it is."""
        if not spec.parameters:
            return spec.prompt
        return fill(
            spec.prompt, self.manifest.parameters_of(spec.parameters, self.parameters, namespace)
        )

    def _tools(self, document: Document) -> Sequence[BaseTool]:
        return tools_for(self.manifest, document, ask=self.asked, parameters=self.parameters)


def _asking(
    spec: AgentSpec, name: str, model: BaseChatModel, tools: Sequence[BaseTool]
) -> Runnable[Any, Any]:
    """Bind a model to the tools and the form of answers of an agent."""
    bound: Runnable[Any, Any] = model.bind_tools(tools) if tools else model
    return bound if spec.output_schema is None else bind(bound, spec.output_schema, name)
