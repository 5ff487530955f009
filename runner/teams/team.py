"""A Team document: what its pattern says, and the team as a member of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

from flowcompose.core.block_tool import GraphTool
from flowcompose.core.context import Context
from flowcompose.core.errors import MemberError, RunError
from flowcompose.core.graph_block import GraphBlock
from flowcompose.core.handover import Lasting
from flowcompose.core.pattern import Pattern
from flowcompose.core.results import Result, Stop
from flowcompose.core.untyped import mapping_of
from flowcompose.resources.contributions import Entry
from flowcompose.runner.teams.agent_block import heard_in
from flowcompose.runner.teams.closing import closing
from flowcompose.runner.teams.eras import Rules
from flowcompose.runner.teams.failing import TurnError, left_of, told_of
from flowcompose.runner.teams.messages import (
    Message,
    last_text,
    last_words,
    of_contributions,
    of_entries,
)
from flowcompose.runner.teams.reports import Reported
from flowcompose.runner.teams.wording import Wording


@dataclass(frozen=True)
class Team:
    """What is known of a team besides its pattern."""

    name: str
    full_name: str
    """With its namespace, for errors."""
    strategy: str
    rules: Rules
    cap: int | None = None
    """Turns at most, as the document counts them."""
    turns: int | None = None
    """Turns at most."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names of its members in the documents, by those that they have in the pattern."""
    names_failed_member: bool = False
    """Whether its errors say which member failed."""

    @property
    def at_cap(self) -> str:
        """What is said where reaching the cap is an error."""
        if self.strategy == "graph":
            return f"team graph MaxTurns {self.cap} reached for team {self.name}"
        return f"team {self.strategy} MaxTurns reached {self.name}"

    def messages(self, said: list[Message], stop: Stop) -> list[Message]:
        """Give all messages of a run that came to its end."""
        return [*said, *closing(stop, self.rules, self.cap)]

    def content(self, messages: Sequence[Message]) -> str:
        """Give the text that counts as the answer."""
        return (last_words if self.rules.content == "last_words" else last_text)(messages)

    def told_of(self, error: BaseException) -> str:
        """Say what went wrong."""
        told = told_of(error, self.at_cap)
        if self.names_failed_member and isinstance(error, MemberError):
            member = self.names.get(error.agent_name, error.agent_name)
            return f"agent {member} failed in team {self.full_name}: {told}"
        return told

    def report(self, result: Result[Any] | None, error: BaseException | None = None) -> Reported:
        """Tell what a run left, see `reports.Report`."""
        if error is not None and isinstance(error, Exception):
            return Reported(left_of(error), "", self.told_of(error))
        if result is None:
            return Reported([], "", None)
        said = self.messages(of_contributions(result.contributions), result.stop)
        return Reported(said, self.content(said), None)


class TeamGraph(GraphBlock):
    """A team inside of another run: all that it says is kept, also where it fails."""

    team: Team

    def run(self, value: Any, ctx: Context) -> Any:
        """Run the team."""
        try:
            return super().run(value, ctx)
        except RunError as error:
            raise TurnError(self.team.told_of(error), left_of(error)) from error

    async def arun(self, value: Any, ctx: Context) -> Any:
        """Run the team on the async path."""
        try:
            return await super().arun(value, ctx)
        except RunError as error:
            raise TurnError(self.team.told_of(error), left_of(error)) from error

    def read(
        self, output: object, given: dict[str, Any], ctx: Context, config: RunnableConfig
    ) -> dict[str, Any]:
        """Give all that was said inside, and the text that counts."""
        stop = Stop.model_validate((mapping_of(output) or {})["stop"])
        entries: Sequence[Entry] = ctx.acts.said
        messages = self.team.messages(of_entries(entries), stop)
        return {"text": self.team.content(messages), "messages": messages}


class TeamBlock(TeamGraph):
    """A team as a member: it hears all that was said around it.

    Args:
        team: Which one.
        pattern: What it runs.
        wording: The user's input.
        repeats_input: Whether the user's input opens the conversation of the team around it.
    """

    def __init__(
        self, team: Team, pattern: Pattern[Any], *, wording: Wording, repeats_input: bool = False
    ) -> None:
        super().__init__(pattern)
        self.team = team
        self.wording = wording
        self.repeats_input = repeats_input

    def lasting(self, value: Any, ctx: Context) -> Lasting:
        """Hand over the conversation with all its messages, tool calls included."""
        asked = HumanMessage(self.wording.reveal(ctx.goal)) if self.repeats_input else None
        return Lasting(value, heard_in(ctx, self.wording, asked))


class TeamTool(TeamGraph, GraphTool):
    """A team as a tool: it works on what it is asked, and hears nothing else."""

    def __init__(self, team: Team, pattern: Pattern[Any]) -> None:
        super().__init__(pattern)
        self.team = team

    def lasting(self, value: Any, ctx: Context) -> Lasting:
        """Hand over nothing of what was said around the agent that asks."""
        return Lasting(value, [])
