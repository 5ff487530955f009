"""What a pattern's factory returns: a compiled graph with a typed run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, GraphOutput, StateSnapshot

from flowcompose.core.calling import AS_ROOT
from flowcompose.core.definition import Problems
from flowcompose.core.errors import DefinitionError, RunError
from flowcompose.core.handover import handing
from flowcompose.core.pattern_graph import PatternGraph
from flowcompose.core.program import check_sync
from flowcompose.core.results import Result
from flowcompose.core.session import merge_session
from flowcompose.core.untyped import engine, items_of, unchecked

if TYPE_CHECKING:  # some 12 ms, which only those pay who follow events
    from flowcompose.core.event_reader import EventReader
    from flowcompose.core.events import Event, RunCompleted

OutputT = TypeVar("OutputT")

Durability = Literal["sync", "async", "exit"]

_AS_EVENTS: dict[str, Any] = {
    "stream_mode": ["tasks", "messages", "custom", "values"],
    "subgraphs": True,
    "version": "v2",
}


class Pattern(PatternGraph, Generic[OutputT]):
    """A roster, a schedule and a way to stop, compiled to one LangGraph graph.

    Made by `round_robin` and its siblings. It is a `CompiledStateGraph`, so it is a node of
    any StateGraph, a Runnable in a chain, and has `invoke`, `stream`, `get_state` and the
    rest; `.builder` is the StateGraph. Choose `run` for a typed result, `events` to follow a
    run, and LangGraph's own methods to treat it as any graph.

    A pattern may be used again, and in several runs at once: all that a run knows is in its
    own state.
    """

    def run(
        self,
        goal: Any,
        *,
        session: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> Result[OutputT]:
        """Run to the end and give the typed result.

        Args:
            goal: What to work on; or a mapping with `goal`, or with `messages` of which the
                last human one is the goal and the rest the conversation before it. Of a
                compiled flow: the value for its first step.
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
        config = self._in_thread(config, thread_id, goal)
        given, when = self._input(goal, session), self._durability(durability)
        output = self.invoke(given, config, durability=when, version="v2")
        return self._result(self._in_order(output, config), config)

    async def arun(
        self,
        goal: Any,
        *,
        session: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> Result[OutputT]:
        """`run` on the async path: members that can, wait without blocking the event loop.

        Cancelling it leaves a thread that `aresume` goes on with.
        """
        config = self._in_thread(config, thread_id, goal)
        given, when = self._input(goal, session), self._durability(durability)
        output = await self.ainvoke(given, config, durability=when, version="v2")
        return self._result(await self._ain_order(output, config), config)

    def events(
        self,
        goal: Any,
        *,
        session: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> Generator[Event]:
        """Run, and give what happens as it happens; the last event carries the result.

        Takes and raises what `run` does. A `TurnFailed` comes before the error is raised.
        """
        config = self._in_thread(config, thread_id, goal)
        given = self._input(goal, session)
        reader = self._reader()
        yield self._started(reader, given, config)
        when = self._durability(durability)
        with closing(engine(self.stream(given, config, durability=when, **_AS_EVENTS))) as parts:
            for part in parts:
                yield from reader.read(part)
        reader.output = self._in_order(reader.output, config)
        yield self._completed(reader, config)

    async def aevents(
        self,
        goal: Any,
        *,
        session: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> AsyncGenerator[Event]:
        """`events` on the async path."""
        config = self._in_thread(config, thread_id, goal)
        given = self._input(goal, session)
        reader = self._reader()
        yield self._started(reader, given, config)
        when = self._durability(durability)
        parts = self.astream(given, config, durability=when, **_AS_EVENTS)
        async with aclosing(engine(parts)) as open_parts:
            async for part in open_parts:
                for event in reader.read(part):
                    yield event
        reader.output = await self._ain_order(reader.output, config)
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
            value: The answer that an interrupted run waits for; for several questions at
                once, a list of answers in the order of `result.interrupts`.
            config: LangGraph's config.
            durability: As in `run`.

        Raises:
            DefinitionError: The pattern has no checkpointer.
            RunError: The checkpointer knows no such thread; or what `run` raises.
        """
        check_sync(self.name, self.program.async_parts)
        config = self._in_thread(config, _named(thread_id))
        snapshot = self.get_state(config)
        if not self._goes_on(snapshot, thread_id):
            return self._read(GraphOutput(snapshot.values), config)
        when = self._durability(durability)
        given = self._answer(value, snapshot)
        output = self.invoke(given, config, durability=when, version="v2")
        return self._result(self._in_order(output, config), config)

    async def aresume(
        self,
        thread_id: str,
        value: Any = None,
        *,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> Result[OutputT]:
        """`resume` on the async path."""
        config = self._in_thread(config, _named(thread_id))
        snapshot = await self.aget_state(config)
        if not self._goes_on(snapshot, thread_id):
            return self._read(GraphOutput(snapshot.values), config)
        when = self._durability(durability)
        given = self._answer(value, snapshot)
        output = await self.ainvoke(given, config, durability=when, version="v2")
        return self._result(await self._ain_order(output, config), config)

    def as_tool(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride] - a pattern's input is known
        self, *, name: str | None = None, description: str | None = None
    ) -> BaseTool:
        """Give a LangChain tool that runs this pattern on the `goal` that a model gives.

        Args:
            name: What the model calls it by; by default the pattern's name as a slug.
            description: What the model goes by; by default the members and their roles.

        Raises:
            DefinitionError: The name is none that a provider takes.
        """
        from flowcompose.core.block_tool import block_tool

        return block_tool(self, name, description)

    def _in_thread(
        self, config: RunnableConfig | None, thread_id: str | None, *handed: Any
    ) -> RunnableConfig:
        bound, given = (self.config or {}).get("configurable"), (config or {}).get("configurable")
        configurable = {**(bound or {}), **(given or {}), **AS_ROOT}
        asked = unchecked(thread_id)
        problems = Problems(repr(self.name))
        problems.check(
            asked is None or (isinstance(asked, str) and bool(asked)),
            f"thread_id must be a non-empty string or None, got {asked!r}",
        )
        saving = isinstance(engine(self).checkpointer, BaseCheckpointSaver)
        problems.check(
            saving or asked is None,
            f"thread_id={asked!r} needs a checkpointer: pass checkpointer=... (a flow: to compile)",
        )
        problems.raise_if_any()
        if saving:
            thread = thread_id or configurable.get("thread_id") or uuid4()
            configurable["thread_id"] = str(thread)
        threaded: RunnableConfig = {**(config or {}), "configurable": configurable}
        return handing(threaded, self.program.deliverer, *handed)

    def _durability(self, asked: Durability | None) -> Durability | None:
        if asked is not None and asked not in get_args(Durability):
            problem = f"durability must be 'sync', 'async' or 'exit', got {asked!r}"
            raise DefinitionError(repr(self.name), [problem])
        return asked or (
            "sync" if isinstance(engine(self).checkpointer, BaseCheckpointSaver) else None
        )

    def _input(self, goal: Any, session: Mapping[str, Any] | None) -> dict[str, Any]:
        given = self.program.read_input(goal)
        merged = merge_session({}, [given.get("session"), session])
        return {**given, "session": merged} if merged else given

    def _reader(self) -> EventReader:
        from flowcompose.core.event_reader import EventReader

        return EventReader(self.name)

    def _started(self, reader: EventReader, given: dict[str, Any], config: RunnableConfig) -> Event:
        thread_id = (config.get("configurable") or {}).get("thread_id")
        return reader.started(self.program.goal_of(given), thread_id)

    def _read(self, output: GraphOutput[Any], config: RunnableConfig) -> Result[Any]:
        interrupts = [each.value for each in output.interrupts]
        return self.program.result(output.value, interrupts, config)

    def _result(self, output: GraphOutput[Any], config: RunnableConfig) -> Result[Any]:
        result = self._read(output, config)
        self.program.check_limit(result)
        return result

    def check_limit(self, output: Mapping[str, Any], config: RunnableConfig) -> None:
        """Raise `MaxTurnsReached` for a run inside another pattern, if that was asked for."""
        if self.program.raises_at_cap and output.get("stop"):
            self._result(GraphOutput(output), config)

    def _completed(self, reader: EventReader, config: RunnableConfig) -> RunCompleted:
        return reader.completed(self._result(reader.output, config))

    def _in_order(self, output: GraphOutput[Any], config: RunnableConfig) -> GraphOutput[Any]:
        """Put questions that were asked at once into the order in which `_answer` reads them."""
        several = len(output.interrupts) > 1
        return _ordered(output, self.get_state(config)) if several else output

    async def _ain_order(
        self, output: GraphOutput[Any], config: RunnableConfig
    ) -> GraphOutput[Any]:
        several = len(output.interrupts) > 1
        return _ordered(output, await self.aget_state(config)) if several else output

    def _answer(self, value: Any, snapshot: StateSnapshot) -> Command[Any] | None:
        """Give the answer to what the thread waits for; blocks side by side may ask at once."""
        waiting = snapshot.interrupts
        if value is None:
            return None
        if len(waiting) < 2:
            return Command(resume=value)
        answers = items_of(value)
        if answers is None or len(answers) != len(waiting):
            asked = ", ".join(repr(each.value) for each in waiting)
            problem = f"{len(waiting)} questions wait ({asked}): give a list of as many answers"
            raise DefinitionError(repr(self.name), [f"{problem}, got {value!r}"])
        return Command(resume={each.id: a for each, a in zip(waiting, answers, strict=True)})

    def _goes_on(self, snapshot: StateSnapshot, thread_id: str) -> bool:
        if snapshot.created_at is None:
            msg = f"{self.name!r}: thread {thread_id!r} is not known to this checkpointer"
            raise RunError(f"{msg}; start it with run(..., thread_id={thread_id!r})")
        # `next` leaves out a turn that is written but not yet applied; and what the last run of
        # the thread left stands in the values until the first node of this one has cleared it.
        pending = bool(snapshot.next or snapshot.tasks)
        return pending or not self.program.is_finished(snapshot.values)


def _ordered(output: GraphOutput[Any], snapshot: StateSnapshot) -> GraphOutput[Any]:
    return GraphOutput(output.value, snapshot.interrupts)


def _named(thread_id: str) -> str:
    """There is no thread to resume without a name."""
    return "" if unchecked(thread_id) is None else thread_id
