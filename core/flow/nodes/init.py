"""The opening of a flow's run: check that it can work, clear what the last run left, begin."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Overwrite

from flowcompose.core.errors import DefinitionError, RunError
from flowcompose.core.flow.parts import model_problems_of
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.state import FlowRequest, reset_of
from flowcompose.core.flow.taken import take
from flowcompose.core.flow.view import FlowView
from flowcompose.core.handover import take_given
from flowcompose.core.node import Goto
from flowcompose.core.program import check_sync


class InitNode:
    """The first node of a flow."""

    def __init__(self, plan: FlowPlan) -> None:
        self.plan = plan
        self.next = [*plan.entry(0)]

    def run(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Open a run on the sync path."""
        check_sync(self.plan.name, self.plan.async_parts)
        view = FlowView(self.plan, state, config)
        view.ledger.load()
        return self._open(view)

    async def arun(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Open a run on the async path."""
        view = FlowView(self.plan, state, config)
        await view.ledger.aload()
        return self._open(view)

    def _open(self, view: FlowView) -> Goto:
        taken = take(self.plan, view.state, take_given(view.config, self.plan))
        kept = self._kept(taken.value, view)
        request = FlowRequest(
            goal=taken.goal,
            history=taken.history,
            input=kept.get("value"),
            started_at=time.time(),
        )
        if problems := model_problems_of(self.plan.ops, view.context("")):
            raise DefinitionError(repr(self.plan.name), problems)
        live = {**kept["live"], "input": taken.value}
        cleared = {**reset_of(view.state), **view.ledger.opening()}
        update = {**cleared, **kept, "live": live, "request": Overwrite(request)}
        return Command(update=update, goto=self.next if len(self.next) > 1 else self.next[0])

    def _kept(self, value: Any, view: FlowView) -> dict[str, Any]:
        try:
            return view.keep(value, "")
        except RunError as error:
            problem = f"the input, for step {self.plan.ops[0].name!r}: {error}"
            raise DefinitionError(repr(self.plan.name), [problem]) from None
