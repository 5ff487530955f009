"""From documents to agents and teams that work together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver

from flowcompose.core.blocks import Block
from flowcompose.core.errors import DefinitionError
from flowcompose.core.pattern import Pattern
from flowcompose.runner.agents.endpoint import Endpoint, model_for
from flowcompose.runner.agents.output_schema import bind
from flowcompose.runner.agents.tools import tools_for
from flowcompose.runner.manifest import Document, Manifest, fill
from flowcompose.runner.manifest.kinds.agent import AgentSpec, AgentToolSpec
from flowcompose.runner.manifest.kinds.team import MemberSpec, SelectorSpec, TeamSpec
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams.agent import Agent, AgentBlock
from flowcompose.runner.teams.choosers import AgentChooser, Chooser, ModelChooser, ToolChooser
from flowcompose.runner.teams.eras import RULES, Rules
from flowcompose.runner.teams.selecting import SelectingBlock, Selection
from flowcompose.runner.teams.selector_prompt import TERMINATE, default_prompt
from flowcompose.runner.teams.strategies import TeamPlan, build, plan_of
from flowcompose.runner.teams.team import Team, TeamBlock, TeamTool
from flowcompose.runner.teams.wording import Wording

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Key = tuple[str, str]
"""A namespace and a name."""


@dataclass(frozen=True)
class Compiler:
    """Makes members of documents, each agent once."""

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

    def agent(self, name: str, namespace: str) -> Agent:
        """Give an agent by name.

        Raises:
            DefinitionError: There is none.
        """
        key = (namespace, name)
        if key not in self._agents:
            self._agents[key] = self._agent_of(self.document("Agent", name, namespace))
        return self._agents[key]

    def team(
        self, name: str, namespace: str, checkpointer: BaseCheckpointSaver[Any] | None = None
    ) -> tuple[Team, Pattern[Any]]:
        """Give a team, and the pattern that it runs.

        Raises:
            DefinitionError: There is none.
        """
        document = self.document("Team", name, namespace)
        plan = plan_of(name, _team_spec(document), self.rules)
        blocks = {
            each: self._member(member, namespace, plan) for each, member in plan.members.items()
        }
        about = {each: self._about(m, namespace) for each, m in plan.members.items()}
        selecting = self._selecting(plan, about, namespace) if plan.strategy == "selector" else None
        team = Team(
            name=name,
            full_name=f"{namespace}/{name}",
            strategy=plan.spec.strategy,
            rules=self.rules,
            cap=plan.max_turns or plan.cap,
            turns=plan.cap,
            names_failed_member=plan.strategy == "loops" and self.rules.names_failed_member,
        )
        return team, build(plan, blocks, about, selecting, checkpointer)

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

    def kind_of(self, member: MemberSpec, namespace: str) -> str:
        """Give `agent` or `team`; a member that does not say is what there is of its name."""
        if member.type is not None:
            return member.type
        find = self.manifest.find
        is_team = find("Team", member.name, namespace) is not None
        return "team" if is_team and find("Agent", member.name, namespace) is None else "agent"

    def _asked(self, namespace: str, kind: str, name: str) -> Block:
        """Give an agent or a team as a tool has it: it works on a text, and hears nothing else."""
        if kind == "team":
            return TeamTool(*self.team(name, namespace))
        return AgentBlock(self.agent(name, namespace))

    def model(self, document: Document | None, ref: str | None) -> BaseChatModel:
        """Give the model of an agent, or one by its name; neither is the default one.

        Raises:
            DefinitionError: There is none, and the command line says nothing of it.
        """
        return model_for(self.manifest, document, self.endpoint, ref)

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

    def _member(self, member: MemberSpec, namespace: str, plan: TeamPlan) -> Block:
        repeats = plan.strategy == "selector" and self.rules.selects_by_tool
        if self.kind_of(member, namespace) == "team":
            team, pattern = self.team(member.name, namespace)
            return TeamBlock(team, pattern, wording=self.wording, repeats_input=repeats)
        return AgentBlock(self.agent(member.name, namespace), repeats_input=repeats)

    def _about(self, member: MemberSpec, namespace: str) -> str:
        kind = self.kind_of(member, namespace).capitalize()
        return str(getattr(self.document(kind, member.name, namespace).spec, "description", ""))

    def _agent_of(self, document: Document) -> Agent:
        spec = document.spec
        if not isinstance(spec, AgentSpec):
            raise TypeError(document)
        full_name = f"{document.namespace}/{document.name}"
        return Agent(
            name=document.name,
            full_name=full_name,
            description=spec.description,
            prompt=self._prompt(spec, document.namespace),
            model=partial(self.model, document, None),
            make_tools=partial(self._tools, document),
            asking=partial(_asking, spec, f"namespace-{document.namespace}-agent-{document.name}"),
            redactor=self.redactor,
            reveal=self.wording.reveal,
        )

    def _prompt(self, spec: AgentSpec, namespace: str) -> str:
        """Fill in the parameters, where any are declared; a prompt without is taken as it is."""
        if not spec.parameters:
            return spec.prompt
        return fill(
            spec.prompt, self.manifest.parameters_of(spec.parameters, self.parameters, namespace)
        )

    def _tools(self, document: Document) -> Sequence[BaseTool]:
        ask = partial(self._asked, document.namespace)
        return tools_for(self.manifest, document, ask=ask)

    def _selecting(
        self, plan: TeamPlan, about: Mapping[str, str], namespace: str
    ) -> SelectingBlock:
        spec = plan.spec.selector or SelectorSpec()
        by_tool = self.rules.selects_by_tool
        selection = Selection(
            members=about,
            rules=self.rules,
            chooser=self._chooser(spec, namespace),
            template=spec.selector_prompt or default_prompt(by_tool=by_tool),
            openers=plan.openers,
            constrained=plan.constrained,
            redactor=self.redactor,
            wording=self.wording,
        )
        return SelectingBlock(selection)

    def _chooser(self, spec: SelectorSpec, namespace: str) -> Chooser:
        if spec.agent is None or not self.rules.agents_select:
            return ModelChooser(partial(self.model, None, spec.model))
        agent = self.agent(spec.agent, namespace)
        if not self.rules.selects_by_tool:
            return AgentChooser(agent)
        told = spec.terminate_prompt or TERMINATE
        return ToolChooser(agent, told if spec.enable_terminate_tool else None)


def _asking(
    spec: AgentSpec, name: str, model: BaseChatModel, tools: Sequence[BaseTool]
) -> Runnable[Any, Any]:
    """Bind a model to the tools and the form of answers of an agent."""
    bound: Runnable[Any, Any] = model.bind_tools(tools) if tools else model
    return bound if spec.output_schema is None else bind(bound, spec.output_schema, name)


def _team_spec(document: Document) -> TeamSpec:
    if not isinstance(document.spec, TeamSpec):
        raise TypeError(document)
    return document.spec
