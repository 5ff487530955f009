"""What a pattern's factory returns: a compiled graph with a typed run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Generic, Literal, Self, TypeVar
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.runnables.graph import Graph, Node
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, GraphOutput, StateSnapshot

from flowcompose.core.errors import DefinitionError, MaxTurnsReached, RunError
from flowcompose.core.events import Event, RunCompleted
from flowcompose.core.results import Result
from flowcompose.core.untyped import engine
from flowcompose.patterns.turn_loop.event_reader import MODES, EventReader
from flowcompose.patterns.turn_loop.init import read_request
from flowcompose.patterns.turn_loop.outcome import result_of
from flowcompose.patterns.turn_loop.plan import Plan

OutputT = TypeVar("OutputT")

Durability = Literal["sync", "async", "exit"]
GoalLike = str | Mapping[str, Any]


class Pattern(CompiledStateGraph[Any, Any, Any, Any], Generic[OutputT]):
    """A roster, a schedule and a way to stop, compiled to one LangGraph graph.

    Made by `round_robin` and its siblings. It is a `CompiledStateGraph`, so it is a node of
    any StateGraph, a Runnable in a chain, and has `invoke`, `stream`, `get_state` and the
    rest; `.builder` is the StateGraph. Choose `run` for a typed result, `events` to follow a
    run, and LangGraph's own methods to treat it as any graph.

    A pattern may be used again, and in several runs at once: all that a run knows is in its
    own state.
    """

    plan: Plan

    @classmethod
    def adopt(cls, compiled: CompiledStateGraph[Any, Any, Any, Any], plan: Plan) -> Self:
        """Make a pattern of what `StateGraph.compile` gave, which picks its class itself."""
        pattern = cls.__new__(cls)
        engine(pattern).__dict__.update(vars(compiled), plan=plan)
        return pattern

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Give a copy, as `with_config` does; the engine's own would forget the plan."""
        pattern = self.__class__.__new__(self.__class__)
        engine(pattern).__dict__.update(vars(self), **(update or {}))
        return pattern

    def run(
        self,
        goal: GoalLike,
        *,
        session: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> Result[OutputT]:
        """Run to the end and give the typed result.

        Args:
            goal: What to work on; or a mapping with `goal`, or with `messages` of which the
                last human one is the goal and the rest the conversation before it.
            session: Values for `ctx.session.state`. They stay on the thread; None keeps what
                the thread has.
            thread_id: The thread in which the run is kept. Needs a checkpointer; without one
                given, a run with a checkpointer gets a new thread, told in the result.
            config: LangGraph's config: callbacks, tags, `configurable`.
            durability: When checkpoints are written. With a checkpointer the default is
                `"sync"`: a killed process resumes after the last finished turn.

        Returns:
            The result; `result.stop` says why the run ended.

        Raises:
            DefinitionError: The goal is no text, a model is not configured, or `thread_id`
                is given without a checkpointer.
            MemberError: A member failed, and `on_error="raise"`. `.result` has the rest.
            RunError: A predicate, the referee or the synthesizer failed.
            MaxTurnsReached: The cap was reached, and `on_limit="raise"`.
        """
        config = self._in_thread(config, thread_id)
        given, when = self._input(goal, session), self._durability(durability)
        output = self.invoke(given, config, durability=when, version="v2")
        return self._result(output, config)

    async def arun(
        self,
        goal: GoalLike,
        *,
        session: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> Result[OutputT]:
        """`run` on the async path: members that can, wait without blocking the event loop.

        Cancelling it leaves a thread that `aresume` goes on with.
        """
        config = self._in_thread(config, thread_id)
        given, when = self._input(goal, session), self._durability(durability)
        output = await self.ainvoke(given, config, durability=when, version="v2")
        return self._result(output, config)

    def events(
        self,
        goal: GoalLike,
        *,
        session: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> Iterator[Event]:
        """Run, and give what happens as it happens; the last event carries the result.

        Takes and raises what `run` does. A `TurnFailed` comes before the error is raised.
        """
        config = self._in_thread(config, thread_id)
        given = self._input(goal, session)
        reader = EventReader(self.plan)
        yield reader.started(read_request(self.name, given)["goal"])
        for part in self.stream(
            given,
            config,
            stream_mode=MODES,
            subgraphs=True,
            version="v2",
            durability=self._durability(durability),
        ):
            yield from reader.read(part)
        yield self._completed(reader, config)

    async def aevents(
        self,
        goal: GoalLike,
        *,
        session: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> AsyncIterator[Event]:
        """`events` on the async path."""
        config = self._in_thread(config, thread_id)
        given = self._input(goal, session)
        reader = EventReader(self.plan)
        yield reader.started(read_request(self.name, given)["goal"])
        async for part in self.astream(
            given,
            config,
            stream_mode=MODES,
            subgraphs=True,
            version="v2",
            durability=self._durability(durability),
        ):
            for event in reader.read(part):
                yield event
        yield self._completed(reader, config)

    def resume(
        self,
        thread_id: str,
        value: Any = None,
        *,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> Result[OutputT]:
        """Go on with a run that was killed, failed, was cancelled or waits for an answer.

        Finished turns are not taken again. Of a finished run it gives the result.

        Args:
            thread_id: The thread of the run.
            value: The answer that an interrupted run waits for.
            config: LangGraph's config.
            durability: As in `run`.

        Raises:
            DefinitionError: The pattern has no checkpointer.
            RunError: The checkpointer knows no such thread; or what `run` raises.
        """
        config = self._in_thread(config, thread_id)
        snapshot = self.get_state(config)
        output: Any = GraphOutput(snapshot.values)
        if self._goes_on(snapshot, thread_id):
            when = self._durability(durability)
            output = self.invoke(_resuming(value), config, durability=when, version="v2")
        return self._result(output, config)

    async def aresume(
        self,
        thread_id: str,
        value: Any = None,
        *,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> Result[OutputT]:
        """`resume` on the async path."""
        config = self._in_thread(config, thread_id)
        snapshot = await self.aget_state(config)
        output: Any = GraphOutput(snapshot.values)
        if self._goes_on(snapshot, thread_id):
            when = self._durability(durability)
            output = await self.ainvoke(_resuming(value), config, durability=when, version="v2")
        return self._result(output, config)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """LangGraph's `invoke`: the output as a mapping. `run` gives it typed."""
        return engine(super()).invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """LangGraph's `ainvoke`: the output as a mapping. `arun` gives it typed."""
        return await engine(super()).ainvoke(input, config, **kwargs)

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """LangGraph's `stream`, with room for all turns. `events` gives typed events."""
        parts: Iterator[Any] = engine(super()).stream(input, self._with_room(config), **kwargs)
        return parts

    def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """LangGraph's `astream`, with room for all turns. `aevents` gives typed events."""
        parts: AsyncIterator[Any] = engine(super()).astream(
            input, self._with_room(config), **kwargs
        )
        return parts

    def mermaid(self) -> str:
        """Give the diagram as Mermaid text; patterns and graphs inside are drawn too."""
        drawn = self.get_graph(xray=True)
        plain = {
            key: Node(node.id, node.name, node.data, None) for key, node in drawn.nodes.items()
        }
        return Graph(nodes=plain, edges=drawn.edges).draw_mermaid()

    def __repr__(self) -> str:
        return self.plan.description

    def _with_room(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """Raise a recursion limit that is too low for the cap.

        A chain or a tool hands down langchain-core's 25, which would end a long run early; the
        pattern has a cap of its own.
        """
        inherited = var_child_runnable_config.get() or {}
        limit = (config or {}).get("recursion_limit") or inherited.get("recursion_limit")
        if limit is None or limit >= self.plan.max_steps:
            return config
        return {**(config or {}), "recursion_limit": self.plan.max_steps}

    def _in_thread(self, config: RunnableConfig | None, thread_id: str | None) -> RunnableConfig:
        configurable = dict((config or {}).get("configurable") or {})
        if not isinstance(engine(self).checkpointer, BaseCheckpointSaver):
            if thread_id is not None:
                problem = f"thread_id={thread_id!r} needs a checkpointer: pass checkpointer=..."
                raise DefinitionError(repr(self.name), [problem])
            return config or {}
        configurable["thread_id"] = thread_id or configurable.get("thread_id") or str(uuid4())
        return {**(config or {}), "configurable": configurable}

    def _durability(self, asked: Durability | None) -> Durability | None:
        return asked or (
            "sync" if isinstance(engine(self).checkpointer, BaseCheckpointSaver) else None
        )

    def _input(self, goal: GoalLike, session: Mapping[str, Any] | None) -> dict[str, Any]:
        given = dict(goal) if isinstance(goal, Mapping) else {"goal": goal}
        read_request(self.name, given)
        return given if session is None else {**given, "session": dict(session)}

    def _result(self, output: GraphOutput[Any], config: RunnableConfig) -> Result[Any]:
        interrupts = [each.value for each in output.interrupts]
        thread_id = (config.get("configurable") or {}).get("thread_id")
        result = result_of(self.plan, output.value, interrupts, thread_id)
        if self.plan.on_limit == "raise" and result.stop.reason in ("max_rounds", "max_turns"):
            msg = f"{self.name!r} reached its cap after {result.turns} turns ({result.stop.reason})"
            raise MaxTurnsReached(msg, result=result)
        return result

    def _completed(self, reader: EventReader, config: RunnableConfig) -> RunCompleted:
        return reader.completed(self._result(reader.output, config))

    def _goes_on(self, snapshot: StateSnapshot, thread_id: str) -> bool:
        if snapshot.created_at is None:
            msg = f"{self.name!r}: thread {thread_id!r} is not known to this checkpointer"
            raise RunError(f"{msg}; start it with run(..., thread_id={thread_id!r})")
        return bool(snapshot.next)


def _resuming(value: Any) -> Command[Any] | None:
    return None if value is None else Command(resume=value)
