"""One member's turn: speak, record, conclude. One superstep, whatever happens in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from flowcompose.core.context import Context
from flowcompose.core.graph_block import GraphBlock
from flowcompose.core.node import Goto
from flowcompose.core.results import Stop
from flowcompose.core.timed import TimedBlock, threaded
from flowcompose.core.turns import together_in, turn_of
from flowcompose.core.untyped import mapping_of
from flowcompose.patterns.turn_loop.conclude import Conclusion, Update
from flowcompose.patterns.turn_loop.failed import (
    Fault,
    failure_of,
    is_mistake,
    member_error,
    member_failed,
)
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.roster import Member
from flowcompose.patterns.turn_loop.spoken import entries_of
from flowcompose.patterns.turn_loop.together import held_by, snapshot
from flowcompose.patterns.turn_loop.view import View


class TurnStep:
    """The node of one member."""

    def __init__(self, plan: Plan, member: Member) -> None:
        self.plan = plan
        self.member = member
        self.name = member.name
        self.may_share = member.name in plan.schedule.together
        limit, block = plan.turn_timeout, member.block
        own = threaded(block) if self.may_share else block
        self.block = own if limit is None else TimedBlock(block, limit)
        self.is_team = isinstance(block, GraphBlock) and block.program is not None
        self.conclusion = Conclusion(plan, plan.nodes[member.name])

    def run(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Speak on the sync path."""
        view = View(self.plan, self._seen(state), config)
        if state.get("undecided"):
            view.load()
            return self.conclusion.run(view, {}, (self.name,))
        ctx = view.context(self.name, turn_of(self.name, state, self.plan.key))
        try:
            _check_awaited(ctx)
            view.load()
            update = self._said(self.block.run(view.turn_input(ctx), ctx), view, ctx)
            if not self._is_together(view):
                view.save()
        except GraphBubbleUp:
            raise
        except Exception as error:
            update = self._failed(error, view, ctx)
        early = self._early_goto(view, update, ctx)
        return early or self.conclusion.run(view, update, (self.name,))

    async def arun(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Speak on the async path."""
        view = View(self.plan, self._seen(state), config)
        if state.get("undecided"):
            await view.aload()
            return await self.conclusion.arun(view, {}, (self.name,))
        ctx = view.context(self.name, turn_of(self.name, state, self.plan.key))
        try:
            _check_awaited(ctx)
            await view.aload()
            update = self._said(await self.block.arun(view.turn_input(ctx), ctx), view, ctx)
            if not self._is_together(view):
                await view.asave()
        except GraphBubbleUp:
            raise
        except Exception as error:
            update = self._failed(error, view, ctx)
        early = self._early_goto(view, update, ctx)
        return early or await self.conclusion.arun(view, update, (self.name,))

    def _said(self, value: Any, view: View, ctx: Context) -> Update:
        nothing = "" if value is None and self.is_team else value  # a team may come to nothing
        spoken = self.plan.listener.hear(_last_word(nothing, ctx), self.name, ctx)
        entries = entries_of(spoken, self.member, ctx, view.started_at)
        if self._is_together(view):
            return {self.plan.key: entries, **held_by(view, ctx.state.turn)}
        return {self.plan.key: entries, **view.written}

    def _failed(self, error: Exception, view: View, ctx: Context) -> Update:
        """Note the failure; one that is to end the run waits for those who speak at once."""
        view.ledger.discard()
        failure = failure_of(error, ctx, view.started_at)
        if self.plan.on_error == "raise" or is_mistake(error):
            fault = Fault(failure, error)
            if self._is_together(view):
                return {"faults": [fault]}
            raise member_error(view, [fault]) from error
        return {"failures": [failure]}

    def _early_goto(self, view: View, update: Update, ctx: Context) -> Goto | None:
        """Route where there is nothing to decide in this step, or nothing left to decide."""
        if self._is_together(view):
            return Command(update=update, goto=self.plan.join_node)
        if (stop := self._stop(update, ctx)) is not None:
            return self.conclusion.go(stop, view, update, view.after(update))
        if self.plan.referee is not None and self.plan.ends_round(ctx.state.turn):
            return Command(update=update, goto=self.plan.referee_node)
        return None

    def _stop(self, update: Update, ctx: Context) -> Stop | None:
        if self.plan.on_error == "stop" and update.get("failures"):
            return member_failed(update["failures"][0])
        if ctx.termination is not None and not update.get("failures"):
            return Stop(reason="terminate_tool", by=self.name)
        return None

    def _is_together(self, view: View) -> bool:
        return self.may_share and together_in(view.state) is not None

    def _seen(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        return snapshot(state, self.plan.key) if self.may_share else state


def _last_word(value: Any, ctx: Context) -> Any:
    """Give what counts as said: the response of who ended the team, with its data if it has any."""
    if ctx.termination is None:
        return value
    told = mapping_of(value) or {}
    return value if told.get("text") == ctx.termination else ctx.termination


def _check_awaited(ctx: Context) -> None:
    """Begin no turn of a team whose own turn was given up: it may be taken again already."""
    if ctx.abandoned:
        msg = "the turn of the team was given up"
        raise TimeoutError(msg)
