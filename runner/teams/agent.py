"""An agent, wherever it works, and how it comes to an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from flowcompose.core.conversation import AskModel, Steps, UseTools
from flowcompose.core.toolbox import Called
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams.failing import TurnError, failure_of
from flowcompose.runner.teams.messages import Message, cleaned, to_openai, wire_name
from flowcompose.runner.teams.ordered_toolbox import OrderedToolbox
from flowcompose.runner.teams.wording import Wording

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

MAX_TOOL_ROUNDS = 50
"""Answers with tool calls in one turn, after which an agent has lost its way."""


class PromptError(TurnError):
    """The prompt of an agent cannot be made."""


Asking = Callable[["BaseChatModel", Sequence[BaseTool]], Runnable[Any, Any]]
"""Binds a model to tools, and to a form for its answers."""


@dataclass(frozen=True)
class Agent:
    """What is known of an agent, wherever it works."""

    name: str
    full_name: str
    """With its namespace, for errors."""
    prompt: str
    """Filled in."""
    model: Callable[[], BaseChatModel]
    make_tools: Callable[[], Sequence[BaseTool]]
    asking: Asking
    redactor: Redactor
    wording: Wording
    lacks: Sequence[str] = ()
    """Why parameters of its prompt have no value: then each of its turns fails."""

    @cached_property
    def toolbox(self) -> OrderedToolbox:
        """Its tools; made late, since a tool may be a team in which it works."""
        return OrderedToolbox(self.make_tools(), self.redactor.clean_json)

    @property
    def system(self) -> list[BaseMessage]:
        """What its requests begin with.

        Raises:
            PromptError: A parameter of the prompt has no value.
        """
        if self.lacks:
            why = "; ".join(self.lacks)
            raise PromptError(f"agent {self.full_name} prompt resolution failed: {why}")
        return [SystemMessage(self.prompt)] if self.prompt else []

    def failed(self, said: Sequence[BaseMessage], error: Exception) -> TurnError:
        """Give the failure of a turn, which keeps what was said in it."""
        if isinstance(error, PromptError):
            return error
        what = f"agent {self.full_name} execution"
        return failure_of(what, error, self.redactor, self.written(said))

    def written(self, said: Sequence[BaseMessage]) -> list[Message]:
        """Give messages as state may hold them."""
        return [cleaned(message, self.redactor) for message in to_openai(said, self.name)]


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
        # As it is among the messages of others.
        said.append(answer.model_copy(update={"name": wire_name(agent.name)}))
        if not answer.tool_calls and not answer.invalid_tool_calls:
            return None
        called: Called = yield UseTools(agent.toolbox, answer)
        said += called.answers
        if called.response is not None:
            return called.response
        # A tool that fails ends the turn: its agent is not asked what to make of it.
        if problem := agent.toolbox.problem_in(called):
            raise TurnError(problem)
    msg = f"{MAX_TOOL_ROUNDS} answers in a row called tools"
    raise TurnError(msg)
