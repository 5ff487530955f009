"""What can be done with a flow besides adding to it: run it, follow it, draw it, hand it on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from flowcompose.core.pattern import Durability, Pattern
from flowcompose.core.results import Result

if TYPE_CHECKING:  # some 12 ms, which only those pay who follow events
    from flowcompose.core.events import Event

OutputT = TypeVar("OutputT")


class Runs(ABC, Generic[OutputT]):
    """Something that compiles to a pattern, and does all that a pattern does without threads."""

    @abstractmethod
    def compile(self) -> Pattern[OutputT]:
        """Make the graph."""

    def run(
        self,
        value: Any,
        *,
        session: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> Result[OutputT]:
        """Run to the end, without a checkpointer: see `Pattern.run`, and `compile` for threads.

        Raises:
            DefinitionError: The value does not fit the input schema.
            RunError: A step failed; `.result.output` is the flow's value before it.
            OutputError: The last value does not fit the output schema.
        """
        return self._pattern.run(
            value, session=session, thread_id=thread_id, config=config, durability=durability
        )

    async def arun(
        self,
        value: Any,
        *,
        session: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> Result[OutputT]:
        """`run` on the async path."""
        return await self._pattern.arun(
            value, session=session, thread_id=thread_id, config=config, durability=durability
        )

    def events(
        self,
        value: Any,
        *,
        session: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> Generator[Event]:
        """Run, and give what happens as it happens; the last event carries the result."""
        return self._pattern.events(
            value, session=session, thread_id=thread_id, config=config, durability=durability
        )

    def aevents(
        self,
        value: Any,
        *,
        session: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        durability: Durability | None = None,
    ) -> AsyncGenerator[Event]:
        """`events` on the async path."""
        return self._pattern.aevents(
            value, session=session, thread_id=thread_id, config=config, durability=durability
        )

    def mermaid(self) -> str:
        """Give the diagram as Mermaid text; what is inside of steps is drawn too."""
        return self._pattern.mermaid()

    def as_graph(self) -> Pattern[OutputT]:
        """Give the flow as a graph, as which it is a block."""
        return self._pattern

    def as_tool(self, *, name: str | None = None, description: str | None = None) -> BaseTool:
        """Give a LangChain tool that runs this flow on the `input` that a model gives.

        Args:
            name: What the model calls it by; by default the flow's name as a slug.
            description: What the model goes by; by default the names of the steps.

        Raises:
            DefinitionError: The name is none that a provider takes.
        """
        return self._pattern.as_tool(name=name, description=description)

    @cached_property
    def _pattern(self) -> Pattern[OutputT]:
        return self.compile()
