"""An agent by itself as a team of one, so that what it does is its own: as a target, as a tool."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from flowcompose.core.block_tool import GraphTool
from flowcompose.core.blocks import Block
from flowcompose.core.context import Context
from flowcompose.core.handover import Lasting
from flowcompose.core.pattern import Pattern
from flowcompose.core.turn_input import TurnInput
from flowcompose.patterns.sequential import sequential
from flowcompose.patterns.turn_loop.policies import Visibility
from flowcompose.patterns.turn_loop.roster import RosterEntry
from flowcompose.runner.teams.agent import Agent
from flowcompose.runner.teams.agent_block import AgentBlock
from flowcompose.runner.teams.eras import Rules
from flowcompose.runner.teams.team import Team, TeamGraph

Saver = BaseCheckpointSaver[Any] | None


def alone(name: str, block: Block, saver: Saver = None) -> Pattern[Any]:
    """Give a team of one: it streams, is kept and resumed like any."""
    return sequential(
        name=name,
        roster=[RosterEntry(name, block=block)],
        checkpointer=saver,
        synthesizer_visibility=Visibility(history=False),
    )


class _AskedBlock(AgentBlock):
    """The agent of `AskedAgent`: its history is the one text that it is asked."""

    def _request(self, value: TurnInput, ctx: Context) -> list[BaseMessage]:
        return [*self.agent.system, *ctx.history]


class AskedAgent(TeamGraph, GraphTool):
    """An agent as a tool: it answers what it is asked in its own name, and hears nothing else.

    Args:
        agent: Who answers.
        rules: Those of the documents' era.
    """

    def __init__(self, agent: Agent, rules: Rules) -> None:
        super().__init__(alone(agent.name, _AskedBlock(agent)))
        self.team = Team(agent.name, agent.full_name, "agent", rules)
        self._shown = agent.redactor.clean

    def lasting(self, value: Any, ctx: Context) -> Lasting:
        """Hand over what is asked: a secret in it is for the agent, and for no state."""
        return Lasting(value, [HumanMessage(str(value))])

    def _given(self, value: Any, ctx: Context) -> dict[str, Any]:
        return {"goal": self._shown(str(value))}

    def read(
        self, output: object, given: dict[str, Any], ctx: Context, config: RunnableConfig
    ) -> dict[str, Any]:
        """Give the text that it answered."""
        return {"text": ctx.acts.said[-1]["text"]}
