"""The first of several blocks whose condition holds."""

from __future__ import annotations

from typing import Any

from flowcompose.core.blocks import Block
from flowcompose.core.context import Context
from flowcompose.core.flow.calls import Call, Calls
from flowcompose.core.flow.nodes.base import FlowNode, Outcome
from flowcompose.core.flow.ops import BranchOp
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.view import FlowView


class DecideNode(FlowNode):
    """The node that asks the conditions, in order."""

    def __init__(self, plan: FlowPlan, at: int, op: BranchOp) -> None:
        super().__init__(plan, at, op.name)
        self.op = op

    def calls(self, view: FlowView) -> Calls:
        """Find the key of the first condition that holds."""
        value = view.value
        for key, (condition, _) in self.op.branches.items():
            if (yield Call(condition, value, decides=True)):
                return key
        keys = ", ".join(map(repr, self.op.branches))
        msg = f"no condition holds for {value!r}; the branches are {keys}"
        raise LookupError(msg)

    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """Go to the block of that key."""
        return Outcome({}, (self.plan.nodes[self.at].parts[made],))


class BranchNode(FlowNode):
    """The node of one of the blocks."""

    def __init__(self, plan: FlowPlan, at: int, key: str, block: Block) -> None:
        super().__init__(plan, at, key)
        self.block = block

    def calls(self, view: FlowView) -> Calls:
        """Call the block."""
        return (yield Call(self.block, view.value))

    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """Go on with what it gave."""
        return Outcome(view.keep(made, self.step, ctx.meter.message_id), self.next)
