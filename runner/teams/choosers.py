"""Who is asked for the next speaker: a model, an agent in its own words, or one with a tool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from flowcompose.core.conversation import AskModel, Steps
from flowcompose.core.results import Stop
from flowcompose.core.terminate import response_of
from flowcompose.runner.teams.agent import Agent, talk
from flowcompose.runner.teams.failing import TurnError
from flowcompose.runner.teams.selector_prompt import asked, with_tools

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_SELECT = "select-next-speaker"
_TERMINATE = "terminate"
_ASKED = "Select the next participant to respond."

NOT_USED = "Selector agent did not use the select-next-speaker tool"
"""Why a team ends whose selector agent answered in words."""


class Chooser(Protocol):
    """Asks for a name."""

    @property
    def name(self) -> str:
        """Who it is."""
        ...

    @property
    def who(self) -> str:
        """What its errors call it."""
        ...

    def steps(self, prompt: str, candidates: Sequence[str]) -> Steps:
        """Ask with a filled prompt; gives a name, whatever it is, or why the team ends."""
        ...


@dataclass(frozen=True)
class ModelChooser:
    """A model of its own, as the first era has it."""

    model: Callable[[], BaseChatModel]
    who: str = "model"
    name: str = "selector"

    def steps(self, prompt: str, candidates: Sequence[str]) -> Steps:
        """Take what it says for a name."""
        answer = yield AskModel(self.model(), [SystemMessage(prompt), HumanMessage(_ASKED)])
        return str(answer.text).strip()


@dataclass(frozen=True)
class AgentChooser:
    """An agent that answers in words, as the second era has it."""

    agent: Agent
    who: str = "agent"

    @property
    def name(self) -> str:
        """The agent's."""
        return self.agent.name

    def steps(self, prompt: str, candidates: Sequence[str]) -> Steps:
        """Take its last words for a name."""
        said: list[BaseMessage] = []
        opening = [*self.agent.system, SystemMessage(prompt), HumanMessage(_ASKED)]
        response = yield from talk(self.agent, opening, said)
        if response is not None:
            return Stop(reason="selector_stop", by=self.agent.name, detail=response or None)
        words = str(said[-1].text).strip()
        if not words:
            msg = "returned invalid response"
            raise TurnError(msg)
        return words


@dataclass(frozen=True)
class ToolChooser:
    """An agent that must choose by a tool, as the last era has it. Its own tools rest."""

    agent: Agent
    terminate_prompt: str | None
    """What it is told of ending the team; None if it may not."""
    who: str = "agent"

    @property
    def name(self) -> str:
        """The agent's."""
        return self.agent.name

    def steps(self, prompt: str, candidates: Sequence[str]) -> Steps:
        """Read its tool call."""
        may_end = self.terminate_prompt is not None
        tools = [_select(candidates), *([_TERMINATE_TOOL] if may_end else [])]
        asking = self.agent.model().bind_tools(tools, tool_choice="required")
        opening = [
            *self.agent.system,
            SystemMessage(with_tools(prompt, self.terminate_prompt)),
            HumanMessage(asked(may_end=may_end)),
        ]
        answer: AIMessage = yield AskModel(asking, opening)
        return self._read(answer, may_end=may_end)

    def _read(self, answer: AIMessage, *, may_end: bool) -> str | Stop:
        for call in answer.tool_calls:
            if call["name"] == _TERMINATE and may_end:
                response = response_of(call["args"], str(answer.text))
                return Stop(reason="selector_stop", by=self.agent.name, detail=response or None)
            if call["name"] == _SELECT:
                return str(call["args"].get("name", ""))
        return Stop(reason="invalid_selection", by=self.agent.name, detail=NOT_USED)


def _select(candidates: Sequence[str]) -> dict[str, Any]:
    name = {"type": "string", "enum": list(candidates), "description": "Who speaks next."}
    return _tool(_SELECT, "Select who speaks next.", {"name": name})


def _tool(name: str, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": [*properties]}
    about = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": about}


_TERMINATE_TOOL = _tool(
    _TERMINATE,
    "Give the final response to the user, and end the conversation.",
    {"response": {"type": "string", "description": "The final response."}},
)
