"""The last step: from the transcript to the deliverable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import END
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from flowcompose.core.blocks import Block
from flowcompose.core.context import Context
from flowcompose.core.errors import OutputError, RunError
from flowcompose.core.explain import explain
from flowcompose.core.node import Goto
from flowcompose.core.results import Stop
from flowcompose.core.timed import TimedBlock
from flowcompose.patterns.turn_loop.finish import finish_with
from flowcompose.patterns.turn_loop.outcome import partial_result
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.view import View

SYNTHESIZER = "synthesizer"
"""The name under which the synthesizer speaks."""


class SynthesizerStep:
    """The node of the synthesizer."""

    def __init__(self, plan: Plan, synthesizer: Block) -> None:
        self.plan = plan
        limit = plan.turn_timeout
        self.block = TimedBlock(synthesizer, limit) if limit is not None else synthesizer

    def run(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Make the deliverable on the sync path."""
        view = View(self.plan, state, config)
        ctx = self._context(view)
        try:
            view.ledger.load()
            goto = self._made(self.block.run(view.synthesis_input(), ctx), view, ctx)
            view.ledger.save()
        except GraphBubbleUp:
            raise
        except Exception as error:
            raise self._failed(error, view, ctx) from _cause(error)
        return goto

    async def arun(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Make the deliverable on the async path."""
        view = View(self.plan, state, config)
        ctx = self._context(view)
        try:
            await view.ledger.aload()
            goto = self._made(await self.block.arun(view.synthesis_input(), ctx), view, ctx)
            await view.ledger.asave()
        except GraphBubbleUp:
            raise
        except Exception as error:
            raise self._failed(error, view, ctx) from _cause(error)
        return goto

    def _context(self, view: View) -> Context:
        hidden = not self.plan.visibility.client
        return (view.unstreamed() if hidden else view).context(SYNTHESIZER, view.turns)

    def _made(self, value: Any, view: View, ctx: Context) -> Goto:
        if isinstance(value, BaseMessage) and ctx.meter.tokens is None:
            ctx.meter.add(value)
        update = finish_with(view, value, ctx.meter.tokens, ctx.meter.message_id)
        return Command(update={**update, **ctx.ledger.closing()}, goto=END)

    def _failed(self, error: Exception, view: View, ctx: Context) -> RunError:
        stop = Stop.model_validate(view.state["stop"])
        result = partial_result(view, stop, view.usage(synthesizer=ctx.meter.tokens))
        if isinstance(error, OutputError):
            error.result = result
            return error
        msg = f"{self.plan.name!r}: the synthesizer failed: {explain(error)}"
        return RunError(msg, result=result)


def _cause(error: Exception) -> BaseException | None:
    """An OutputError goes on as it is, and so with its own cause."""
    return error.__cause__ if isinstance(error, OutputError) else error
