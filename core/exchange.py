"""What a generator and its model say to each other, written once for both paths.

The exchange is a Python generator: it yields what it wants (an answer, or tool calls run)
and is sent what came of it. `core/conversation.py` does the asking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel

from flowcompose.core.conversation import AskModel, Steps, UseTools
from flowcompose.core.errors import OutputError
from flowcompose.core.structured import Unfit, asking_for, read_answer
from flowcompose.core.toolbox import Called, Toolbox

if TYPE_CHECKING:  # some 25 ms, which only those pay who make a model
    from langchain_core.language_models import BaseChatModel

MAX_TOOL_ROUNDS = 10
"""After so many answers with tool calls, the model is asked once more, without tools."""


@dataclass(frozen=True)
class Exchange:
    """How a generator talks to its model."""

    name: str
    toolbox: Toolbox
    schema: type[BaseModel] | None
    reasks: int

    def steps(self, model: BaseChatModel, messages: list[BaseMessage]) -> Steps:
        """Talk until there is an answer: text, or an object of the schema.

        A response with which the model ends its team is text, whatever the schema.
        """
        if self.toolbox.tools or self.schema is None:
            messages, response = yield from self._talk(model, messages)
            if response is not None:
                return response
            if self.schema is None:
                return _words(messages[-1])
            messages.append(HumanMessage("Now give this in the required form."))
        return (yield from self._answer_in(self.schema, model, messages))

    def _talk(self, model: BaseChatModel, messages: list[BaseMessage]) -> Steps:
        """Let the model use its tools until it answers in words, or ends its team.

        Gives all messages, and the response with which it ended the team.
        """
        tools = self.toolbox.tools
        asking: Runnable[Any, Any] = model.bind_tools(tools) if tools else model
        for _ in range(MAX_TOOL_ROUNDS if tools else 0):
            answer: AIMessage = yield AskModel(asking, messages)
            messages = [*messages, answer]
            if not answer.tool_calls and not answer.invalid_tool_calls:
                return messages, None
            called: Called = yield UseTools(self.toolbox, answer)
            messages = [*messages, *called.answers]
            if called.response is not None:
                return messages, called.response
        return [*messages, (yield AskModel(model, messages))], None

    def _answer_in(
        self, schema: type[BaseModel], model: BaseChatModel, messages: list[BaseMessage]
    ) -> Steps:
        """Ask until the answer fits, telling the model each time what was wrong."""
        asking, unfit = asking_for(schema, model), Unfit("", "")
        for _ in range(1 + self.reasks):
            answer = yield AskModel(asking, messages, structured=True)
            read = answer if isinstance(answer, Unfit) else read_answer(answer, schema)
            if not isinstance(read, Unfit):
                return read
            unfit = read
            messages = [*messages, *_re_ask(unfit)]
        msg = f"{self.name!r} gave no answer that fits {schema.__name__}: {unfit.problem}"
        raise OutputError(f"{msg}; it said: {unfit.answer!r}", answer=unfit.answer)


def _re_ask(unfit: Unfit) -> list[BaseMessage]:
    said: list[BaseMessage] = [AIMessage(unfit.answer)] if unfit.answer else []
    return [*said, HumanMessage(f"That does not fit ({unfit.problem}). Answer again, in full.")]


def _words(answer: BaseMessage) -> str:
    """What the model said; a refusal comes beside the text."""
    return str(answer.text) or str(answer.additional_kwargs.get("refusal") or "")
