"""One member's turn: speak, record, conclude. One superstep, whatever happens in it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from flowcompose.core.context import Context
from flowcompose.core.errors import DefinitionError, MemberError
from flowcompose.core.explain import explain
from flowcompose.core.functions import AsyncOnlyError
from flowcompose.core.node import Goto
from flowcompose.core.results import Stop
from flowcompose.core.timed import TimedBlock
from flowcompose.patterns.turn_loop.conclude import Conclusion, Update
from flowcompose.patterns.turn_loop.outcome import partial_result
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.roster import Member
from flowcompose.patterns.turn_loop.spoken import entry_of
from flowcompose.patterns.turn_loop.view import View
from flowcompose.resources.tasks import Failure


class TurnStep:
    """The node of one member."""

    def __init__(self, plan: Plan, member: Member) -> None:
        self.plan = plan
        self.name = member.name
        limit = plan.turn_timeout
        self.block = TimedBlock(member.block, limit) if limit is not None else member.block
        self.conclusion = Conclusion(plan, plan.nodes[member.name])

    def run(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Speak on the sync path."""
        view = View(self.plan, state, config)
        if state.get("undecided"):
            view.ledger.load()
            return self.conclusion.run(view, {}, self.name)
        ctx = view.context(self.name, view.turns + 1)
        try:
            view.ledger.load()
            update = self._said(self.block.run(view.turn_input(ctx), ctx), view, ctx)
            view.ledger.save()
        except GraphBubbleUp:
            raise
        except Exception as error:
            update = self._failed(error, view, ctx)
        early = self._early_goto(view, update)
        return early or self.conclusion.run(view, update, self.name)

    async def arun(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Speak on the async path."""
        view = View(self.plan, state, config)
        if state.get("undecided"):
            await view.ledger.aload()
            return await self.conclusion.arun(view, {}, self.name)
        ctx = view.context(self.name, view.turns + 1)
        try:
            await view.ledger.aload()
            update = self._said(await self.block.arun(view.turn_input(ctx), ctx), view, ctx)
            await view.ledger.asave()
        except GraphBubbleUp:
            raise
        except Exception as error:
            update = self._failed(error, view, ctx)
        early = self._early_goto(view, update)
        return early or await self.conclusion.arun(view, update, self.name)

    def _said(self, value: Any, view: View, ctx: Context) -> Update:
        spoken = self.plan.listener.hear(value, self.name, ctx)
        entry = entry_of(spoken, ctx, view.started_at)
        return {self.plan.key: [entry], **view.ledger.update()}

    def _failed(self, error: Exception, view: View, ctx: Context) -> Update:
        view.ledger.discard()
        failure = Failure(
            round=ctx.state.round,
            turn=ctx.state.turn,
            agent_name=self.name,
            error=explain(error),
            started_at=view.started_at,
            completed_at=time.time(),
            usage=ctx.meter.as_json(),
        )
        update: Update = {"failures": [failure]}
        stop = Stop(reason="member_failed", by=self.name, detail=failure["error"])
        mistaken = isinstance(error, (AsyncOnlyError, DefinitionError))
        if self.plan.on_error == "raise" or mistaken:  # no policy absorbs a faulty program
            raise self._member_error(view.after(update), stop, ctx) from error
        return update if self.plan.on_error == "skip" else {**update, "stop": stop.model_dump()}

    def _member_error(self, view: View, stop: Stop, ctx: Context) -> MemberError:
        where = f"round {ctx.state.round}, turn {ctx.state.turn}"
        return MemberError(
            f"{self.plan.name!r}: member {self.name!r} failed in {where}: {stop.detail}",
            agent_name=self.name,
            round=ctx.state.round,
            turn=ctx.state.turn,
            result=partial_result(view, stop),
        )

    def _early_goto(self, view: View, update: Update) -> Goto | None:
        """Route where nothing is to be decided yet: a failed member's stop, or a critique."""
        if "stop" in update:
            stop = Stop.model_validate(update["stop"])
            return self.conclusion.go(stop, view, update, view.after(update))
        if self.plan.referee is not None and self.plan.ends_round(view.after(update).turns):
            return Command(update=update, goto=self.plan.referee_node)
        return None
