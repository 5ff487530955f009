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


def graph_node(step: Step, graph: AnyGraph, name: str) -> Runnable[Any, Any]:
    """A step that runs `graph`, as a node in which the engine finds the graph.

    Only a graph that is found is drawn, streamed and resumed inside. The engine looks at the
    names that a closure loads, so both closures load `graph`.
    """

    def run(state: Any, config: RunnableConfig) -> Goto:
        _ = graph
        return step.run(state, config)

    async def arun(state: Any, config: RunnableConfig) -> Goto:
        _ = graph
        return await step.arun(state, config)

    return RunnableLambda(run, arun, name=name)
