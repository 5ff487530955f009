"""What a Query may ask: an agent, a team, a model or a tool, each as a pattern."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from langchain_core.tools import BaseTool

from flowcompose.core.blocks import Block
from flowcompose.core.calling import called_by
from flowcompose.core.context import Context
from flowcompose.core.pattern import Pattern
from flowcompose.core.turn_input import TurnInput
from flowcompose.core.untyped import mapping_of
from flowcompose.runner.teams.agent import Agent
from flowcompose.runner.teams.agent_block import AgentBlock
from flowcompose.runner.teams.asked import Saver, alone
from flowcompose.runner.teams.compiler import Compiler
from flowcompose.runner.teams.failing import TurnError, failing_as, failure_of, words_of
from flowcompose.runner.teams.team import Team

Target = tuple[Team, Pattern[Any]]


def target(compiler: Compiler, kind: str, name: str, namespace: str, saver: Saver) -> Target:
    """Give what answers for a target, and the pattern that is to be run.

    Raises:
        DefinitionError: There is no such thing among the documents.
    """
    if kind == "team":
        return compiler.team(name, namespace, saver)
    make: dict[str, Callable[[], Block]] = {
        "agent": lambda: AgentBlock(compiler.agent(name, namespace)),
        "model": lambda: AgentBlock(_bare(compiler, name, namespace)),
        "tool": lambda: ToolBlock(compiler.tool(name, namespace), compiler),
    }
    team = Team(name, f"{namespace}/{name}", kind, compiler.rules)
    return team, alone(name, make[kind](), saver)


def _bare(compiler: Compiler, name: str, namespace: str) -> Agent:
    """A model that is asked directly is an agent without a prompt."""
    return Agent(
        name=name,
        full_name=f"{namespace}/{name}",
        prompt="",
        model=partial(compiler.model, None, name),
        make_tools=list[BaseTool],
        asking=lambda model, tools: model,
        redactor=compiler.redactor,
        wording=compiler.wording,
    )


class ToolBlock:
    """A tool that is called with the input: JSON arguments, or a text for `input`."""

    async_only = False

    def __init__(self, tool: BaseTool, compiler: Compiler) -> None:
        self.tool = tool
        self.name = tool.name
        self._compiler = compiler

    def run(self, value: TurnInput, ctx: Context) -> str:
        """Call it."""
        with failing_as(self._failed, self._compiler.redactor):
            return str(self.tool.invoke(self._arguments(value), called_by(ctx)))

    async def arun(self, value: TurnInput, ctx: Context) -> str:
        """Call it on the async path."""
        with failing_as(self._failed, self._compiler.redactor):
            return str(await self.tool.ainvoke(self._arguments(value), called_by(ctx)))

    def _failed(self, error: Exception) -> TurnError:
        words = words_of(error, self.name)
        return failure_of(f"tool {self.name}", error, self._compiler.redactor, words=words)

    def _arguments(self, value: TurnInput) -> dict[str, Any]:
        text = self._compiler.wording.reveal(value.goal)
        with suppress(json.JSONDecodeError, RecursionError):
            given = mapping_of(json.loads(text))
            if given is not None:
                return given
        return {"input": text}
