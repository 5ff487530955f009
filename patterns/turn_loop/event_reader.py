"""From LangGraph's own stream to typed events. There is no second event bus.

`tasks` parts tell when a node starts and what it wrote, `messages` parts are the tokens,
`custom` parts what blocks send, and `values` carries the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.types import GraphOutput, StreamMode

from flowcompose.core import events
from flowcompose.core.events import Event
from flowcompose.core.results import RefereeCritique, Result, Stop
from flowcompose.core.stream import MARK, NODE, NodeMark
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.synthesizer import SYNTHESIZER
from flowcompose.resources.contributions import Contribution
from flowcompose.resources.usage import Tokens

MODES: list[StreamMode] = ["tasks", "messages", "custom", "values"]

Path = tuple[str, ...]


class EventReader:
    """Reads the stream of one run. It keeps where each nested run is, and nothing else."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.output: GraphOutput[Any] = GraphOutput({})
        self._now: dict[Path, tuple[int, int]] = {}
        self._nodes: dict[str, tuple[NodeMark, str]] = {}
        self._streamed: set[str] = set()
        self._interrupts: list[Any] = []

    def started(self, goal: str) -> events.RunStarted:
        """The first event."""
        return events.RunStarted(pattern=self.plan.name, goal=goal)

    def completed(self, result: Result[Any]) -> events.RunCompleted:
        """The last event."""
        return events.RunCompleted(result=result, round=result.rounds, turn=result.turns)

    def read(self, part: Mapping[str, Any]) -> Iterator[Event]:
        """Give the events that one part of the stream means; most mean none or one."""
        readers: dict[str, Callable[[Path, Any], Iterator[Event]]] = {
            "messages": self._token,
            "custom": self._notice,
        }
        path = tuple(segment.split(":")[0] for segment in part["ns"])
        if part["type"] == "values":
            if not path:
                self.output = GraphOutput(part["data"], part.get("interrupts", ()))
        elif part["type"] == "tasks":
            yield from self._task(path, part["data"])
        else:
            yield from readers[part["type"]](path, part["data"])

    def _task(self, path: Path, task: Mapping[str, Any]) -> Iterator[Event]:
        if "input" in task:
            metadata: dict[str, Any] = task.get("metadata") or {}
            mark = NodeMark.read(metadata.get(NODE))
            if mark is not None and mark.node == task["name"]:
                agent_name = str(metadata.get("agent_name", ""))
                self._nodes[task["id"]] = mark, agent_name
                if mark.kind == "turn" and not task["input"].get("undecided"):
                    yield from self._turn_started(path, agent_name, mark, task["input"])
        elif task["id"] in self._nodes:
            yield from self._ended(path, *self._nodes.pop(task["id"]), task)

    def _turn_started(
        self, path: Path, agent_name: str, mark: NodeMark, state: Mapping[str, Any]
    ) -> Iterator[Event]:
        turn = len(state.get(mark.key) or ()) + len(state.get("failures") or ()) + 1
        number = 1 if mark.per_round is None else (turn - 1) // mark.per_round + 1
        before = self._now.get(path, (0, 0))[0]
        self._now[path] = number, turn
        where: dict[str, Any] = {"path": path, "round": number, "turn": turn}
        if number != before:
            yield events.RoundStarted(**where)
        yield events.SpeakerSelected(agent_name=agent_name, reason="schedule", **where)
        yield events.TurnStarted(agent_name=agent_name, **where)

    def _ended(
        self, path: Path, mark: NodeMark, agent_name: str, task: Mapping[str, Any]
    ) -> Iterator[Event]:
        kind, (number, turn) = mark.kind, self._now.get(path, (0, 0))
        where: dict[str, Any] = {"path": path, "round": number, "turn": turn}
        named: dict[str, Any] = {"agent_name": agent_name, **where}
        result: Mapping[str, Any] = task.get("result") or {}
        if task.get("error") and kind == "turn":
            yield events.TurnFailed(error=str(task["error"]), **named)
        for failure in result.get("failures") or () if kind == "turn" else ():
            yield events.TurnFailed(error=failure["error"], **named)
        for entry in result.get(mark.key) or () if kind == "turn" else ():
            yield _turn_completed(entry, named)
        for critique in result.get("referee_critiques") or () if kind == "referee" else ():
            yield events.CritiqueAdded(
                critique=RefereeCritique(round=critique["round"], critique=critique["critique"]),
                usage=Tokens.model_validate(critique["usage"]),
                **named,
            )
        if result.get("stop"):
            yield events.RunStopped(stop=Stop.model_validate(result["stop"]), **where)

    def _token(self, path: Path, data: tuple[Any, Mapping[str, Any]]) -> Iterator[Event]:
        message, metadata = data
        agent_name = str(metadata.get("agent_name", ""))
        if not isinstance(message, AIMessage) or not message.text or self._hidden(agent_name, path):
            return
        if not isinstance(message, AIMessageChunk) and metadata.get(NODE, "").startswith(
            SYNTHESIZER
        ):
            return  # the deliverable as a message of the state, which is no token
        number, turn = self._now.get(path, (0, 0))
        yield events.Token(
            path=path,
            agent_name=agent_name,
            round=metadata.get("round", number),
            turn=metadata.get("turn", turn),
            text=str(message.text),
            message_id=message.id or "",
        )

    def _hidden(self, agent_name: str, path: Path) -> bool:
        return not path and agent_name == SYNTHESIZER and not self.plan.visibility.client

    def _notice(self, path: Path, data: Any) -> Iterator[Event]:
        if not isinstance(data, Mapping) or MARK not in data:
            return
        fields = {key: value for key, value in data.items() if key != MARK}  # pyright: ignore[reportUnknownVariableType] - our own notices
        kinds: dict[str, type[Event]] = {
            "emitted": events.Emitted,
            "tool_called": events.ToolCalled,
            "tool_returned": events.ToolReturned,
            "turn_retried": events.TurnRetried,
        }
        yield kinds[data[MARK]](path=path, **fields)  # pyright: ignore[reportUnknownArgumentType] - see above


def _turn_completed(entry: Any, named: Mapping[str, Any]) -> Event:
    return events.TurnCompleted(
        contribution=Contribution.of_entry(entry),
        usage=Tokens.model_validate(entry.get("usage", {})),
        seconds=entry["completed_at"] - entry["started_at"],
        **named,
    )
