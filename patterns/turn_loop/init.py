"""The opening of a run: check that it can work, clear what the last run left, begin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.types import Overwrite

from flowcompose.core.asking import Asking, adecide, decide
from flowcompose.core.errors import DefinitionError, RunError
from flowcompose.core.explain import explain
from flowcompose.core.handover import lasting_for
from flowcompose.core.model_problems import problems_of_block
from flowcompose.core.node import Goto
from flowcompose.core.program import check_sync
from flowcompose.core.request import read_request
from flowcompose.core.results import Stop
from flowcompose.patterns.turn_loop.conclude import Conclusion
from flowcompose.patterns.turn_loop.outcome import partial_result
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.quiet import unheard
from flowcompose.patterns.turn_loop.schedule import Choose, Decision, Speak
from flowcompose.patterns.turn_loop.state import reset_of
from flowcompose.patterns.turn_loop.view import View
from flowcompose.resources.writes import WRITES


class InitStep:
    """The first node."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.conclusion = Conclusion(plan, plan.init_node)

    def run(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Open a run on the sync path."""
        check_sync(self.plan.name, self.plan.async_parts)
        view, update = self._open(state, config)
        view.ledger.load()
        try:
            with unheard(config):
                decision = decide(self._deciding(view))
        except GraphBubbleUp:
            raise
        except Exception as error:
            raise self._no_opener(error, view) from _cause(error)
        return self.conclusion.go(decision, view, update, view)

    async def arun(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Open a run on the async path."""
        view, update = self._open(state, config)
        await view.ledger.aload()
        try:
            with unheard(config):
                decision = await adecide(self._deciding(view))
        except GraphBubbleUp:
            raise
        except Exception as error:
            raise self._no_opener(error, view) from _cause(error)
        return self.conclusion.go(decision, view, update, view)

    def _deciding(self, view: View) -> Asking[Decision]:
        decision = self.plan.schedule.first(view.decision_context(0))
        if not isinstance(decision, (Speak, Choose, Stop)):
            decision = yield from decision
        return decision

    def _no_opener(self, error: Exception, view: View) -> RunError:
        stop = Stop(reason="failed", by="the schedule", detail=explain(error))
        if isinstance(error, RunError) and error.result is None:  # the schedule's own
            error.result = partial_result(view, stop)
            return error
        what = f"the schedule failed before the first turn: {explain(error)}"
        return RunError(f"{self.plan.name!r}: {what}", result=partial_result(view, stop))

    def _open(
        self, state: Mapping[str, Any], config: RunnableConfig
    ) -> tuple[View, dict[str, Any]]:
        request = read_request(self.plan.name, state)
        if lasting_for(config, self.plan) is not None:
            request["inherits"] = True
        fresh: dict[str, Any] = {
            "request": request,
            self.plan.key: [],
            "session": state.get("session"),
            WRITES: state.get(WRITES),
        }
        view = View(self.plan, fresh, config)
        if problems := model_problems_of(self.plan, view):
            raise DefinitionError(repr(self.plan.name), problems)
        opening = {"request": Overwrite(request), self.plan.key: Overwrite([])}
        opening |= view.ledger.opening()
        return view, {**reset_of(state), **opening}


def _cause(error: Exception) -> BaseException | None:
    """The schedule's own error goes on as it is, and so with its own cause."""
    return error.__cause__ if isinstance(error, RunError) else error


def model_problems_of(plan: Plan, view: View) -> list[str]:
    """Say which models of the pattern's blocks are not configured."""
    ctx = view.context("", 1)
    whose: dict[str, list[str]] = {}
    for what, block in plan.blocks:
        for problem in problems_of_block(block, ctx):
            whose.setdefault(problem, []).append(what)
    return [f"{problem} (asked by {', '.join(who)})" for problem, who in whose.items()]
