"""A pattern's runs as the command line follows them: begun or resumed, with tokens or without."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
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
from flowcompose.runner.render.words import clean, count
from flowcompose.runner.teams import Job
from flowcompose.runner.unusable import UnusableError

Events = Generator[Event] | AsyncGenerator[Event]


@dataclass(frozen=True)
class Following:
    """A run that is to be followed."""

    events: Events
    """What happens; async where the pattern only works so."""
    before: Result[Any] | None = None
    """What a resumed run had before."""


def begin(job: Job, thread: str | None, *, tokens: bool) -> Following:
    """Run a job anew.

    Args:
        job: What to run.
        thread: Where it is kept; None without a file, or where the pattern has its own.
        tokens: Whether models are asked to stream: a server may not be able to.
    """
    return Following(Followed.of(job.pattern, tokens=tokens).begun(job.goal, thread))


def go_on(
    job: Job, thread: str, answers: Sequence[str], *, after: str | None, tokens: bool
) -> Following:
    """Go on with a job; one that had not begun begins.

    Args:
        job: What to run.
        thread: Where it is kept.
        answers: What it waits for.
        after: The checkpoint at which the thread stood before the run.
        tokens: Whether models are asked to stream.

    Raises:
        UnusableError: It waits for nothing, and there is an answer.
    """
    followed = Followed.of(job.pattern, tokens=tokens)
    kept = followed.kept(thread)
    if kept is None or _number(kept) == after:
        return Following(followed.begun(job.goal, thread))
    if answers and len(answers) != len(kept.interrupts):
        raise _other_answers(thread, [each.value for each in kept.interrupts], len(answers))
    answer = list(answers) if len(answers) > 1 else next(iter(answers), None)
    events = followed.resumed(thread, kept, answer)
    return Following(events, followed.read(kept, thread))


def _other_answers(thread: str, questions: Sequence[Any], given: int) -> UnusableError:
    if not questions:
        return UnusableError(f"thread {thread!r} waits for no answer: leave out --answer")
    asked = ", ".join(clean(str(each)) for each in questions)
    told = f"thread {thread!r} waits for {count(len(questions), 'answer')} ({asked})"
    return UnusableError(f"{told}, and got {given}: give --answer once for each question")


@dataclass(frozen=True)
class Standing:
    """Where a thread stands."""

    checkpoint: str | None = None
    """The last one; None where there is no such thread."""
    unfinished: bool = False
    """Whether it was left in the middle of a run."""


def standing_of(job: Job, thread: str) -> Standing:
    """Say where a thread stands before a run."""
    followed = Followed.of(job.pattern, tokens=False)
    kept = followed.kept(thread)
    return Standing() if kept is None else Standing(_number(kept), followed.stands(kept, thread))


def _number(snapshot: StateSnapshot) -> str:
    return str((snapshot.config.get("configurable") or {}).get("checkpoint_id"))


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
