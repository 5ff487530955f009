"""A compiled LangGraph graph as a block: what it is given, and how its output is read."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from functools import cached_property
from typing import Any, Protocol, TypeGuard, runtime_checkable

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel.protocol import PregelProtocol

from flowcompose.core.acts import TERMINATED, Acts
from flowcompose.core.context import Context
from flowcompose.core.errors import DefinitionError, RunError
from flowcompose.core.handover import Lasting, handing, handover
from flowcompose.core.messages import goal_message, happenings
from flowcompose.core.pattern_graph import PatternGraph
from flowcompose.core.program import Program
from flowcompose.core.resource_use import ResourceMap, resources_of
from flowcompose.core.stream import NODE
from flowcompose.core.turn_input import TurnInput
from flowcompose.core.untyped import engine, mapping_of
from flowcompose.resources.resource import Resource
from flowcompose.resources.structured_data import revive
from flowcompose.resources.usage import Tokens
from flowcompose.resources.writes import WRITES

AnyGraph = PregelProtocol[Any, Any, Any, Any]
"""A compiled graph of any state."""

_STEPS = 10_000
"""Supersteps of a member's graph, which is about the engine's own default."""

_BEING_MADE: ContextVar[tuple[HasGraph, ...]] = ContextVar("flowcompose_made", default=())
"""The objects whose graphs are being made, outermost first."""

_DELIVER = "The panel is finished. Give its deliverable."


def is_graph(value: object) -> TypeGuard[AnyGraph]:
    """Say whether `value` is a compiled graph, a pattern or a remote one included."""
    return isinstance(value, PregelProtocol)


@runtime_checkable
class Capped(Protocol):
    """A graph with a cap, which may have been told to raise at it."""

    def check_limit(self, output: Mapping[str, Any], config: RunnableConfig) -> None:
        """Raise if the run ended at its cap, and that was asked for."""
        ...


@runtime_checkable
class HasGraph(Protocol):
    """Something that is a block as a graph, as a flow is."""

    def as_graph(self) -> AnyGraph:
        """Give the graph."""
        ...


def graph_of(given: HasGraph) -> AnyGraph:
    """Give the graph of an object that makes one, which must not be inside of that.

    Raises:
        DefinitionError: It is, or something inside of it is; the error prints the circle.
    """
    around = _BEING_MADE.get()
    names = [str(getattr(each, "name", None) or type(each).__name__) for each in (*around, given)]
    if any(each is given for each in around):
        first = next(at for at, each in enumerate(around) if each is given)
        circle = " -> ".join(names[first:])
        raise DefinitionError(names[first], [f"it contains itself: {circle}"])
    token = _BEING_MADE.set((*around, given))
    try:
        return given.as_graph()
    finally:
        _BEING_MADE.reset(token)


class GraphBlock:
    """Gives a graph `messages`, or `goal` and `messages` if it has a goal as patterns do."""

    async_only = False

    def __init__(self, graph: AnyGraph) -> None:
        self.graph = graph
        self.name = graph.get_name()
        self._keys = input_keys(graph)
        if not self._keys & {"goal", "messages"}:
            msg = (
                f"the graph {self.name!r} must take 'messages' or 'goal', "
                f"it takes {', '.join(sorted(self._keys)) or 'nothing'}"
            )
            raise TypeError(msg)

    @property
    def resources(self) -> ResourceMap:
        """What the blocks inside use, and the transcript, if this is a pattern or a flow."""
        return resources_of(self.graph)

    @cached_property
    def transcript(self) -> tuple[str, Resource[Any]] | None:
        """The resource of the graph's transcript, and its key in the output."""
        return self.program.transcript if self.program is not None else None

    @cached_property
    def _capped(self) -> Capped | None:
        return self.graph if isinstance(self.graph, Capped) else None

    @cached_property
    def program(self) -> Program | None:
        """What the graph runs, if it is a pattern or a flow of ours."""
        return self.graph.program if isinstance(self.graph, PatternGraph) else None

    def run(self, value: Any, ctx: Context) -> Any:
        """Invoke the graph."""
        given = self._given(value, ctx)
        config = self._inner(value, ctx)
        try:
            output = engine(self.graph).invoke(given, config)
        except RunError as error:
            raise self._paid(error, ctx)  # noqa: B904 - the same error
        self._take_over(output, given, ctx, config)
        return self.read(output, given, ctx, config)

    async def arun(self, value: Any, ctx: Context) -> Any:
        """Invoke the graph on the async path."""
        given = self._given(value, ctx)
        config = self._inner(value, ctx)
        try:
            output = await engine(self.graph).ainvoke(given, config)
        except RunError as error:
            raise self._paid(error, ctx)  # noqa: B904 - the same error
        self._take_over(output, given, ctx, config)
        return self.read(output, given, ctx, config)

    @property
    def _takes_value(self) -> bool:
        """Whether this is a flow of ours, which takes any value as it is."""
        return self.program is not None and "packed_input" in self._keys

    def _given(self, value: Any, ctx: Context) -> dict[str, Any]:
        if self._takes_value:
            return {"messages": [*ctx.history], "session": dict(ctx.session.state)}
        if self.program is not None:
            return {"goal": ctx.goal, "session": dict(ctx.session.state)}
        before = _before(value, ctx)
        if "goal" in self._keys:
            offered = {"goal": ctx.goal, "messages": before, "session": dict(ctx.session.state)}
            return {key: given for key, given in offered.items() if key in self._keys}
        if isinstance(value, TurnInput):
            return {"messages": value.messages}
        said = before[len(ctx.history) :]
        return {"messages": [*ctx.history, goal_message(ctx.goal), *said, HumanMessage(_DELIVER)]}

    def lasting(self, value: Any, ctx: Context) -> Lasting | None:
        """What the step hands over whenever it is at work, so that it need not be stored."""
        return Lasting(value, _before(value, ctx))

    def _inner(self, value: Any, ctx: Context) -> RunnableConfig:
        """The config for what runs inside, whose nodes are none of ours.

        A pattern inside has rounds and turns of its own; what is done in another graph is done
        in this turn, once it is finished. A chain's limit of 25 steps was not meant for the
        graphs of members.
        """
        program = self.program
        config = ctx.ledger.handed_down(ctx.config, program.deliverer if program else None)
        metadata = {**(config.get("metadata") or {}), NODE: ""}
        if "goal" in self._keys:
            metadata = {key: metadata[key] for key in metadata if key not in ("round", "turn")}
        limit = max(config.get("recursion_limit") or 0, _STEPS)
        inner: RunnableConfig = {**config, "metadata": metadata, "recursion_limit": limit}
        inner = Acts().handed_down(inner)
        if program is None:
            return inner
        lasting = self.lasting(value, ctx)
        given_up = lambda: ctx.abandoned  # noqa: E731 - asked when a turn inside begins
        return handing(inner, program.deliverer, value, lasting=lasting, is_abandoned=given_up)

    def _paid(self, error: RunError, ctx: Context) -> RunError:
        """Count what a run of ours has spent up to its failure."""
        result = error.result if self.program is not None else None
        if result is not None and result.usage.total_tokens:
            ctx.meter.add_tokens(result.usage + Tokens())  # the sum alone, without whose it is
        return error

    def _take_over(
        self, output: object, given: dict[str, Any], ctx: Context, config: RunnableConfig
    ) -> None:
        """Count what was spent inside, and write what was written there.

        A finished run gives it all at once, so a run that is killed inside and resumed loses
        nothing of it and repeats nothing.
        """
        values = mapping_of(output) or {}
        said = _new_answers(values, given)
        if said:
            ctx.meter.message_id = said[-1].id
        if self.program is None:
            for message in said:
                ctx.meter.add(message)
            ctx.acts.add(_acts_inside(_new_messages(values, given), config))
            return
        if values.get("usage"):
            ctx.meter.add_tokens(Tokens.model_validate(values["usage"]))
        if self._capped is not None:
            self._capped.check_limit(values, config)
        if writes := values.get(WRITES):
            ctx.ledger.add(writes, self.resources)
        if self.transcript is not None:
            key, own = self.transcript
            ctx.acts.said = values.get(key) or ()
            ctx.ledger.record(key, own, ctx.acts.said)

    def read(
        self, output: object, given: dict[str, Any], ctx: Context, config: RunnableConfig
    ) -> Any:
        """Take the graph's answer: its structured one, its `output`, or its last words."""
        acts = Acts.found(config) if self.program is None else None
        if acts is not None and acts.termination is not None:
            return acts.termination
        values = mapping_of(output)
        if values is None:
            return output
        waiting = handover(config)
        if waiting is not None and waiting.made:
            return waiting.made[0]
        structured = values.get("structured_response", values.get("output"))
        if structured is not None:
            return revive(structured, values.get("output_class"))
        messages = _new_answers(values, given) or convert_to_messages(values.get("messages") or [])
        return str(messages[-1].text) if messages else values


