"""From a flow's plan to a graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from langgraph.constants import END, START
from langgraph.graph import StateGraph

from flowcompose.core.blocks import Block
from flowcompose.core.flow.nodes.branch import BranchNode, DecideNode
from flowcompose.core.flow.nodes.each import EachNode
from flowcompose.core.flow.nodes.init import InitNode
from flowcompose.core.flow.nodes.jump import ExitNode, LoopNode
from flowcompose.core.flow.nodes.parallel import JoinNode, PartNode
from flowcompose.core.flow.nodes.rescue import RescueNode
from flowcompose.core.flow.nodes.step import SequenceNode
from flowcompose.core.flow.ops import (
    BranchOp,
    EachOp,
    ExitOp,
    LoopOp,
    Op,
    ParallelOp,
    RescueOp,
    StepOp,
)
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.program import FlowProgram
from flowcompose.core.flow.state import state_schemas
from flowcompose.core.graph_block import GraphBlock
from flowcompose.core.node import GraphNode, Step, StepNode
from flowcompose.core.pattern import Pattern
from flowcompose.core.stream import NODE, NodeMark
from flowcompose.core.untyped import engine


class _Mark(NamedTuple):
    """What a node says of itself."""

    step: str
    kind: str
    """See `core/step_events.py`."""
    speaker: str = ""


class FlowBuilder(StateGraph[Any, Any, Any, Any]):
    """The uncompiled graph of a flow: add nodes to it if you must, then `compile` it."""

    def __init__(self, plan: FlowPlan) -> None:
        kinds = {type(op) for op in plan.ops}
        self._schemas = state_schemas(
            parallel=ParallelOp in kinds, loops=LoopOp in kinds, rescues=RescueOp in kinds
        )
        schemas = self._schemas
        super().__init__(schemas.state, input_schema=schemas.given, output_schema=schemas.output)
        self.plan = plan
        self.add_edge(START, plan.init_node)
        self._add(plan.init_node, InitNode(plan), _Mark("", "flow"), plan.entry(0))
        for at, op in enumerate(plan.ops):
            self._add_op(at, op)

    def compile(self, *args: Any, **kwargs: Any) -> Pattern[Any]:
        """Compile as any StateGraph; what comes out is a `Pattern`."""
        kwargs.setdefault("name", self.plan.name)
        compiled = engine(super()).compile(*args, **kwargs)
        return Pattern[Any].adopt(compiled, FlowProgram(self.plan))

    def _add_op(self, at: int, op: Op) -> None:
        plan = self.plan
        main, parts = plan.nodes[at]
        ends = (*plan.entry(at + 1), *plan.rescues(at))
        step = partial(_Mark, op.name)
        match op:
            case StepOp():
                kind = "flow" if op.silent else "step" if op.condition is None else "maybe"
                self._add(main, SequenceNode(plan, at, op), step(kind, op.name), ends, op.block)
            case EachOp():
                self._add(main, EachNode(plan, at, op), step("step", op.name), ends, op.block)
            case RescueOp():
                self._add(main, RescueNode(plan, at, op), step("step", op.name), ends, op.block)
            case ParallelOp():
                for key, block in op.blocks.items():
                    part = PartNode(plan, at, op, key)
                    self._add(parts[key], part, step("opens", key), (main,), block)
                self._add(main, JoinNode(plan, at, op), step("closes"), ends)
            case BranchOp():
                decided = (*parts.values(), *plan.rescues(at))
                self._add(main, DecideNode(plan, at, op), step("opens"), decided)
                for key, (_, block) in op.branches.items():
                    branch = BranchNode(plan, at, key, block)
                    self._add(parts[key], branch, step("closes", key), ends, block)
            case LoopOp():
                back = (*plan.entry(op.target), *ends)
                self._add(main, LoopNode(plan, at, op), step("flow"), back)
            case ExitOp():
                self._add(main, ExitNode(plan, at, op), step("flow"), (*ends, END))

    def _add(
        self,
        node: str,
        step: Step,
        mark: _Mark,
        ends: Sequence[str],
        block: Block | None = None,
    ) -> None:
        """Add a node that says in its metadata whose it is, and who speaks in it."""
        written = NodeMark(mark.kind, node, None, mark.step).write()
        metadata = {"pattern": self.plan.name, NODE: written}
        if mark.speaker:
            metadata |= {"agent_name": mark.speaker, "lc_agent_name": mark.speaker}
        schemas = self._schemas
        inside = block.graph if isinstance(block, GraphBlock) else None
        engine(self).add_node(
            node,
            StepNode(step, node) if inside is None else GraphNode(step, inside, node),
            metadata=metadata,
            destinations=tuple(dict.fromkeys(ends)),
            input_schema=schemas.state if isinstance(step, InitNode) else schemas.now,
        )
