"""From LangGraph's own stream to typed events. There is no second event bus.

`tasks` parts tell when a node starts and what it wrote, `messages` parts are the tokens,
`custom` parts what blocks send, and `values` carries the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage
from langgraph.types import GraphOutput, Interrupt

from flowcompose.core import events
from flowcompose.core.events import Event
from flowcompose.core.messages import slug
from flowcompose.core.names import member_of
from flowcompose.core.results import Result, Stop
from flowcompose.core.step_events import STEP_KINDS, StepEvents
from flowcompose.core.stream import MARK, NODE, UNHEARD, NodeMark
from flowcompose.core.turns import reason_in, turn_of
from flowcompose.core.untyped import mapping_of
from flowcompose.resources.contributions import Contribution
from flowcompose.resources.critiques import RefereeCritique
from flowcompose.resources.usage import Tokens

Namespace = tuple[str, ...]
"""Where a part comes from: the engine's segments, `node:task id`, outermost first."""

_NOTICES: dict[str, type[Event]] = {
    "emitted": events.Emitted,
    "tool_called": events.ToolCalled,
    "tool_returned": events.ToolReturned,
    "turn_retried": events.TurnRetried,
}


class _Node(NamedTuple):
    """A node of ours that is at work."""

    ns: Namespace
    mark: NodeMark
    agent_name: str
    inside: Namespace
    """Where the parts come from of what runs in it."""


class EventReader:
    """Reads the stream of one run. It keeps where each nested run is, and nothing else."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.output: GraphOutput[Any] = GraphOutput({})
        self._base: Namespace | None = None
        self._now: dict[Namespace, tuple[int, int]] = {}
        self._within: dict[Namespace, tuple[int, int]] = {}
        self._nodes: dict[str, _Node] = {}
        self._interrupts: dict[str, Interrupt] = {}
        self._steps = StepEvents()

    def started(self, goal: str, thread_id: str | None) -> events.RunStarted:
        """The first event."""
        return events.RunStarted(pattern=self.name, goal=goal, thread_id=thread_id)

    def completed(self, result: Result[Any]) -> events.RunCompleted:
        """The last event."""
        return events.RunCompleted(result=result, round=result.rounds, turn=result.turns)

    def read(self, part: Mapping[str, Any]) -> Iterator[Event]:
        """Give the events that one part of the stream means; most mean none or one."""
        if self._base is None:  # the run itself comes first; it may be inside another graph
            self._base = tuple(part["ns"])
        ns: Namespace = tuple(part["ns"])[len(self._base) :]
        data = part["data"]
        if part["type"] == "messages":
            yield from self._token(ns, *data)
        elif part["type"] == "tasks":
            yield from self._started(ns, data) if "input" in data else self._ended(data)
        elif part["type"] == "custom":
            yield from self._notice(ns, data)
        elif not ns:
            # Of questions that are asked at once, each comes in a part of its own.
            self._interrupts |= {each.id: each for each in part.get("interrupts", ())}
            self.output = GraphOutput(data, tuple(self._interrupts.values()))

    def _started(self, ns: Namespace, task: Mapping[str, Any]) -> Iterator[Event]:
        metadata: dict[str, Any] = task.get("metadata") or {}
        mark = NodeMark.read(metadata.get(NODE))
        if mark is None or mark.node != task["name"] or self._inherited(ns, mark):
            return
        inside = (*ns, f"{task['name']}:{task['id']}")
        node = _Node(ns, mark, str(metadata.get("agent_name", "")), inside)
        self._nodes[task["id"]] = node
        yield from self._steps.node_started(ns, mark, self._where(ns))
        if mark.kind == "turn" and not task["input"].get("undecided"):
            yield from self._turn_started(node, task["input"])

    def _inherited(self, ns: Namespace, mark: NodeMark) -> bool:
        """A graph that a member calls inherits the member's mark; its own nodes have none."""
        return any(node.mark == mark and len(node.ns) < len(ns) for node in self._nodes.values())

    def _turn_started(self, node: _Node, state: Mapping[str, Any]) -> Iterator[Event]:
        mark = node.mark
        turn = turn_of(node.agent_name, state, mark.key)
        number = 1 if mark.per_round is None else (turn - 1) // mark.per_round + 1
        before, latest = self._now.get(node.ns, (0, 0))
        self._within[node.inside] = number, turn
        self._now[node.ns] = number, max(turn, latest)  # of those at once, any may begin first
        where: dict[str, Any] = {"path": _path(node.ns), "round": number, "turn": turn}
        if number != before and mark.per_round is not None:
            first: dict[str, Any] = {**where, "turn": (number - 1) * mark.per_round + 1}
            yield events.RoundStarted(**first)
        reason = reason_in(state, mark.key)
        yield events.SpeakerSelected(agent_name=node.agent_name, reason=reason, **where)
        yield events.TurnStarted(agent_name=node.agent_name, **where)

    def _ended(self, task: Mapping[str, Any]) -> Iterator[Event]:
        node = self._nodes.pop(task["id"], None)
        if node is None:
            return
        where = self._where(node.ns)
        if taken := self._within.pop(node.inside, None):  # others may have begun theirs since
            where |= dict(zip(("round", "turn"), taken, strict=True))
        result: Mapping[str, Any] = task.get("result") or {}
        if node.mark.kind == "turn":
            yield from _turn_ended(node, task.get("error"), result, where)
        elif node.mark.kind == "referee":
            yield from _audited(result, {**where, "agent_name": node.agent_name})
        elif node.mark.kind in STEP_KINDS:
            yield from self._steps.node_ended(node.ns, node.mark, task, where)
        if result.get("stop"):
            yield events.RunStopped(stop=Stop.model_validate(result["stop"]), **where)

    def _token(self, ns: Namespace, message: Any, metadata: Mapping[str, Any]) -> Iterator[Event]:
        if not isinstance(message, AIMessage) or not message.text or self._hidden(ns):
            return
        if metadata.get(UNHEARD):
            return
        if message.name and message.name == slug(str(metadata.get("pattern"))):
            return  # the deliverable as a message of the state, which is no token
        where = self._where(self._of_item(ns, metadata))
        for key in ("round", "turn"):
            where[key] = metadata.get(key, where[key])
        agent_name = str(metadata.get("agent_name", ""))
        text, message_id = str(message.text), message.id or ""
        yield events.Token(agent_name=agent_name, text=text, message_id=message_id, **where)

    def _of_item(self, ns: Namespace, metadata: Mapping[str, Any]) -> Namespace:
        """The engine leaves out the task itself; an item of a `for_each` is one of its own."""
        whole = str(metadata.get("langgraph_checkpoint_ns", "")).split("|")
        return tuple(whole[len(self._base or ()) :]) if whole[-1].startswith("[") else ns

    def _hidden(self, ns: Namespace) -> bool:
        """Referees and the like work alone: what comes while they do is theirs, however deep."""
        return any(
            node.mark.hidden and ns[: len(node.ns)] == node.ns for node in self._nodes.values()
        )

    def _notice(self, ns: Namespace, data: Any) -> Iterator[Event]:
        fields = mapping_of(data) or {}
        notice = str(fields.pop(MARK, None))
        if notice == "step_started":
            yield from self._steps.started(ns, fields["step"], self._where(ns))
        elif notice in _NOTICES:
            yield _NOTICES[notice](path=_path(ns), **fields)

    def _where(self, ns: Namespace) -> dict[str, Any]:
        """Say where and when: inside a member's own graph it is still the member's turn."""
        around = [ns[:end] for end in range(len(ns), -1, -1)]
        known = (at for each in around if (at := self._now.get(each) or self._within.get(each)))
        number, turn = next(known, (0, 0))
        return {"path": _path(ns), "round": number, "turn": turn}


