"""After a turn or a critique: who speaks next, or how the run ends."""

from __future__ import annotations

from typing import Any

from langgraph.constants import END
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from flowcompose.core.conditions import Condition
from flowcompose.core.errors import RunError
from flowcompose.core.explain import explain
from flowcompose.core.node import Goto
from flowcompose.core.results import Stop
from flowcompose.patterns.turn_loop.finish import finish
from flowcompose.patterns.turn_loop.outcome import partial_result
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.schedule import Decision
from flowcompose.patterns.turn_loop.view import View

Update = dict[str, Any]


class Conclusion:
    """Takes the decision that closes a node's step, and routes.

    If the decision itself fails or asks a person, the turn before it is kept: it is written,
    and the same node runs once more, only to decide. So an error reaches the user with the
    turn in the checkpoint, and `resume` decides again without a second turn.
    """

    def __init__(self, plan: Plan, node: str) -> None:
        self.plan = plan
        self.node = node

    def run(self, view: View, update: Update, speaker: str) -> Goto:
        """Decide on the sync path."""
        self._raise_fault(view)
        now = view.after(update)
        ctx = now.decision_context(now.turns)
        asking = "the schedule"
        try:
            decision: Decision | None = self.plan.schedule.ended(speaker, ctx)
            if decision is None and (condition := self._due(now.turns)) is not None:
                asking = "terminate_when"
                decision = _stopped(condition.fired(ctx))
            if decision is None:
                asking = "the schedule"
                decision = self.plan.schedule.after(speaker, ctx)
        except Exception as error:
            return self._undecided(view, update, asking, error)
        return self.go(decision, view, update, now)

    async def arun(self, view: View, update: Update, speaker: str) -> Goto:
        """Decide on the async path."""
        self._raise_fault(view)
        now = view.after(update)
        ctx = now.decision_context(now.turns)
        asking = "the schedule"
        try:
            decision: Decision | None = self.plan.schedule.ended(speaker, ctx)
            if decision is None and (condition := self._due(now.turns)) is not None:
                asking = "terminate_when"
                decision = _stopped(await condition.afired(ctx))
            if decision is None:
                asking = "the schedule"
                decision = await self.plan.schedule.aafter(speaker, ctx)
        except Exception as error:
            return self._undecided(view, update, asking, error)
        return self.go(decision, view, update, now)

    def go(self, decision: Decision, view: View, update: Update, now: View) -> Goto:
        """Route as decided; the last node also writes what a run ends with.

        Args:
            decision: What was decided.
            view: The run before this step.
            update: What this step writes.
            now: The run as it is with that.
        """
        if view.state.get("undecided"):
            update = {**update, "undecided": False}
        if not isinstance(decision, Stop):
            return Command(update=update, goto=self.plan.nodes[decision.agent_name])
        update = {**update, "stop": decision.model_dump()}
        if self.plan.synthesizer is not None:
            return Command(update=update, goto=self.plan.synthesizer_node)
        return Command(update={**update, **now.ledger.closing(), **finish(now)}, goto=END)

    def _due(self, turn: int) -> Condition | None:
        """The condition, if this is a moment to ask it."""
        due = self.plan.ask == "turn" or self.plan.ends_round(turn)
        return self.plan.terminate if due or self.plan.schedule.turns_per_round is None else None

    def _undecided(self, view: View, update: Update, asking: str, error: Exception) -> Goto:
        """Keep the turn, and let the second pass raise; in it an interrupt is the engine's."""
        if isinstance(error, GraphBubbleUp):
            if view.state.get("undecided"):
                raise error
            return Command(update={**update, "undecided": True}, goto=self.node)
        now = view.after(update)
        msg = f"{self.plan.name!r}: {asking} failed after turn {now.turns}: {explain(error)}"
        stop = Stop(reason="failed", by=asking, detail=explain(error))
        fault = RunError(msg, result=partial_result(now, stop))
        fault.__cause__ = error
        if view.state.get("undecided"):
            raise fault
        return Command(update={**update, "undecided": True, "fault": fault}, goto=self.node)

    def _raise_fault(self, view: View) -> None:
        """Raise what went wrong in the first pass. After a resume it is gone, to be asked anew."""
        fault = view.state.get("fault")
        if fault is not None:
            raise fault


def _stopped(fired: Condition | None) -> Stop | None:
    return None if fired is None else Stop(reason="terminate_when", by=repr(fired))
