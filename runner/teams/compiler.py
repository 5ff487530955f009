"""From Team documents to teams that work together, with all that are in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from flowcompose.core.blocks import Block
from flowcompose.core.pattern import Pattern
from flowcompose.runner.manifest import Document
from flowcompose.runner.manifest.kinds.team import MemberSpec, SelectorSpec, TeamSpec
from flowcompose.runner.teams.agent_block import AgentBlock
from flowcompose.runner.teams.agent_compiler import AgentCompiler
from flowcompose.runner.teams.asked import AskedAgent
from flowcompose.runner.teams.choosers import AgentChooser, Chooser, ModelChooser, ToolChooser
from flowcompose.runner.teams.plan import TeamPlan, plan_of
from flowcompose.runner.teams.selecting import SelectingBlock, Selection
from flowcompose.runner.teams.selector_prompt import TERMINATE, default_prompt
from flowcompose.runner.teams.strategies import build
from flowcompose.runner.teams.team import Team, TeamBlock, TeamTool


@dataclass(frozen=True)
class Compiler(AgentCompiler):
    """Makes agents and teams of documents."""

    def team(
        self, name: str, namespace: str, checkpointer: BaseCheckpointSaver[Any] | None = None
    ) -> tuple[Team, Pattern[Any]]:
        """Give a team, and the pattern that it runs.

        Raises:
            DefinitionError: There is none.
        """
        document = self.document("Team", name, namespace)
        namespace = document.namespace
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
            names={each: member.name for each, member in plan.members.items()},
            names_failed_member=plan.strategy == "loops" and self.rules.names_failed_member,
        )
        return team, build(plan, blocks, about, selecting, checkpointer)

    def asked(self, namespace: str, kind: str, name: str) -> Block:
        """Give an agent or a team as a tool has it."""
        if kind == "team":
            return TeamTool(*self.team(name, namespace))
        return AskedAgent(self.agent(name, namespace), self.rules)

    def _member(self, member: MemberSpec, namespace: str, plan: TeamPlan) -> Block:
        repeats = plan.strategy == "selector" and self.rules.selects_by_tool
        if self.manifest.loaded.type_of(member, namespace) == "team":
            team, pattern = self.team(member.name, namespace)
            return TeamBlock(team, pattern, wording=self.wording, repeats_input=repeats)
        return AgentBlock(self.agent(member.name, namespace), repeats_input=repeats)

    def _about(self, member: MemberSpec, namespace: str) -> str:
        kind = self.manifest.loaded.type_of(member, namespace).capitalize()
        return self.document(kind, member.name, namespace).description

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


def _team_spec(document: Document) -> TeamSpec:
    if not isinstance(document.spec, TeamSpec):
        raise TypeError(document)
    return document.spec
