"""A block as a tool: what a model is told of it, and what it is given when it is called."""

from __future__ import annotations

import inspect
import json
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field, create_model

from flowcompose.core.blocks import Block, BlockLike, FunctionBlock, as_block
from flowcompose.core.calling import by_nobody, caller_in
from flowcompose.core.context import Context
from flowcompose.core.errors import DefinitionError
from flowcompose.core.graph_block import GraphBlock
from flowcompose.core.ledger import Ledger
from flowcompose.core.messages import slug
from flowcompose.core.pattern_graph import PatternGraph
from flowcompose.core.resource_use import outer_resources_of
from flowcompose.core.saving import not_saving
from flowcompose.core.untyped import unchecked
from flowcompose.resources.structured_data import to_json


class BlockTool(StructuredTool):
    """A LangChain tool that runs a block. Made by `as_tool` of the block."""

    resources: dict[str, Any] = Field(default_factory=dict[str, Any])
    """What the block uses, by key."""


def block_tool(
    given: BlockLike, name: str | None = None, description: str | None = None
) -> BlockTool:
    """Make a tool of a block.

    Raises:
        DefinitionError: The name is none that a provider takes, or a description is lacking.
    """
    block = as_block(given)
    if isinstance(block, GraphBlock) and not isinstance(block, GraphTool):
        block = GraphTool(block.graph)
    schema = _input_schema(block)
    argument = "goal" if isinstance(block, GraphTool) and block.takes_goal else "input"

    def value_of(arguments: dict[str, Any]) -> Any:
        return arguments[argument] if schema is None else schema.model_validate(arguments)

    def run(config: RunnableConfig, **arguments: Any) -> str:
        ctx, ledger = _context(block, config)
        with ledger.kept():
            return _text(block.run(value_of(arguments), ctx))

    async def arun(config: RunnableConfig, **arguments: Any) -> str:
        ctx, ledger = _context(block, config)
        async with ledger.akept():
            return _text(await block.arun(value_of(arguments), ctx))

    return BlockTool(
        name=_name(block, name),
        description=_description(block, description),
        args_schema=schema
        or create_model(f"{argument}_of_tool", **unchecked({argument: (str, ...)})),
        func=None if block.async_only else run,
        coroutine=arun,
        resources=dict(outer_resources_of(block)),
    )


class GraphTool(GraphBlock):
    """A graph that works on what the model asks, not on the goal of the run around it."""

    def __init__(self, graph: Any) -> None:
        # A node that is resumed asks its model anew, so what a checkpoint kept of the graph
        # would be the answer to an old question.
        plain = graph.copy({"checkpointer": False}) if isinstance(graph, PatternGraph) else graph
        super().__init__(plain)

    @property
    def async_only(self) -> bool:  # type: ignore[override]  # it depends on what is inside
        """Whether something inside only works with `arun`."""
        return self.program is not None and bool(self.program.async_parts)

    @property
    def takes_goal(self) -> bool:
        """Whether the graph has a goal and no other input, as patterns do."""
        return "goal" in self._keys and "input" not in self._keys

    def _inner(self, value: Any, ctx: Context) -> RunnableConfig:
        config = not_saving(super()._inner(value, ctx))
        # A block that is a tool in there is called by something in there.
        return by_nobody(config)

    def _given(self, value: Any, ctx: Context) -> dict[str, Any]:
        if self.program is None:
            key = "goal" if self.takes_goal else "messages"
            return {key: value if self.takes_goal else [HumanMessage(value)]}
        given = self.program.read_input(value)
        session = dict(ctx.session.state)
        return {**given, "session": session} if session else given


def _context(block: Block, config: RunnableConfig) -> tuple[Context, Ledger]:
    """The context of the generator that calls, so that it pays and its resources are seen."""
    caller = caller_in(config)
    if caller is not None:
        return caller.for_tool(), caller.ledger.lent()
    ctx = Context.outside(config, outer_resources_of(block))
    return ctx.for_tool(), ctx.ledger


def _name(block: Block, name: object) -> str:
    wanted = slug(block.name) if name is None else name
    if isinstance(wanted, str) and wanted and wanted == slug(wanted):
        return wanted
    allowed = "letters, digits, '_' and '-', at most 64 of them"
    raise DefinitionError(f"{block.name!r} as a tool", [f"name must be {allowed}, got {name!r}"])


def _description(block: Block, description: object) -> str:
    """What the model reads: without it, it would not know the use of the tool."""
    own = _own_description(block) if description is None else description
    if isinstance(own, str) and own.strip():
        return own.strip()
    subject = f"{block.name!r} as a tool"
    if description is not None:
        problem = f"description must be a non-empty string, got {description!r}"
    else:
        problem = "it has no description that a model could go by: pass .as_tool(description=...)"
    raise DefinitionError(subject, [problem])


def _own_description(block: Block) -> str | None:
    if isinstance(block, FunctionBlock):
        return inspect.getdoc(block.function)
    graph = block.graph if isinstance(block, GraphBlock) else None
    program = graph.program if isinstance(graph, PatternGraph) else None
    return program.summary if program is not None else None


def _input_schema(block: Block) -> type[BaseModel] | None:
    """The pydantic model that a flow takes, or that a function's first parameter names."""
    if isinstance(block, GraphBlock):
        graph = block.graph
        program = graph.program if isinstance(graph, PatternGraph) else None
        return program.input_schema if program is not None else None
    if not isinstance(block, FunctionBlock):
        return None
    first = next(iter(inspect.signature(block.function).parameters.values()), None)
    wanted: Any = None if first is None else first.annotation
    if isinstance(wanted, str):  # postponed evaluation
        scope = getattr(inspect.unwrap(block.function), "__globals__", {})
        wanted = scope.get(wanted)
    return wanted if isinstance(wanted, type) and issubclass(wanted, BaseModel) else None


def _text(value: Any) -> str:
    """What the model reads of the block's value."""
    if isinstance(value, str):
        return value
    if isinstance(value, BaseMessage):
        return str(value.text)
    if isinstance(value, BaseModel):
        return value.model_dump_json(by_alias=True)
    return json.dumps(to_json(value), ensure_ascii=False)