def _path(ns: Namespace) -> tuple[str, ...]:
    """Say inside what it happened; an item of a `for_each` stands with its step: `cases[0]`."""
    path: list[str] = []
    for segment in ns:
        if segment.isdigit():  # the engine counts the graphs that a node runs after its first
            continue
        name = member_of(segment.split(":")[0])
        if name.startswith("[") and path:
            name = path.pop() + name
        path.append(name)
    return tuple(path)


def _turn_ended(
    node: _Node, error: object, result: Mapping[str, Any], where: Mapping[str, Any]
) -> Iterator[Event]:
    named: dict[str, Any] = {**where, "agent_name": node.agent_name}
    if error:
        yield events.TurnFailed(error=str(error), **named)
    faults = (fault.failure for fault in result.get("faults") or ())
    for failure in (*faults, *(result.get("failures") or ())):
        yield events.TurnFailed(error=failure["error"], **named)
    if entries := result.get(node.mark.key):  # several, where all that was said inside is shown
        yield _turn_completed(entries[-1], named)


def _audited(result: Mapping[str, Any], named: Mapping[str, Any]) -> Iterator[Event]:
    for audit in result.get("referee_critiques") or ():
        if "error" in audit:
            yield events.TurnFailed(error=audit["error"], **named)
            continue
        yield events.CritiqueAdded(
            critique=RefereeCritique(round=audit["round"], critique=audit["critique"]),
            usage=Tokens.model_validate(audit["usage"]),
            **named,
        )


def _turn_completed(entry: Any, named: Mapping[str, Any]) -> Event:
    return events.TurnCompleted(
        contribution=Contribution.of_entry(entry),
        usage=Tokens.model_validate(entry.get("usage", {})),
        seconds=entry["completed_at"] - entry["started_at"],
        **named,
    )
