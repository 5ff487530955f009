"""Blocks side by side: a node for each, and one that puts together what they gave."""

from __future__ import annotations

from typing import Any

from flowcompose.core.context import Context
from flowcompose.core.explain import explain
from flowcompose.core.flow.calls import Call, Calls
from flowcompose.core.flow.nodes.base import FlowNode, Outcome
from flowcompose.core.flow.nodes.rescue import StoredError
from flowcompose.core.flow.ops import ParallelOp, mapped
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.view import FlowView
from flowcompose.core.saving import is_saving
from flowcompose.resources.packed import unpack


class PartNode(FlowNode):
    """The node of one of the blocks."""

    def __init__(self, plan: FlowPlan, at: int, op: ParallelOp, key: str) -> None:
        super().__init__(plan, at, key)
        self.block = op.blocks[key]
        self.input = op.input
        self.part = plan.nodes[at].parts[key]
        self.join = (plan.nodes[at].main,)

    def calls(self, view: FlowView) -> Calls:
        """Map the input, call the block."""
        return (yield Call(self.block, (yield from mapped(self.input, view.value))))

    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """Leave it to be joined."""
        update: dict[str, Any] = {"live": {self.part: made, f"error of {self.part}": None}}
        if is_saving(view.config):
            update["parts"] = {self.part: {"value": view.packed(made)}}
        return Outcome(update, self.join)

    def failed(self, error: Exception, view: FlowView, ctx: Context) -> Outcome:
        """Leave a failure that will be rescued to the join: the others are still at work."""
        view.ledger.discard()
        if self.plan.rescue_of(self.at, error) is None:
            raise self.error(error, view, ctx) from error
        update: dict[str, Any] = {"live": {f"error of {self.part}": error}}
        if is_saving(view.config):
            update["parts"] = {self.part: {"error": explain(error)}}
        return Outcome(update, self.join)


class JoinNode(FlowNode):
    """The node that puts the parts together."""

    def __init__(self, plan: FlowPlan, at: int, op: ParallelOp) -> None:
        super().__init__(plan, at, op.name)
        self.op = op

    def calls(self, view: FlowView) -> Calls:
        """Read what the parts gave; the first error among them counts."""
        made: dict[str, Any] = {}
        for key, part in self.plan.nodes[self.at].parts.items():
            made[key] = _part(view, part)
        yield from ()
        return list(made.values()) if self.op.listed else made

    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """Go on with all of it."""
        return Outcome(view.keep(made), self.next)


def _part(view: FlowView, part: str) -> Any:
    parts: dict[str, dict[str, Any]] = view.state.get("parts") or {}
    live, stored = view.live, parts.get(part, {})
    error = live.get(f"error of {part}") or stored.get("error")
    if error is not None:
        raise error if isinstance(error, Exception) else StoredError(error)
    return live[part] if part in live else unpack(stored.get("value"))