def _before(value: Any, ctx: Context) -> list[BaseMessage]:
    """All that was said before: outside of the run, and in it; and what is asked, if need be."""
    said = happenings(ctx.contributions.raw, ctx.critiques, rounds=ctx.panel.has_rounds)
    asks = isinstance(value, TurnInput) and value.is_question
    return [*ctx.history, *said, *([HumanMessage(value.asked)] if asks else [])]


def _new_messages(output: dict[str, Any], given: dict[str, Any]) -> list[BaseMessage]:
    """What stands after the given ones; before them may stand what an agent remembers."""
    messages: list[BaseMessage] = convert_to_messages(output.get("messages") or [])
    given_ids = (getattr(each, "id", None) for each in given.get("messages") or ())
    known = {each for each in given_ids if each}
    given_at = [at for at, message in enumerate(messages) if message.id in known]
    return messages[given_at[-1] + 1 :] if given_at else messages


def _new_answers(output: dict[str, Any], given: dict[str, Any]) -> list[AIMessage]:
    return [m for m in _new_messages(output, given) if isinstance(m, AIMessage)]


def _acts_inside(messages: list[BaseMessage], config: RunnableConfig) -> Acts:
    """Give what was done in a graph that is none of ours; its own calls are in what it said.

    One that had finished before a crash is read from its checkpoint, and its tools do not run
    again: what they answered is all that tells of a termination then.
    """
    acts = Acts.found(config) or Acts()
    answers = [each for each in messages if isinstance(each, AIMessage)]
    acts.tools += [call["name"] for answer in answers for call in answer.tool_calls]
    for each in messages:
        if isinstance(each, ToolMessage) and each.artifact == TERMINATED:
            acts.end(str(each.text))
    if acts.termination is not None and not acts.termination.strip() and answers:
        acts.termination = str(answers[-1].text)
    return acts


def input_keys(graph: AnyGraph) -> set[str]:
    """Give the keys of the input that a graph takes."""
    if isinstance(graph, CompiledStateGraph):
        builder = engine(graph).builder
        return set(builder.schemas[builder.input_schema])
    return {"messages"}  # a remote graph: the convention of the ecosystem
