"""A block for each item of a list, so many at a time.

Each item is a task of the engine's own: it is written when it is done, so that a run that was
killed does not do it again, and a graph in it is checkpointed and resumed inside.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.func import task

from flowcompose.core.context import Context
from flowcompose.core.flow.calls import Calls, adrive, drive
from flowcompose.core.flow.nodes.base import FlowNode, Outcome
from flowcompose.core.flow.ops import EachOp, mapped
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.view import FlowView
from flowcompose.core.node import Goto
from flowcompose.core.saving import is_saving
from flowcompose.core.untyped import items_of, unchecked
from flowcompose.resources.packed import unpack
from flowcompose.resources.usage import Tokens
from flowcompose.resources.writes import WRITES


class EachNode(FlowNode):
    """The node of a `for_each`."""

    def __init__(self, plan: FlowPlan, at: int, op: EachOp) -> None:
        super().__init__(plan, at, op.name)
        self.op = op

    def run(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Do it on the sync path."""
        view = FlowView(self.plan, state, config)
        ctx = view.context(self.speaker)
        try:
            view.ledger.load()
            items = drive(self.calls(view), ctx)
            outcome = self.conclude(self._each(_Items(self, view, items)), view, ctx)
            view.ledger.save()
        except GraphBubbleUp:
            raise
        except Exception as error:
            outcome = self.failed(error, view, ctx)
        return self.routed(outcome, view, ctx)

    async def arun(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Do it on the async path."""
        view = FlowView(self.plan, state, config)
        ctx = view.context(self.speaker)
        try:
            await view.ledger.aload()
            items = await adrive(self.calls(view), ctx)
            made = await self._aeach(_Items(self, view, items))
            outcome = self.conclude(made, view, ctx)
            await view.ledger.asave()
        except GraphBubbleUp:
            raise
        except Exception as error:
            outcome = self.failed(error, view, ctx)
        return self.routed(outcome, view, ctx)

    def calls(self, view: FlowView) -> Calls:
        """Get the items."""
        given = yield from mapped(self.op.input, view.value)
        items = items_of(given)
        if items is None:
            msg = f"for_each needs a list, got {type(given).__name__}: {given!r}"
            raise TypeError(msg)
        return items

    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """Go on with the list of what the block gave, in the items' order."""
        for each in made:
            view.ledger.add(each["writes"], {})
            if each["usage"]:
                ctx.meter.add_tokens(Tokens.model_validate(each["usage"]))
        return Outcome(view.keep([each["value"] for each in made], self.step), self.next)

    def _each(self, items: _Items) -> list[dict[str, Any]]:
        futures: list[Any] = []
        running: set[Any] = set()
        for i in range(len(items.items)):
            if len(running) >= self.op.max_concurrency:
                done, running = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
                if any(future.exception() for future in done):
                    break
            futures.append(_task(i, items.run)(i))
            running.add(futures[-1])
        concurrent.futures.wait(running)  # what is at work is not in vain, even if one failed
        return items.read_all(futures)

    async def _aeach(self, items: _Items) -> list[dict[str, Any]]:
        futures: list[Any] = []
        running: set[Any] = set()
        for i in range(len(items.items)):
            if len(running) >= self.op.max_concurrency:
                done, running = await asyncio.wait(running, return_when="FIRST_COMPLETED")
                if any(future.exception() for future in done):
                    break
            futures.append(_task(i, items.arun)(i))
            running.add(futures[-1])
        if running:
            await asyncio.wait(running)
        return items.read_all(futures)


class _Items:
    """The items of one pass, and what became of those that are done in this process."""

    def __init__(self, node: EachNode, view: FlowView, items: Sequence[Any]) -> None:
        self.node = node
        self.view = view
        self.items = items
        self.made: dict[int, Any] = {}

    def run(self, i: int) -> dict[str, Any]:
        """Call the block for item `i`, in a task of the engine's."""
        view = self._view()
        ctx = view.context(self.node.speaker)
        try:
            view.ledger.load()
            made = self.node.op.block.run(self.items[i], ctx)
            view.ledger.save()
        except GraphBubbleUp:
            raise
        except Exception as error:
            error.add_note(f"in the item {i}")
            raise
        return self._written(i, made, view, ctx)

    async def arun(self, i: int) -> dict[str, Any]:
        """Call the block for item `i`, on the async path."""
        view = self._view()
        ctx = view.context(self.node.speaker)
        try:
            await view.ledger.aload()
            made = await self.node.op.block.arun(self.items[i], ctx)
            await view.ledger.asave()
        except GraphBubbleUp:
            raise
        except Exception as error:
            error.add_note(f"in the item {i}")
            raise
        return self._written(i, made, view, ctx)

    def read_all(self, futures: Sequence[Any]) -> list[dict[str, Any]]:
        """Give what the items came to; the first error counts, questions are asked together."""
        errors = [error for future in futures if (error := future.exception())]
        failed = [error for error in errors if not isinstance(error, GraphInterrupt)]
        if failed:
            raise failed[0]
        if errors:
            raise GraphInterrupt([each for error in errors for each in error.args[0]])
        return [self._read(i, future.result()) for i, future in enumerate(futures)]

    def _read(self, i: int, written: dict[str, Any]) -> dict[str, Any]:
        """Give the object itself, or what an earlier process wrote."""
        return {**written, "value": self.made[i] if i in self.made else unpack(written["value"])}

    def _view(self) -> FlowView:
        """A view of its own for each item: the task's config, its own resources to write."""
        return FlowView(self.view.plan, self.view.state, get_config())

    def _written(self, i: int, made: Any, view: FlowView, ctx: Context) -> dict[str, Any]:
        self.made[i] = made
        value = view.packed(made) if is_saving(self.view.config) else None
        writes = view.ledger.update().get(WRITES)
        return {"value": value, "usage": ctx.meter.as_json(), "writes": writes}


def _task(i: int, function: Callable[..., Any]) -> Any:
    """Make a task of the engine's, whose own type fits no method."""
    return unchecked(task)(name=f"[{i}]")(function)
