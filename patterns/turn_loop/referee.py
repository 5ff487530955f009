"""The audit of a finished round. It judges what was said, never whether the loop goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel, ConfigDict

from flowcompose.core.blocks import Block
from flowcompose.core.context import Context
from flowcompose.core.errors import RunError
from flowcompose.core.explain import explain
from flowcompose.core.node import Goto
from flowcompose.core.results import Stop
from flowcompose.core.timed import TimedBlock
from flowcompose.patterns.turn_loop.conclude import Conclusion, Update
from flowcompose.patterns.turn_loop.failed import is_mistake
from flowcompose.patterns.turn_loop.outcome import partial_result
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.view import View
from flowcompose.resources.critiques import CritiqueEntry

REFEREE = "referee"
"""The name under which the referee speaks."""


class RefereeOutput(BaseModel):
    """What a referee answers; other keys are ignored."""

    model_config = ConfigDict(from_attributes=True)

    critique: str
    """What is wrong with the round's arguments: short, with names and quotes."""


class RefereeStep:
    """The node of the referee."""

    def __init__(self, plan: Plan, referee: Block) -> None:
        self.plan = plan
        limit = plan.turn_timeout
        self.block = TimedBlock(referee, limit) if limit is not None else referee
        self.conclusion = Conclusion(plan, plan.referee_node)

    def run(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Audit on the sync path."""
        view = View(self.plan, state, config)
        if state.get("undecided"):
            view.ledger.load()
            return self.conclusion.run(view, {}, self._spoke(view))
        ctx = view.unstreamed().context(REFEREE, view.turns)
        try:
            view.ledger.load()
            update = self._said(self.block.run(view.turn_input(ctx), ctx), ctx)
            view.ledger.save()
        except GraphBubbleUp:
            raise
        except Exception as error:
            update = self._failed(error, view, ctx)
            if self.plan.on_error == "stop":
                return self._stop(view, update)
        return self.conclusion.run(view, update, self._spoke(view))

    async def arun(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Audit on the async path."""
        view = View(self.plan, state, config)
        if state.get("undecided"):
            await view.ledger.aload()
            return await self.conclusion.arun(view, {}, self._spoke(view))
        ctx = view.unstreamed().context(REFEREE, view.turns)
        try:
            await view.ledger.aload()
            update = self._said(await self.block.arun(view.turn_input(ctx), ctx), ctx)
            await view.ledger.asave()
        except GraphBubbleUp:
            raise
        except Exception as error:
            update = self._failed(error, view, ctx)
            if self.plan.on_error == "stop":
                return self._stop(view, update)
        return await self.conclusion.arun(view, update, self._spoke(view))

    def _spoke(self, view: View) -> tuple[str, ...]:
        """A round ends with the turn of the last of the roster, or with all at once."""
        return tuple(view.selection.get("speakers") or (self.plan.members[-1].name,))

    def _said(self, value: Any, ctx: Context) -> Update:
        critique = RefereeOutput.model_validate(value).critique
        entry = CritiqueEntry(round=ctx.state.round, critique=critique, usage=ctx.meter.as_json())
        return {"referee_critiques": [entry], **ctx.ledger.update()}

    def _failed(self, error: Exception, view: View, ctx: Context) -> Update:
        """Note the attempt, which was paid for, or raise if that is the policy."""
        ctx.ledger.discard()
        text = explain(error)
        attempt = CritiqueEntry(
            round=ctx.state.round, critique="", usage=ctx.meter.as_json(), error=text
        )
        update: Update = {"referee_critiques": [attempt]}
        if self.plan.on_error == "raise" or is_mistake(error):
            stop = Stop(reason="member_failed", by=REFEREE, detail=text)
            msg = f"{self.plan.name!r}: the referee failed after round {view.rounds}: {text}"
            raise RunError(msg, result=partial_result(view.after(update), stop)) from error
        return update

    def _stop(self, view: View, update: Update) -> Goto:
        """End the run, with the referee as the reason."""
        text = update["referee_critiques"][0]["error"]
        stop = Stop(reason="member_failed", by=REFEREE, detail=text)
        return self.conclusion.go(stop, view, update, view.after(update))
