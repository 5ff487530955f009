"""What to do with the error of an earlier step."""

from __future__ import annotations

from typing import Any

from flowcompose.core.blocks import RunnableBlock
from flowcompose.core.context import Context
from flowcompose.core.flow.calls import Call, Calls
from flowcompose.core.flow.nodes.base import FlowNode, Outcome
from flowcompose.core.flow.ops import RescueOp
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.rescued import Rescued
from flowcompose.core.flow.view import FlowView
from flowcompose.core.models import is_chat_model
from flowcompose.resources.packed import unpack


class RescueNode(FlowNode):
    """The node of a rescue. Only an error leads to it."""

    def __init__(self, plan: FlowPlan, at: int, op: RescueOp) -> None:
        super().__init__(plan, at, op.name)
        self.op = op

    def calls(self, view: FlowView) -> Calls:
        """Call the block with the error and the value that its step had received."""
        failure: dict[str, Any] = view.state.get("failure") or {"step": "", "error": None}
        error: Exception = view.live.get("error") or unpack(failure["error"])
        rescued = Rescued(error, view.value, failure["step"])
        block = self.op.block
        reads_text = isinstance(block, RunnableBlock) and is_chat_model(block.runnable)
        return (yield Call(block, str(rescued) if reads_text else rescued))

    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """Go on with what the block gave."""
        update = view.keep(made, self.step, ctx.meter.message_id)
        live = {**update["live"], "error": None}
        return Outcome({**update, "live": live, "failure": None}, self.next)
