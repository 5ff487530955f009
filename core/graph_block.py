"""A compiled LangGraph graph as a block: what it is given, and how its output is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel.protocol import PregelProtocol

from flowcompose.core.context import Context
from flowcompose.core.messages import happenings
from flowcompose.core.stream import NODE
from flowcompose.core.turn_input import TurnInput
from flowcompose.resources.usage import Tokens

AnyGraph = PregelProtocol[Any, Any, Any, Any]
"""A compiled graph of any state."""


def is_graph(value: object) -> TypeGuard[AnyGraph]:
    """Say whether `value` is a compiled graph, a pattern or a remote one included."""
    return isinstance(value, PregelProtocol)


class GraphBlock:
    """Gives a graph `messages`, or `goal` and `messages` if it has a goal as patterns do."""

    async_only = False

    def __init__(self, graph: AnyGraph) -> None:
        self.graph = graph
        self.name = graph.get_name()
        self._keys = _input_keys(graph)
        if not self._keys & {"goal", "messages"}:
            msg = (
                f"the graph {self.name!r} must take 'messages' or 'goal', "
                f"it takes {', '.join(sorted(self._keys)) or 'nothing'}"
            )
            raise TypeError(msg)

    def run(self, value: Any, ctx: Context) -> Any:
        """Invoke the graph."""
        given = self._given(value, ctx)
        return self._read(self.graph.invoke(given, _inner(ctx.config)), given, ctx)

    async def arun(self, value: Any, ctx: Context) -> Any:
        """Invoke the graph on the async path."""
        given = self._given(value, ctx)
        return self._read(await self.graph.ainvoke(given, _inner(ctx.config)), given, ctx)

    def _given(self, value: Any, ctx: Context) -> dict[str, Any]:
        if not isinstance(value, TurnInput):
            return value if isinstance(value, dict) else {next(iter(self._keys)): value}
        if "goal" not in self._keys:
            return {"messages": value.messages}
        before = [*value.history, *happenings(ctx.contributions.raw, ctx.critiques)]
        offered = {"goal": value.goal, "messages": before, "session": dict(ctx.session.state)}
        return {key: given for key, given in offered.items() if key in self._keys}

    def _read(self, output: Any, given: Mapping[str, Any], ctx: Context) -> Any:
        """Take the graph's answer: its structured one, its `output`, or its last words."""
        if not isinstance(output, Mapping):
            return output
        usage = output.get("usage")
        if usage:
            ctx.meter.add_tokens(Tokens.model_validate(usage))
        said = _new_answers(output, given)
        for message in () if usage else said:
            ctx.meter.add(message)
        for key in ("structured_response", "output"):
            if output.get(key) is not None:
                return output[key]
        return said[-1].text if said else dict(output)


def _new_answers(output: Mapping[str, Any], given: Mapping[str, Any]) -> list[AIMessage]:
    messages: list[BaseMessage] = output.get("messages") or []
    known = {message.id for message in given.get("messages", ()) if message.id}
    return [m for m in messages if isinstance(m, AIMessage) and m.id not in known]


def _inner(config: RunnableConfig) -> RunnableConfig:
    """Mark what runs inside as not being nodes of ours; a pattern's own nodes mark themselves."""
    return {**config, "metadata": {**(config.get("metadata") or {}), NODE: ""}}


def _input_keys(graph: AnyGraph) -> set[str]:
    if isinstance(graph, CompiledStateGraph):
        builder = graph.builder  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - the graph's types are its own
        return set(builder.schemas[builder.input_schema])  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - see above
    return {"messages"}  # a remote graph: the convention of the ecosystem
