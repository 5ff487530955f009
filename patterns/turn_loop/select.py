"""Choosing the next speaker by asking a model or a block: a superstep of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp

from flowcompose.core.blocks import Block
from flowcompose.core.context import Context
from flowcompose.core.errors import SelectorError
from flowcompose.core.explain import explain
from flowcompose.core.node import Goto
from flowcompose.core.results import Stop
from flowcompose.core.timed import TimedBlock
from flowcompose.patterns.turn_loop.conclude import Conclusion, Update
from flowcompose.patterns.turn_loop.outcome import partial_result
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.schedule import Speak
from flowcompose.patterns.turn_loop.selection_input import SelectionInput
from flowcompose.patterns.turn_loop.view import View
from flowcompose.resources.selections import SelectionEntry

SELECTOR = "selector"
"""The name under which the selector works."""


class SelectStep:
    """The node of the selector."""

    def __init__(self, plan: Plan, selector: Block) -> None:
        self.plan = plan
        limit = plan.turn_timeout
        self.block = TimedBlock(selector, limit) if limit is not None else selector
        self.conclusion = Conclusion(plan, plan.selector_node)

    def run(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Choose on the sync path."""
        view = View(self.plan, state, config)
        ctx = view.unstreamed().context(SELECTOR, view.turns + 1)
        try:
            view.ledger.load()
            decision: Speak | Stop = self.block.run(self._input(view, ctx), ctx)
            update = self._chosen(decision, ctx)
            view.ledger.save()
        except GraphBubbleUp:
            raise
        except Exception as error:
            raise self._failed(error, view, ctx) from _cause(error)
        return self.conclusion.go(decision, view, update, view.after(update))

    async def arun(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Choose on the async path."""
        view = View(self.plan, state, config)
        ctx = view.unstreamed().context(SELECTOR, view.turns + 1)
        try:
            await view.ledger.aload()
            decision: Speak | Stop = await self.block.arun(self._input(view, ctx), ctx)
            update = self._chosen(decision, ctx)
            await view.ledger.asave()
        except GraphBubbleUp:
            raise
        except Exception as error:
            raise self._failed(error, view, ctx) from _cause(error)
        return self.conclusion.go(decision, view, update, view.after(update))

    def _input(self, view: View, ctx: Context) -> SelectionInput:
        return SelectionInput(
            goal=ctx.goal,
            round=ctx.state.round,
            turn=ctx.state.turn,
            agent_name=SELECTOR,
            contributions=ctx.contributions,
            referee_critiques=ctx.state.referee_critiques,
            history=ctx.history,
            has_rounds=self.plan.panel.has_rounds,
            candidates=tuple(view.selection.get("candidates") or ()),
        )

    def _chosen(self, decision: Speak | Stop, ctx: Context) -> Update:
        entry = SelectionEntry(
            turn=ctx.state.turn,
            agent_name=decision.names[0] if isinstance(decision, Speak) else None,
            reason=decision.reason,
            usage=ctx.meter.as_json(),
        )
        return {"selections": [entry], **ctx.ledger.update()}

    def _failed(self, error: Exception, view: View, ctx: Context) -> SelectorError:
        ctx.ledger.discard()
        attempt = SelectionEntry(
            turn=ctx.state.turn, agent_name=None, reason="failed", usage=ctx.meter.as_json()
        )
        stop = Stop(reason="failed", by=SELECTOR, detail=explain(error))
        result = partial_result(view.after({"selections": [attempt]}), stop)
        if isinstance(error, SelectorError):
            error.result = result
            return error
        msg = f"{self.plan.name!r}: the selector failed after turn {view.turns}: {explain(error)}"
        return SelectorError(msg, result=result)


def _cause(error: Exception) -> BaseException | None:
    """A SelectorError goes on as it is, and so with its own cause."""
    return error.__cause__ if isinstance(error, SelectorError) else error
