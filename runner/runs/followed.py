"""A pattern's runs as the command line follows them: begun or resumed, with tokens or without."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.types import GraphOutput, StateSnapshot

from flowcompose.core.errors import FlowComposeError
from flowcompose.core.event_reader import EventReader
from flowcompose.core.events import Event
from flowcompose.core.explain import explain
from flowcompose.core.pattern import Pattern
from flowcompose.core.results import Result
from flowcompose.core.untyped import engine
from flowcompose.runner.unusable import UnusableError

Events = Generator[Event] | AsyncGenerator[Event]


class Followed(Pattern[Any]):
    """The same graph, with one way to run it for all that the command line does."""

    tokens: bool = True
    """Whether models are asked to stream: a server may not be able to."""

    @classmethod
    def of(cls, pattern: Pattern[Any], *, tokens: bool) -> Self:
        """Follow a pattern."""
        followed = cls.adopt(pattern, pattern.program)
        followed.tokens = tokens
        return followed

    def kept(self, thread: str) -> StateSnapshot | None:
        """Give what the checkpointer has of a thread; None where it knows no such thread."""
        try:
            snapshot = self.get_state(self._in_thread(None, thread))
        except FlowComposeError:
            raise
        except Exception as error:  # the engine reads in it what anybody may have written
            raise UnusableError(f"thread {thread!r} cannot be read: {explain(error)}") from error
        return None if snapshot.created_at is None else snapshot

    def stands(self, snapshot: StateSnapshot, thread: str) -> bool:
        """Say whether a thread is left in the middle of a run."""
        return self._goes_on(snapshot, thread)

    def read(self, snapshot: StateSnapshot, thread: str) -> Result[Any]:
        """Give what a thread holds."""
        return self._read(GraphOutput(snapshot.values), self._in_thread(None, thread))

    def begun(self, goal: Any, thread: str | None) -> Events:
        """Run anew."""
        config = self._in_thread(None, thread, goal)
        given = self._input(goal, None)
        return self._following(given, self.program.goal_of(given), config)

    def resumed(self, thread: str, snapshot: StateSnapshot, answer: Any) -> Events:
        """Go on where a run was left; of a finished one there is only the last event."""
        config = self._in_thread(None, thread)
        if not self._goes_on(snapshot, thread):
            return self._ended(snapshot, thread)
        return self._following(self._answer(answer, snapshot), "", config)

    def _ended(self, snapshot: StateSnapshot, thread: str) -> Generator[Event]:
        yield self._reader().completed(self.read(snapshot, thread))

    def _following(self, given: Any, goal: str, config: RunnableConfig) -> Events:
        reader = self._reader()
        first = reader.started(goal, (config.get("configurable") or {}).get("thread_id"))
        if self.program.async_parts:
            return self._aevents_of(given, config, reader, first)
        return self._events_of(given, config, reader, first)

    def _events_of(
        self, given: Any, config: RunnableConfig, reader: EventReader, first: Event
    ) -> Generator[Event]:
        yield first
        with closing(engine(self.stream(given, config, **self._options()))) as parts:
            for part in parts:
                yield from reader.read(part)
        reader.output = self._in_order(reader.output, config)
        yield self._completed(reader, config)

    async def _aevents_of(
        self, given: Any, config: RunnableConfig, reader: EventReader, first: Event
    ) -> AsyncGenerator[Event]:
        yield first
        async with aclosing(engine(self.astream(given, config, **self._options()))) as parts:
            async for part in parts:
                for event in reader.read(part):
                    yield event
        reader.output = await self._ain_order(reader.output, config)
        yield self._completed(reader, config)

    def _options(self) -> dict[str, Any]:
        modes = ["tasks", "messages", "custom", "values"]
        return {
            "stream_mode": [mode for mode in modes if self.tokens or mode != "messages"],
            "subgraphs": True,
            "version": "v2",
            "durability": self._durability(None),
        }
