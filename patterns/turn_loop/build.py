"""From a plan to a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.constants import END, START
from langgraph.graph import StateGraph

from flowcompose.core.graph_block import GraphBlock
from flowcompose.core.node import GraphNode, Step, StepNode
from flowcompose.core.pattern import Pattern
from flowcompose.core.pattern_graph import UNDRAWN
from flowcompose.core.stream import NODE, NodeMark
from flowcompose.core.untyped import engine
from flowcompose.patterns.turn_loop.init import InitStep
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.program import LoopProgram
from flowcompose.patterns.turn_loop.referee import REFEREE, RefereeStep
from flowcompose.patterns.turn_loop.state import Kept, state_schemas
from flowcompose.patterns.turn_loop.synthesizer import SYNTHESIZER, SynthesizerStep
from flowcompose.patterns.turn_loop.turn import TurnStep


class PatternBuilder(StateGraph[Any, Any, Any, Any]):
    """The uncompiled graph of a pattern: add nodes to it if you must, then `compile` it."""

    def __init__(self, plan: Plan) -> None:
        kept = Kept(
            derived_output=plan.synthesizer is None,
            critiques=plan.referee is not None,
            failures=plan.on_error != "raise",
            selection=plan.schedule.keeps_selection,
            selections=plan.selector is not None,
            together=bool(plan.schedule.together),
        )
        schemas = state_schemas(plan.key, kept)
        super().__init__(schemas.state, input_schema=schemas.given, output_schema=schemas.output)
        self.plan = plan
        self._turn_schema = schemas.turn
        self._add_steps()

    def compile(self, *args: Any, **kwargs: Any) -> Pattern[Any]:
        """Compile as any StateGraph; what comes out is a `Pattern`."""
        kwargs.setdefault("name", self.plan.name)
        compiled = engine(super()).compile(*args, **kwargs)
        return Pattern[Any].adopt(compiled, LoopProgram(self.plan))

    def _add_steps(self) -> None:
        plan = self.plan
        self.add_edge(START, plan.init_node)
        self._add(plan.init_node, InitStep(plan), "init", "", self._after(None), reads=None)
        for member in plan.members:
            self._add_member(member.name, TurnStep(plan, member), member.block)
        if plan.referee is not None:
            ends = self._after(plan.members[-1].name)
            self._add(plan.referee_node, RefereeStep(plan, plan.referee), REFEREE, REFEREE, ends)
        if plan.schedule.together:
            from flowcompose.patterns.turn_loop.together import JoinStep

            kind = "join" if plan.schedule.draws_join else UNDRAWN
            self._add(plan.join_node, JoinStep(plan), kind, "", self._after_join())
        if plan.selector is not None:
            from flowcompose.patterns.turn_loop.select import SELECTOR, SelectStep

            ends = [plan.nodes[member.name] for member in plan.members]
            asked = plan.selector.wrapped
            graph = asked.graph if isinstance(asked, GraphBlock) else None
            choose = SelectStep(plan, plan.selector)
            self._add(plan.selector_node, choose, SELECTOR, SELECTOR, ends, graph=graph)
        if plan.synthesizer is not None:
            step = SynthesizerStep(plan, plan.synthesizer)
            self._add(plan.synthesizer_node, step, SYNTHESIZER, SYNTHESIZER, [END])

    def _add_member(self, name: str, step: TurnStep, block: object) -> None:
        plan = self.plan
        audited = plan.referee is not None and name == plan.members[-1].name
        ends = [plan.referee_node] if audited else self._after(name)
        if name in plan.schedule.together and plan.schedule.draws_join:
            ends = [plan.join_node]
        graph = block.graph if isinstance(block, GraphBlock) else None
        self._add(plan.nodes[name], step, "turn", name, ends, graph=graph)

    def _add(
        self,
        node: str,
        step: Step,
        kind: str,
        agent_name: str,
        ends: Sequence[str],
        *,
        graph: Any = None,
        reads: Any = "turn",
    ) -> None:
        """Add a node that says in its metadata who speaks in it."""
        visible = kind != SYNTHESIZER or self.plan.visibility.client
        hidden = kind in (REFEREE, "selector") or not visible
        mark = NodeMark(kind, node, self.plan.schedule.turns_per_round, self.plan.key, hidden)
        metadata = {"pattern": self.plan.name, NODE: mark.write()}
        if agent_name:
            metadata |= {"agent_name": agent_name, "lc_agent_name": agent_name}
        engine(self).add_node(
            node,
            StepNode(step, node) if graph is None else GraphNode(step, graph, node),
            metadata=metadata,
            destinations=tuple(dict.fromkeys(ends)),
            input_schema=self._turn_schema if reads else None,
        )

    def _after(self, speaker: str | None) -> list[str]:
        """The nodes that may follow, for the drawing; a selector stands before the members."""
        plan, successors = self.plan, self.plan.schedule.successors(speaker)
        end = plan.synthesizer_node if plan.synthesizer is not None else END
        names = [name for name in successors if name is not None]
        ends = [end] if None in successors else []
        if plan.selector is not None and len(names) > 1:
            return [plan.selector_node, *ends]
        return [*(plan.nodes[name] for name in names), *ends]

    def _after_join(self) -> list[str]:
        if self.plan.referee is not None:
            return [self.plan.referee_node]
        return [end for name in sorted(self.plan.schedule.together) for end in self._after(name)]
