"""After a turn or a critique: who speaks next, or how the run ends."""

from __future__ import annotations

from typing import Any

from langgraph.constants import END
from langgraph.types import Command

from flowcompose.core.conditions import Condition
from flowcompose.core.errors import RunError
from flowcompose.core.explain import explain
from flowcompose.core.results import Stop
from flowcompose.patterns.turn_loop.finish import finish
from flowcompose.patterns.turn_loop.node import Goto
from flowcompose.patterns.turn_loop.outcome import partial_result
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.schedule import Decision
from flowcompose.patterns.turn_loop.view import View

Update = dict[str, Any]


class Conclusion:
    """Takes the decision that closes a node's step, and routes.

    If the decision itself fails, the turn before it is kept: it is written, and the same node
    runs once more, only to decide. So the error reaches the user with the turn in the
    checkpoint, and `resume` asks again without a second turn.
    """

    def __init__(self, plan: Plan, node: str) -> None:
        self.plan = plan
        self.node = node

    def run(self, view: View, update: Update, speaker: str) -> Goto:
        """Decide on the sync path."""
        now = view.after(update)
        try:
            ctx = now.context("", now.turns)
            decision = self.plan.schedule.after(speaker, ctx)
            condition = self._to_ask(decision, now.turns)
            if condition is not None:
                decision = _stopped(condition.fired(ctx)) or decision
        except Exception as error:
            return self._undecided(view, update, error)
        return self.go(decision, view, update)

    async def arun(self, view: View, update: Update, speaker: str) -> Goto:
        """Decide on the async path."""
        now = view.after(update)
        try:
            ctx = now.context("", now.turns)
            decision = await self.plan.schedule.aafter(speaker, ctx)
            condition = self._to_ask(decision, now.turns)
            if condition is not None:
                decision = _stopped(await condition.afired(ctx)) or decision
        except Exception as error:
            return self._undecided(view, update, error)
        return self.go(decision, view, update)

    def go(self, decision: Decision, view: View, update: Update) -> Goto:
        """Route as decided; the last node also writes what a run ends with."""
        if view.state.get("undecided"):
            update = {**update, "undecided": False}
        if not isinstance(decision, Stop):
            return Command(update=update, goto=self.plan.nodes[decision.agent_name])
        update = {**update, "stop": decision.model_dump()}
        if self.plan.synthesizer is not None:
            return Command(update=update, goto=self.plan.synthesizer_node)
        return Command(update={**update, **finish(view.after(update))}, goto=END)

    def _to_ask(self, decision: Decision, turn: int) -> Condition | None:
        """A condition is asked only where the run would go on: a cap comes first."""
        if isinstance(decision, Stop):
            return None
        due = self.plan.ask == "turn" or self.plan.ends_round(turn)
        return self.plan.terminate if due or self.plan.schedule.turns_per_round is None else None

    def _undecided(self, view: View, update: Update, error: Exception) -> Goto:
        if not view.state.get("undecided"):
            return Command(update={**update, "undecided": True}, goto=self.node)
        msg = f"{self.plan.name!r}: terminate_when failed after turn {view.turns}: {explain(error)}"
        raise RunError(msg, result=partial_result(view, _failed(error))) from error


def _stopped(fired: Condition | None) -> Stop | None:
    return None if fired is None else Stop(reason="terminate_when", by=repr(fired))


def _failed(error: Exception) -> Stop:
    return Stop(reason="failed", detail=explain(error))
