"""An agent as a member: its prompt first, then what was said, the user's input last."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from flowcompose.core.context import Context
from flowcompose.core.conversation import Conversation
from flowcompose.core.retry import Retry
from flowcompose.core.turn_input import TurnInput
from flowcompose.runner.teams.agent import Agent, talk
from flowcompose.runner.teams.failing import failing_as
from flowcompose.runner.teams.messages import from_openai, last_words, of_entries
from flowcompose.runner.teams.wording import Wording


class AgentBlock:
    """An agent as a block: a member of a team.

    Args:
        agent: Who answers.
        repeats_input: Whether the user's input opens the conversation too, as it does in
            selector teams of the last era.
    """

    async_only = False

    def __init__(self, agent: Agent, *, repeats_input: bool = False) -> None:
        self.agent = agent
        self.name = agent.name
        self.repeats_input = repeats_input

    def run(self, value: TurnInput, ctx: Context) -> dict[str, Any]:
        """Answer on the sync path."""
        said: list[BaseMessage] = []
        conversation = Conversation(ctx, ctx.config, Retry())
        with failing_as(partial(self.agent.failed, said), self.agent.redactor):
            conversation.run(talk(self.agent, self._request(value, ctx), said))
        return self._answer(said, ctx)

    async def arun(self, value: TurnInput, ctx: Context) -> dict[str, Any]:
        """Answer on the async path."""
        said: list[BaseMessage] = []
        conversation = Conversation(ctx, ctx.config, Retry())
        with failing_as(partial(self.agent.failed, said), self.agent.redactor):
            await conversation.arun(talk(self.agent, self._request(value, ctx), said))
        return self._answer(said, ctx)

    def _request(self, value: TurnInput, ctx: Context) -> list[BaseMessage]:
        wording = self.agent.wording
        asked = HumanMessage(wording.reveal(value.goal))
        heard = heard_in(ctx, wording, asked if self.repeats_input else None)
        return [*self.agent.system, *heard, asked]

    def _answer(self, said: list[BaseMessage], ctx: Context) -> dict[str, Any]:
        messages = self.agent.written(said)
        if ctx.acts.termination is not None:
            ctx.acts.termination = self.agent.redactor.clean(ctx.acts.termination)
        text = last_words(messages) if ctx.termination is None else ctx.termination
        return {"text": text, "messages": messages}


def heard_in(ctx: Context, wording: Wording, asked: BaseMessage | None) -> list[BaseMessage]:
    """Give what was said before a turn: outside of the team, and in it.

    Args:
        ctx: The turn.
        wording: What the user says.
        asked: The user's input, if it opens the conversation of the team.
    """
    opening = [] if asked is None else [asked]
    before = wording.revealed(ctx.history)
    return [*before, *opening, *from_openai(of_entries(ctx.contributions.raw))]
