"""A block for each item of a list, so many at a time."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

from flowcompose.core.concurrency import limit_of
from flowcompose.core.context import Context
from flowcompose.core.flow.calls import Calls, adrive, drive
from flowcompose.core.flow.nodes.base import FlowNode, Outcome
from flowcompose.core.flow.nodes.items import Items
from flowcompose.core.flow.ops import EachOp, mapped
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.view import FlowView
from flowcompose.core.untyped import items_of


class EachNode(FlowNode):
    """The node of a `for_each`. It stays at work until all of its items are done."""

    def __init__(self, plan: FlowPlan, at: int, op: EachOp) -> None:
        super().__init__(plan, at, op.name)
        self.op = op

    def calls(self, view: FlowView) -> Calls:
        """Get the items."""
        given = yield from mapped(self.op.input, view.value)
        items = items_of(given)
        if items is None:
            msg = f"for_each needs a list, got {type(given).__name__}: {given!r}"
            raise TypeError(msg)
        return items

    def make(self, view: FlowView, ctx: Context) -> Any:
        """Start the items in their order, as many as may be at work; stop at a failure."""
        items = Items(self.op.block, self.speaker, view, drive(self.calls(view), ctx))
        running, limit = set[Any](), self._limit(view)
        while items.left:
            if len(running) >= limit:
                done, running = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
                if any(each.exception() for each in done):
                    break
            running.add(items.start(items.run))
        concurrent.futures.wait(running)  # what is at work is not in vain, even if one failed
        return items.read(ctx)

    async def amake(self, view: FlowView, ctx: Context) -> Any:
        """The same on the async path."""
        items = Items(self.op.block, self.speaker, view, await adrive(self.calls(view), ctx))
        running, limit = set[Any](), self._limit(view)
        while items.left:
            if len(running) >= limit:
                done, running = await asyncio.wait(running, return_when="FIRST_COMPLETED")
                if any(each.exception() for each in done):
                    break
            running.add(items.start(items.arun))
        if running:
            await asyncio.wait(running)
        return items.read(ctx)

    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """Go on with the list of what the block gave, in the items' order."""
        return Outcome(view.keep(made, self.step), self.next)

    def _limit(self, view: FlowView) -> int:
        """The user's limit for the whole graph holds too; this node takes one place of it."""
        whole = limit_of(view.config)
        own = self.op.max_concurrency
        return min(own, max(1, whole - 1)) if whole else own
