"""An Agent document as a member: its prompt first, then what was said, the user's input last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from flowcompose.core.context import Context
from flowcompose.core.conversation import AskModel, Conversation, Steps, UseTools
from flowcompose.core.retry import Retry
from flowcompose.core.toolbox import Called, Toolbox
from flowcompose.core.turn_input import TurnInput
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams.failing import TurnError, failing_as, failure_of
from flowcompose.runner.teams.messages import (
    Message,
    cleaned,
    from_openai,
    last_words,
    of_entries,
    to_openai,
)
from flowcompose.runner.teams.wording import Wording

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

MAX_TOOL_ROUNDS = 50
"""Answers with tool calls in one turn, after which an agent has lost its way."""

Asking = Callable[["BaseChatModel", Sequence[BaseTool]], Runnable[Any, Any]]
"""Binds a model to tools, and to a form for its answers."""


@dataclass(frozen=True)
class Agent:
    """What is known of an agent, wherever it works."""

    name: str
    full_name: str
    """With its namespace, for errors."""
    description: str
    prompt: str
    """Filled in."""
    model: Callable[[], BaseChatModel]
    make_tools: Callable[[], Sequence[BaseTool]]
    asking: Asking
    redactor: Redactor
    wording: Wording

    @cached_property
    def toolbox(self) -> Toolbox:
        """Its tools; made late, since a tool may be a team in which it works."""
        return Toolbox(self.make_tools(), self.redactor.clean_json)

    @property
    def system(self) -> list[BaseMessage]:
        """What its requests begin with."""
        return [SystemMessage(self.prompt)] if self.prompt else []

    def failed(self, said: Sequence[BaseMessage], error: Exception) -> TurnError:
        """Give the failure of a turn, which keeps what was said in it."""
        what = f"agent {self.full_name} execution"
        return failure_of(what, error, self.redactor, self.written(said))

    def written(self, said: Sequence[BaseMessage]) -> list[Message]:
        """Give messages as state may hold them."""
        return [cleaned(message, self.redactor) for message in to_openai(said, self.name)]


class AgentBlock:
    """An agent as a block: a member of a team, or a tool that takes a text.

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

    def run(self, value: Any, ctx: Context) -> dict[str, Any]:
        """Answer on the sync path."""
        said: list[BaseMessage] = []
        conversation = Conversation(ctx, ctx.config, Retry())
        with failing_as(partial(self.agent.failed, said)):
            conversation.run(talk(self.agent, self._request(value, ctx), said))
        return self._answer(said, ctx)

    async def arun(self, value: Any, ctx: Context) -> dict[str, Any]:
        """Answer on the async path."""
        said: list[BaseMessage] = []
        conversation = Conversation(ctx, ctx.config, Retry())
        with failing_as(partial(self.agent.failed, said)):
            await conversation.arun(talk(self.agent, self._request(value, ctx), said))
        return self._answer(said, ctx)

    def _request(self, value: Any, ctx: Context) -> list[BaseMessage]:
        if not isinstance(value, TurnInput):
            return [*self.agent.system, HumanMessage(str(value))]
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


def talk(agent: Agent, opening: Sequence[BaseMessage], said: list[BaseMessage]) -> Steps:
    """Ask an agent's model, and run its tools, until there is an answer or its team ends.

    Args:
        agent: Who answers.
        opening: The request.
        said: Grows with all that is said, so that a failure leaves it behind.
    """
    asking = agent.asking(agent.model(), agent.toolbox.tools)
    for _ in range(MAX_TOOL_ROUNDS):
        answer: AIMessage = yield AskModel(asking, [*opening, *said])
        said.append(answer)
        if not answer.tool_calls and not answer.invalid_tool_calls:
            return None
        called: Called = yield UseTools(agent.toolbox, answer)
        said += called.answers
        if called.response is not None:
            return called.response
        _check_tools(called.answers)
    msg = f"{MAX_TOOL_ROUNDS} answers in a row called tools"
    raise RuntimeError(msg)


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


def _check_tools(answers: Sequence[ToolMessage]) -> None:
    """A tool that fails ends the turn: its agent is not asked what to make of it."""
    for each in answers:
        if each.status == "error":
            msg = f"tool {each.name}: {each.text}"
            raise RuntimeError(msg)
