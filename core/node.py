"""How the loop's steps become nodes of a LangGraph graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.types import Command

from flowcompose.core.graph_block import AnyGraph

Goto = Command[str]


class Step(Protocol):
    """One step of the loop, on both paths."""

    def run(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Take the step."""
        ...

    async def arun(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Take the step on the async path."""
        ...


class StepNode(Runnable[Any, Any]):
    """A step as a node. A RunnableLambda would do, at the cost of 130 us more per turn."""

    def __init__(self, step: Step, name: str) -> None:
        self.name = name
        self._step = step

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Goto:
        """Take the step."""
        return self._step.run(input, config or {})

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Goto:
        """Take the step on the async path."""
        return await self._step.arun(input, config or {})


class GraphNode(RunnableLambda[Any, Any]):
    """A step that runs a graph, as a node in which the engine finds the graph.

    Only a graph that is found is drawn, streamed and resumed inside. The engine looks for it
    among the `deps` of a RunnableLambda; what a RunnableLambda does in a call, and what it
    costs, is not wanted.
    """

    def __init__(self, step: Step, graph: AnyGraph, name: str) -> None:
        super().__init__(step.run, step.arun, name=name)
        self._step = step
        self._graph = graph

    @property
    def deps(self) -> list[Any]:  # pyright: ignore[reportIncompatibleVariableOverride] - known, and not searched for
        """The graph."""
        return [self._graph]

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Goto:
        """Take the step."""
        return self._step.run(input, config or {})

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Goto:
        """Take the step on the async path."""
        return await self._step.arun(input, config or {})
