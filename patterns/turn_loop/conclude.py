"""After a turn or a critique: who speaks next, or how the run ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langgraph.constants import END
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from flowcompose.core.asking import Asking, adecide, ask_condition, decide
from flowcompose.core.condition import Condition
from flowcompose.core.context import Context
from flowcompose.core.errors import RunError
from flowcompose.core.explain import explain
from flowcompose.core.node import Goto
from flowcompose.core.results import Stop
from flowcompose.core.turns import Selection
from flowcompose.patterns.turn_loop.finish import finish
from flowcompose.patterns.turn_loop.outcome import partial_result
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.quiet import unheard
from flowcompose.patterns.turn_loop.schedule import Choose, Decision, Speak
from flowcompose.patterns.turn_loop.view import View

Update = dict[str, Any]


class _Unasked(Exception):  # noqa: N818 - it never leaves this module
    """`terminate_when` failed; its own error is the cause."""


class Conclusion:
    """Takes the decision that closes a node's step, and routes.

    If the decision itself fails or asks a person, the turn before it is kept: it is written,
    and the same node runs once more, only to decide. So an error reaches the user with the
    turn in the checkpoint, and `resume` decides again without a second turn.
    """

    def __init__(self, plan: Plan, node: str) -> None:
        self.plan = plan
        self.node = node

    def run(self, view: View, update: Update, spoke: tuple[str, ...]) -> Goto:
        """Decide on the sync path."""
        self._raise_fault(view)
        now = view.after(update)
        try:
            decision = self._decided(now, spoke)
            if not isinstance(decision, (Speak, Choose, Stop)):
                with unheard(view.config):
                    decision = decide(decision)
        except Exception as error:
            return self._undecided(view, update, error)
        return self.go(decision, view, update, now)

    async def arun(self, view: View, update: Update, spoke: tuple[str, ...]) -> Goto:
        """Decide on the async path."""
        self._raise_fault(view)
        now = view.after(update)
        try:
            decision = self._decided(now, spoke)
            if not isinstance(decision, (Speak, Choose, Stop)):
                with unheard(view.config):
                    decision = await adecide(decision)
        except Exception as error:
            return self._undecided(view, update, error)
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
        if isinstance(decision, Speak):
            return self._speak(decision, update, now)
        if isinstance(decision, Choose):
            chosen = Selection(candidates=list(decision.candidates))
            return Command(update={**update, "selection": chosen}, goto=self.plan.selector_node)
        update = {**update, "stop": decision.model_dump()}
        if self.plan.synthesizer is not None:
            return Command(update=update, goto=self.plan.synthesizer_node)
        return Command(update={**update, **now.ledger.closing(), **finish(now)}, goto=END)

    def _speak(self, decision: Speak, update: Update, now: View) -> Goto:
        nodes = self.plan.nodes
        if self.plan.keeps_selection:
            update = self._with_selection(decision, update, now)
        if len(decision.names) == 1:
            return Command(update=update, goto=nodes[decision.names[0]])
        return Command(update=update, goto=[nodes[name] for name in decision.names])

    def _with_selection(self, decision: Speak, update: Update, now: View) -> Update:
        """Keep how one speaker was chosen with the turn before, which costs next to nothing."""
        said: Any = update.get(self.plan.key) or update.get("failures")
        alone = len(decision.names) == 1 and decision.memo is None
        if not (alone and isinstance(said, list)):
            return {**update, "selection": _kept(decision, now)}
        said[-1]["next"] = decision.reason
        return update

    def _decided(self, now: View, spoke: tuple[str, ...]) -> Decision | Asking[Decision]:
        """Decide; where something has to be asked for it, give a generator that does."""
        schedule, turn = self.plan.schedule, now.turns
        ctx = now.decision_context(turn)
        if (ended := schedule.ended(ctx)) is not None:
            return ended
        condition, memo = self._due(turn), now.selection.get("memo")
        if condition is None:
            return schedule.after(spoke, ctx, memo)
        return self._unless(condition, lambda: schedule.after(spoke, ctx, memo), ctx)

    def _unless(
        self, condition: Condition, choice: Callable[[], Decision | Asking[Decision]], ctx: Context
    ) -> Asking[Decision]:
        """Stop if the condition holds, else make the choice."""
        try:
            fired: Condition | None = yield ask_condition(condition, ctx)
        except GraphBubbleUp:
            raise
        except Exception as error:
            raise _Unasked from error
        if fired is not None:
            return Stop(reason="terminate_when", by=repr(fired))
        decision = choice()
        if isinstance(decision, (Speak, Choose, Stop)):
            return decision
        return (yield from decision)

    def _due(self, turn: int) -> Condition | None:
        """The condition, if this is a moment to ask it."""
        plan = self.plan
        if plan.ask == "turn" or plan.per_round is None or plan.ends_round(turn):
            return plan.terminate
        return None

    def _undecided(self, view: View, update: Update, error: Exception) -> Goto:
        """Keep the turn, and let the second pass raise; in it an interrupt is the engine's."""
        if isinstance(error, GraphBubbleUp):
            if view.state.get("undecided"):
                raise error
            return Command(update={**update, "undecided": True}, goto=self.node)
        fault = self._fault(view.after(update), error)
        if view.state.get("undecided"):
            raise fault
        return Command(update={**update, "undecided": True, "fault": fault}, goto=self.node)

    def _fault(self, now: View, error: Exception) -> RunError:
        """The error as the user gets it; one that the schedule made says it best itself."""
        asking, cause = "the schedule", error
        if isinstance(error, _Unasked) and isinstance(error.__cause__, Exception):
            asking, cause = "terminate_when", error.__cause__
        stop = Stop(reason="failed", by=asking, detail=explain(cause))
        result = partial_result(now, stop)
        if isinstance(error, RunError) and error.result is None:
            error.result = result
            return error
        msg = f"{self.plan.name!r}: {asking} failed after turn {now.turns}: {explain(cause)}"
        fault = RunError(msg, result=result)
        fault.__cause__ = cause
        return fault

    def _raise_fault(self, view: View) -> None:
        """Raise what went wrong in the first pass. After a resume it is gone, to be asked anew."""
        fault = view.state.get("fault")
        if fault is not None:
            raise fault


def _kept(decision: Speak, now: View) -> Selection:
    """What the state holds of who speaks next."""
    selection = Selection(speakers=list(decision.names), reason=decision.reason)
    if len(decision.names) > 1:
        selection["after"] = now.turns
    if decision.memo is not None:
        selection["memo"] = decision.memo
    return selection
