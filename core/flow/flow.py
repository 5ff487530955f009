"""The flow as its user writes it: a value that grows by one step with each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar, overload

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from pydantic import BaseModel

from flowcompose.core.blocks import BlockLike
from flowcompose.core.errors import DefinitionError
from flowcompose.core.flow.build import FlowBuilder
from flowcompose.core.flow.checks import Function, StepReader, check_flow
from flowcompose.core.flow.control import Control
from flowcompose.core.flow.ops import EachOp, ParallelOp, StepOp
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.pattern import Pattern
from flowcompose.core.resource_use import ResourcesLike, read_resources
from flowcompose.core.untyped import mapping_of

OutputT = TypeVar("OutputT")
ModelT = TypeVar("ModelT", bound=BaseModel)


class Flow(Control[OutputT]):
    """Blocks in sequence: what one step gives, the next one gets.

    Choose it to make one program of model calls, functions and patterns, and a pattern to
    have several agents speak to each other. A flow is a value: each method gives a new flow,
    and the one that it was called on stays as it is. It is a block itself: a step of another
    flow, a member, a tool. It compiles to one LangGraph graph.

    A step may be a function of the value, or of the value and a `Context`; a `generator`; a
    `handler`; a flow; a pattern; a LangChain Runnable; a compiled graph. A pattern takes a
    text as its goal, or a mapping with `goal`, and gives its typed output.

    Args:
        name: Names the graph and the errors.
        input_schema: A pydantic model that a run's input must fit; the first step gets one.
        output_schema: A pydantic model that the last value must fit: `result.output` is one.
        resources: Shared state that steps read and write as `ctx.resources[...]`, besides
            what the blocks name themselves: a list, or a mapping from key to resource.

    Raises:
        DefinitionError: An argument is not of its kind, or two resources conflict. Each
            method raises it too, and says which step it is about.

    The methods are those of flow-state-dev's sequencer.

    Example:
        ```python
        from flowcompose import Flow

        greet = (
            Flow("greet")
            .step(str.strip)
            .branch(
                {
                    "short": (lambda name: len(name) < 4, str.upper),
                    "long": (lambda name: True, str.title),
                }
            )
            .map(lambda name: f"Hello, {name}!")
        )
        print(greet.run(" ann ").output)
        #> Hello, ANN!
        ```
    """

    @overload
    def __init__(
        self: Flow[Any],
        name: str,
        *,
        input_schema: type[BaseModel] | None = None,
        output_schema: None = None,
        resources: ResourcesLike = (),
    ) -> None: ...

    @overload
    def __init__(
        self: Flow[ModelT],
        name: str,
        *,
        input_schema: type[BaseModel] | None = None,
        output_schema: type[ModelT],
        resources: ResourcesLike = (),
    ) -> None: ...

    def __init__(
        self,
        name: str,
        *,
        input_schema: type[BaseModel] | None = None,
        output_schema: type[BaseModel] | None = None,
        resources: ResourcesLike = (),
    ) -> None:
        check_flow(name, input_schema, output_schema, resources)
        own = read_resources(resources)
        declared = ((f"flow {name!r}", own),) if own else ()
        self._plan = FlowPlan(name, (), input_schema, output_schema, declared)

    def step(
        self, block: BlockLike, *, name: str | None = None, input: Function | None = None
    ) -> Self:
        """Add a block: its value is the flow's from there on.

        Args:
            block: What to call with the value.
            name: Names the step in errors, events and the diagram; by default the block's
                name, with a number if an earlier step has it.
            input: Makes the block's input of the value.
        """
        return self._stepped("step", block, name, input)

    def step_if(
        self,
        condition: Function,
        block: BlockLike,
        *,
        name: str | None = None,
        input: Function | None = None,
    ) -> Self:
        """Add a block that is called where `condition` holds; else the value passes by it.

        Choose it over `branch` where there is nothing else to do.

        Args:
            condition: A function of the value, or of the value and ctx, sync or async.
            block: What to call with the value.
            name: The step's name.
            input: Makes the block's input of the value.
        """
        return self._stepped("step_if", block, name, input, condition)

    def map(self, function: Function, *, name: str | None = None) -> Self:
        """Add a function that only turns the value into another one.

        Choose it over `step` for what is quick and of no interest to whoever follows the run:
        there are no events of it, and on the async path it gets no thread of its own.

        Args:
            function: A function of the value, or of the value and ctx, sync or async.
            name: The step's name.
        """
        read = StepReader(self.name, self._plan.ops, "map", name)
        made = read.needed("the function", function)
        return self._with(read, StepOp(read.name(function), made, silent=True))

    def tap(
        self, block: BlockLike, *, name: str | None = None, input: Function | None = None
    ) -> Self:
        """Add a block that is called for its effect: the value stays as it is.

        If it fails, the flow fails. What it does to plain data it does to a copy.

        Args:
            block: What to call with the value; what it gives is dropped.
            name: The step's name.
            input: Makes the block's input of the value.
        """
        return self._stepped("tap", block, name, input, passes=True)

    def tap_if(
        self,
        condition: Function,
        block: BlockLike,
        *,
        name: str | None = None,
        input: Function | None = None,
    ) -> Self:
        """Add a `tap` that is called where `condition` holds.

        Args:
            condition: A function of the value, or of the value and ctx, sync or async.
            block: What to call with the value; what it gives is dropped.
            name: The step's name.
            input: Makes the block's input of the value.
        """
        return self._stepped("tap_if", block, name, input, condition, passes=True)

    def parallel(
        self,
        blocks: Mapping[str, BlockLike] | Sequence[BlockLike],
        *,
        name: str | None = None,
        input: Function | None = None,
    ) -> Self:
        """Add blocks that all get the value, at the same time.

        The value is then a dict of what they gave, by key and in the order written; for a
        list of blocks, a list. If one fails, the step fails once the others are done. Choose it
        for different work on one value, and `for_each` for the same work on several.

        Args:
            blocks: Blocks by key, or a list of them.
            name: The step's name.
            input: Makes the blocks' input of the value.
        """
        read = StepReader(self.name, self._plan.ops, "parallel", name)
        listed = mapping_of(blocks) is None
        mapped = read.function("input", input)
        return self._with(read, ParallelOp(read.name(), read.blocks(blocks), mapped, listed))

    def for_each(
        self,
        block: BlockLike,
        *,
        max_concurrency: int = 8,
        name: str | None = None,
        input: Function | None = None,
    ) -> Self:
        """Add a block that is called for each item of a list; the value is the list of answers.

        With a checkpointer each item that is done is kept: a resumed run does only the rest.

        Args:
            block: What to call with each item.
            max_concurrency: So many items are at work at a time; the answers keep the order
                of the items.
            name: The step's name.
            input: Makes the list of the value.

        Example:
            ```python
            from flowcompose import Flow

            flow = Flow("lengths").map(str.split).for_each(len, max_concurrency=2)
            print(flow.run("a flow of blocks").output)
            #> [1, 4, 2, 6]
            ```
        """
        read = StepReader(self.name, self._plan.ops, "for_each", name)
        made, mapped = read.block(block), read.function("input", input)
        read.count("max_concurrency", max_concurrency)
        return self._with(read, EachOp(read.name(block), made, max_concurrency, mapped))

    def compile(
        self,
        *,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        store: BaseStore | None = None,
    ) -> Pattern[OutputT]:
        """Make the graph, with a checkpointer for threads and `resume`, and a store.

        Args:
            checkpointer: Where LangGraph keeps runs, for `thread_id` and `resume`.
            store: LangGraph's store, for resources of the user.

        Raises:
            DefinitionError: The flow has no step.
        """
        if not self._plan.ops:
            problem = "a flow needs at least one step, got none: add one with .step(...)"
            raise DefinitionError(f"Flow {self.name!r}", [problem])
        return FlowBuilder(self._plan).compile(checkpointer=checkpointer, store=store)

    def _stepped(
        self,
        method: str,
        block: BlockLike,
        name: str | None,
        input: Function | None,
        condition: Function | None = None,
        *,
        passes: bool = False,
    ) -> Self:
        read = StepReader(self.name, self._plan.ops, method, name)
        asked = read.needed("condition", condition) if method.endswith("_if") else None
        made, mapped = read.block(block), read.function("input", input)
        return self._with(read, StepOp(read.name(block), made, mapped, asked, passes))
