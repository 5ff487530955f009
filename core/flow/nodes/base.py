"""What all nodes of a flow have in common: make the calls, write, route, or be rescued."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import END
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from flowcompose.core.context import Context
from flowcompose.core.errors import RunError
from flowcompose.core.explain import explain
from flowcompose.core.flow.calls import Calls, adrive, drive
from flowcompose.core.flow.finish import finish, partial_result
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.view import FlowView
from flowcompose.core.node import Goto
from flowcompose.core.results import Stop
from flowcompose.resources.packed import pack_error

Update = dict[str, Any]

# The engine waits for the writes of a step before it stores the checkpoint after it only if one
# of them goes to a log. Else a process that is killed in between would do the step again.
_AWAITED: Update = {"spent": []}


class PlacedError(Exception):
    """An error of one block or item of a step that has several."""

    def __init__(self, place: str, error: Exception) -> None:
        super().__init__(place)
        self.place = place
        self.error = error


class Outcome(NamedTuple):
    """What a node writes, and where the run goes from there."""

    update: Update
    goto: tuple[str, ...]
    by: str | None = None
    """Who ended the flow, if it is not its last step."""


class FlowNode(ABC):
    """A node of a flow.

    Args:
        plan: The flow.
        at: Which operation it belongs to, counted from 0.
        speaker: The name under which its block speaks.
    """

    def __init__(self, plan: FlowPlan, at: int, speaker: str) -> None:
        self.plan = plan
        self.at = at
        self.speaker = speaker
        self.step = plan.ops[at].name
        self.next = plan.entry(at + 1)

    @abstractmethod
    def calls(self, view: FlowView) -> Calls:
        """The calls to make; what they come to is `conclude`d."""

    @abstractmethod
    def conclude(self, made: Any, view: FlowView, ctx: Context) -> Outcome:
        """Say what to write, and where to go."""

    def make(self, view: FlowView, ctx: Context) -> Any:
        """Make the calls on the sync path."""
        return drive(self.calls(view), ctx)

    async def amake(self, view: FlowView, ctx: Context) -> Any:
        """Make the calls on the async path."""
        return await adrive(self.calls(view), ctx)

    def run(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Do it on the sync path."""
        view = FlowView(self.plan, state, config)
        ctx = view.context(self.speaker)
        try:
            view.ledger.load()
            made = self.make(view, ctx)
            self.count(made, view, ctx)
            outcome = self.conclude(made, view, ctx)
            view.ledger.save()
        except GraphBubbleUp:
            raise
        except Exception as error:
            outcome = self.failed(error, view, ctx)
        return self.routed(outcome, view, ctx)

    async def arun(self, state: Mapping[str, Any], config: RunnableConfig) -> Goto:
        """Do it on the async path."""
        view = FlowView(self.plan, state, config)
        ctx = view.context(self.speaker)
        try:
            await view.ledger.aload()
            made = await self.amake(view, ctx)
            self.count(made, view, ctx)
            outcome = self.conclude(made, view, ctx)
            await view.ledger.asave()
        except GraphBubbleUp:
            raise
        except Exception as error:
            outcome = self.failed(error, view, ctx)
        return self.routed(outcome, view, ctx)

    def routed(self, outcome: Outcome, view: FlowView, ctx: Context) -> Goto:
        """Write and go; the last node also writes how the flow ends."""
        spent = view.spent(self.step, ctx.meter)
        ends = outcome.goto == (END,)
        written = view.ledger.closing() if ends else view.ledger.update()
        update = {**_AWAITED, **outcome.update, **spent, **written}
        if ends:
            live = {"value": view.value, **view.live, **update.get("live", {})}
            update = finish(view, live, update, outcome.by)
        return Command(update=update, goto=_one_or_more(outcome.goto))

    def count(self, made: Any, view: FlowView, ctx: Context) -> None:
        """Count what the block's answer says that it cost."""
        count_answer(made, view.value, view, ctx)

    def failed(self, error: Exception, view: FlowView, ctx: Context) -> Outcome:
        """Go to the rescue that takes care of `error`, or raise it with what was achieved."""
        view.ledger.discard()
        place = "" if self.speaker == self.step else f"in {self.speaker!r}: "
        if isinstance(error, PlacedError):
            place, error = f"in {error.place}: ", error.error
        rescue = self.plan.rescue_of(self.at, error)
        if rescue is None:
            raise self.error(place + explain(error), view, ctx) from error
        node, found = rescue
        failure = {"step": self.step, "error": pack_error(found)}
        return Outcome({"failure": failure, "live": {"error": found}}, (node,))

    def error(self, detail: str, view: FlowView, ctx: Context) -> RunError:
        """The error that the user of the flow gets."""
        stop = Stop(reason="failed", by=self.step, detail=detail)
        spent = view.spent(self.step, ctx.meter).get("spent", ())
        return RunError(
            f"{self.plan.name!r}: step {self.step!r} failed: {stop.detail}",
            result=partial_result(view, stop, spent),
        )


def count_answer(made: Any, received: Any, view: FlowView, ctx: Context) -> None:
    """Count what a message says that it cost, as a chat model's does, once in a run.

    One that a block has only handed on was counted where it was made.
    """
    if not isinstance(made, BaseMessage) or ctx.meter.tokens is not None or made is received:
        return
    known = [each.id for each in (received, view.input) if isinstance(each, BaseMessage)]
    known += [each.get("message") for each in view.state.get("spent") or ()]
    if made.id is None or made.id not in known:
        ctx.meter.add(made)


def _one_or_more(goto: Sequence[str]) -> Any:
    return goto[0] if len(goto) == 1 else list(goto)
