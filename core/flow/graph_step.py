"""A graph as a step of a flow: which input a value makes, and which value its output is."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from flowcompose.core.blocks import Block, BlockLike, as_block
from flowcompose.core.context import Context
from flowcompose.core.flow.rescued import Rescued
from flowcompose.core.graph_block import AnyGraph, GraphBlock, input_keys, is_graph
from flowcompose.core.handover import Lasting
from flowcompose.core.untyped import items_of, mapping_of
from flowcompose.resources.packed import packed_or_none


class _OwnState(dict[str, Any]):
    """An input that the user wrote as the graph's own; the answer is then its state as well."""


class GraphStep(GraphBlock):
    """Gives a pattern a goal, a flow the value itself, and any other graph messages or its state.

    A text is the goal of a pattern, and the last human message of a graph that takes messages.
    A mapping is the graph's own input. Of a pattern or a flow the value is its typed output; of
    another graph that was given its own input, its output; of one that was given messages, the
    text of its answer.
    """

    def __init__(self, graph: AnyGraph) -> None:
        self.graph = graph
        self.name = graph.get_name()
        self._keys = input_keys(graph)

    def _given(self, value: Any, ctx: Context) -> dict[str, Any]:
        session, history = dict(ctx.session.state), [*ctx.history]
        if self._takes_value:
            packed = {"packed_input": packed_or_none(value)}
            return {**packed, "messages": history, "session": session}
        if isinstance(value, Rescued):  # what happened, in words
            value = str(value)
        mapping = mapping_of(value)
        if "goal" not in self._keys or (mapping is not None and self.program is None):
            return self._state_of(value, mapping, history)
        if isinstance(value, str):
            return {"goal": value, "messages": history, "session": session}
        if mapping is not None and {"goal", "messages"} & set(mapping):
            return {"session": session, **mapping}
        raise TypeError(self._refusal("a text or a mapping with 'goal'", value))

    def lasting(self, value: Any, ctx: Context) -> Lasting | None:
        """A step's value is stored: what it was made of need not be there any more."""
        return None

    def _state_of(
        self, value: Any, mapping: dict[Any, Any] | None, history: list[BaseMessage]
    ) -> dict[str, Any]:
        if mapping is not None:
            return _OwnState(mapping)
        if "messages" not in self._keys:
            keys = ", ".join(sorted(self._keys))
            raise TypeError(self._refusal(f"a mapping for its input ({keys})", value))
        if isinstance(value, str):
            return {"messages": [*history, HumanMessage(value)]}
        messages = [value] if isinstance(value, BaseMessage) else items_of(value)
        if messages is None:
            raise TypeError(self._refusal("a text, messages or a mapping", value))
        return {"messages": messages}

    def _refusal(self, wanted: str, value: Any) -> str:
        return f"{self.name!r} takes {wanted}, got {value!r}; pass input= to make it of the value"

    def read(
        self, output: object, given: dict[str, Any], ctx: Context, config: RunnableConfig
    ) -> Any:
        """Give the state of a graph that was given its own state; else as for a member."""
        state = mapping_of(output)
        if state is not None and isinstance(given, _OwnState):
            return state
        return super().read(output, given, ctx, config)


def as_step(block: BlockLike) -> Block:
    """Give a block for anything that can be a step.

    Raises:
        TypeError: It cannot.
    """
    made = GraphStep(block) if is_graph(block) else as_block(block)
    return GraphStep(made.graph) if type(made) is GraphBlock else made
