"""Blocks side by side: a node for each, and one that puts together what they gave."""

from __future__ import annotations

from typing import Any, NamedTuple

from flowcompose.core.context import Context
from flowcompose.core.explain import explain
from flowcompose.core.flow.calls import Call, Calls
from flowcompose.core.flow.nodes.base import FlowNode, Outcome, PlacedError
from flowcompose.core.flow.ops import ParallelOp, mapped
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.view import FlowView
from flowcompose.core.saving import is_saving
from flowcompose.resources.packed import copied, unpack


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
        given = copied(view.value)  # what one block does to it is not for the others
        return (yield Call(self.block, (yield from mapped(self.input, given))))

    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """Leave what it made and wrote to be joined, in the order in which the parts stand."""
        writes = view.ledger.take()
        live = {("part", self.part): (made, writes), ("error", self.part): None}
        update: dict[str, Any] = {"live": live}
        if is_saving(view.config):
            update["parts"] = {self.part: {"value": view.packed(made), "writes": writes}}
        return Outcome(update, self.join)

    def failed(self, error: Exception, view: FlowView, ctx: Context) -> Outcome:
        """Leave the failure to the join: the others are still at work, and not in vain."""
        view.ledger.discard()
        update: dict[str, Any] = {"live": {("error", self.part): error}}
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
        yield from ()
        parts = self.plan.nodes[self.at].parts
        for key, part in parts.items():
            error = view.live.get(("error", part))
            if error is not None:
                raise PlacedError(repr(key), error)
        if again := [part for part in parts.values() if "error" in _stored(view, part)]:
            return _Again(tuple(again))
        made = {key: _taken(view, part) for key, part in parts.items()}
        return list(made.values()) if self.op.listed else made

    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """Go on with all of it; after a resume, first do again what had failed."""
        if isinstance(made, _Again):
            return Outcome({}, made.parts)
        return Outcome(view.keep(made, self.step), self.next)


class _Again(NamedTuple):
    """The nodes of parts that failed in a process of which only the checkpoint is left."""

    parts: tuple[str, ...]


def _stored(view: FlowView, part: str) -> dict[str, Any]:
    stored: dict[str, dict[str, Any]] = view.state.get("parts") or {}
    return stored.get(part, {})


def _taken(view: FlowView, part: str) -> Any:
    """Give what a part made, and take over what it wrote to resources."""
    live, stored = view.live.get(("part", part)), _stored(view, part)
    value, writes = live or (unpack(stored.get("value")), stored.get("writes"))
    view.ledger.add(writes, {})
    return value
