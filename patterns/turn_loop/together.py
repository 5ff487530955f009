"""Members that speak at once: they see one snapshot, and what they said is looked at together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Overwrite

from flowcompose.core.node import Goto
from flowcompose.core.results import Stop
from flowcompose.core.turns import Together, speaker_of, together_in
from flowcompose.patterns.turn_loop.conclude import Conclusion, Update
from flowcompose.patterns.turn_loop.failed import Fault, member_error, member_failed
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.view import View
from flowcompose.resources.contributions import Entry
from flowcompose.resources.tasks import Failure
from flowcompose.resources.writes import Held


def snapshot(state: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Give what a member sees that speaks at once with others.

    That matters only if the others were done before: when a turn that failed is taken again.
    """
    together = together_in(state)
    if together is None:
        return state
    after = together.after
    logs = {log: state.get(log) or () for log in (key, "failures")}
    if not any(log and log[-1]["turn"] > after for log in logs.values()):
        return state
    return {**state, **{k: [e for e in log if e["turn"] <= after] for k, log in logs.items()}}


def held_by(view: View, turn: int) -> Update:
    """Give the update for what a member wrote to resources that speaks at once with others.

    The step after them writes it all: so one does not undo what another wrote, and a turn that
    is taken again sees what the others saw.
    """
    deltas = view.take()
    return {"held": [Held(turn=turn, deltas=deltas)]} if deltas else {}


class JoinStep:
    """The node after members that spoke at once: it takes the decision for all of them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.conclusion = Conclusion(plan, plan.join_node)

    def run(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Decide on the sync path."""
        view = View(self.plan, state, config)
        view.ledger.load()
        if state.get("undecided"):
            return self.conclusion.run(view, {}, self._spoke(view))
        if (again := self._incomplete(view)) is not None:
            return again
        update = self._gathered(view)
        view.save()
        return self._early_goto(view, update) or self.conclusion.run(
            view, update, self._spoke(view)
        )

    async def arun(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Decide on the async path."""
        view = View(self.plan, state, config)
        await view.ledger.aload()
        if state.get("undecided"):
            return await self.conclusion.arun(view, {}, self._spoke(view))
        if (again := self._incomplete(view)) is not None:
            return again
        update = self._gathered(view)
        await view.asave()
        return self._early_goto(view, update) or await self.conclusion.arun(
            view, update, self._spoke(view)
        )

    def _incomplete(self, view: View) -> Goto | None:
        """Raise what failed, or after a resume, take again what is missing."""
        faults: Sequence[Fault] = view.state.get("faults") or ()
        if faults:
            ordered = sorted(faults, key=lambda fault: fault.failure["turn"])
            raise member_error(view, ordered)
        after, speakers = self._together(view)
        done = {each["turn"] for log in self._just_now(view) for each in log}
        left = [each for turn, each in enumerate(speakers, after + 1) if turn not in done]
        return Command(goto=[self.plan.nodes[name] for name in left]) if left else None

    def _gathered(self, view: View) -> Update:
        """Write what all of them wrote to resources, in the order of their turns."""
        held: Sequence[Held] = view.state.get("held") or ()
        for each in held:
            view.ledger.add(each["deltas"], {})
        return {**view.written, "held": Overwrite([])} if held else {}

    def _early_goto(self, view: View, update: Update) -> Goto | None:
        """Go where there is nothing to decide: to the end, or to the referee."""
        if (stop := self._stop(*self._just_now(view))) is not None:
            return self.conclusion.go(stop, view, update, view.after(update))
        if self.plan.referee is not None and self.plan.ends_round(view.turns):
            return Command(update=update, goto=self.plan.referee_node)
        return None

    def _just_now(self, view: View) -> tuple[list[Entry], list[Failure]]:
        after = self._together(view).after
        return _since(after, view.entries), _since(after, view.failures)

    def _stop(self, entries: Sequence[Entry], failures: Sequence[Failure]) -> Stop | None:
        if self.plan.on_error == "stop" and failures:
            return member_failed(failures[0])
        ended = next((each for each in entries if each.get("ends")), None)
        return Stop(reason="terminate_tool", by=speaker_of(ended)) if ended else None

    def _spoke(self, view: View) -> tuple[str, ...]:
        return tuple(self._together(view).speakers)

    def _together(self, view: View) -> Together:
        return together_in(view.state) or Together(view.turns, ())


def _since(turn: int, log: Sequence[Any]) -> list[Any]:
    """Give the last entries of a log, those after `turn`."""
    return list(takewhile(lambda each: each["turn"] > turn, reversed(log)))[::-1]
