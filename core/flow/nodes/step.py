"""A block in the sequence."""

from __future__ import annotations

from typing import Any, NamedTuple

from flowcompose.core.context import Context
from flowcompose.core.flow.calls import Call, Calls, InlineFunction
from flowcompose.core.flow.nodes.base import FlowNode, Outcome
from flowcompose.core.flow.ops import StepOp, mapped
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.view import FlowView
from flowcompose.core.stream import emit
from flowcompose.resources.packed import copied


class _Passed(NamedTuple):
    """The value goes on as it came, and need not be written again."""

    made: Any = None
    """What a tap has given."""


def _tell(step: str, ctx: Context) -> None:
    """Say that a step begins; until its condition held that was not known."""
    emit("step_started", ctx, step=step)


_TELL = InlineFunction(_tell)


class SequenceNode(FlowNode):
    """The node of a step, a map or a tap."""

    def __init__(self, plan: FlowPlan, at: int, op: StepOp) -> None:
        super().__init__(plan, at, op.name)
        self.op = op

    def calls(self, view: FlowView) -> Calls:
        """Ask the condition, map the input, call the block."""
        op, value = self.op, view.value
        if op.condition is not None:
            if not (yield Call(op.condition, value, decides=True)):
                return _Passed()
            yield Call(_TELL, op.name)
        given = copied(value) if op.passes else value
        made = yield Call(op.block, (yield from mapped(op.input, given)))
        return _Passed(made) if op.passes else made

    def count(self, made: Any, view: FlowView, ctx: Context) -> None:
        """Count a tap's answer too."""
        super().count(made.made if isinstance(made, _Passed) else made, view, ctx)

    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """Go on with what the block gave."""
        update = (
            {} if isinstance(made, _Passed) else view.keep(made, self.step, ctx.meter.message_id)
        )
        return Outcome(update, self.next)
