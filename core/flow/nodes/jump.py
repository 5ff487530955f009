"""Steps that only say where the run goes: back, or to its end."""

from __future__ import annotations

from typing import Any

from langgraph.constants import END

from flowcompose.core.context import Context
from flowcompose.core.flow.calls import Call, Calls
from flowcompose.core.flow.nodes.base import FlowNode, Outcome
from flowcompose.core.flow.ops import ExitOp, LoopOp
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.view import FlowView


class LoopNode(FlowNode):
    """The node that may jump back."""

    def __init__(self, plan: FlowPlan, at: int, op: LoopOp) -> None:
        super().__init__(plan, at, op.name)
        self.op = op
        self.back = plan.entry(op.target)
        self.inner = [each.name for each in plan.ops[op.target : at] if isinstance(each, LoopOp)]

    def calls(self, view: FlowView) -> Calls:
        """Ask whether to jump."""
        when = self.op.when
        return True if when is None else (yield Call(when, view.value, decides=True))

    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """Jump back, or go on: because it was said so, or because of the cap."""
        counts: dict[str, int] = view.state.get("loops") or {}
        count = counts.get(self.op.name, 0)
        if made and count < self.op.max_iterations:
            fresh = dict.fromkeys(self.inner, 0)  # loops inside start anew
            return Outcome({"loops": {**counts, **fresh, self.op.name: count + 1}}, self.back)
        capped = bool(made) and self.op.when is not None
        cap = {"step": self.op.name, "cap": self.op.max_iterations}
        return Outcome({"caps": [cap]} if capped else {}, self.next)


class ExitNode(FlowNode):
    """The node that may end the flow."""

    def __init__(self, plan: FlowPlan, at: int, op: ExitOp) -> None:
        super().__init__(plan, at, op.name)
        self.op = op

    def calls(self, view: FlowView) -> Calls:
        """Ask whether to end."""
        return (yield Call(self.op.condition, view.value, decides=True))

    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """End, or go on."""
        return Outcome({}, (END,), self.op.name) if made else Outcome({}, self.next)
