"""A flow's run at one moment: what a step sees of it, and how it writes what it made."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from flowcompose.core.context import Context
from flowcompose.core.errors import RunError
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.state import FlowRequest
from flowcompose.core.handover import lasting_for
from flowcompose.core.ledger import Ledger
from flowcompose.core.meter import Meter
from flowcompose.core.panel import Panel
from flowcompose.core.saving import is_saving
from flowcompose.resources.contributions import Entry
from flowcompose.resources.critiques import CritiqueEntry
from flowcompose.resources.packed import HANDED_AGAIN, UnstorableError, pack, unpack
from flowcompose.resources.usage import Tokens, Usage
from flowcompose.resources.writes import WRITES

_NO_REQUEST = FlowRequest(goal="", history=[], input=None)


class FlowView:
    """Reads the state of a flow."""

    __slots__ = ("config", "ledger", "live", "plan", "state")

    def __init__(self, plan: FlowPlan, state: Mapping[str, Any], config: RunnableConfig) -> None:
        self.plan = plan
        self.state = state
        self.config = config
        self.live: Mapping[Any, Any] = state.get("live") or {}
        self.ledger = Ledger(plan.resources, state.get(WRITES), config, program=plan)

    @property
    def value(self) -> Any:
        """The flow's value, as the last step gave it."""
        live = self.live
        return live["value"] if "value" in live else self._unpacked(self.state.get("value"))

    @property
    def request(self) -> FlowRequest:
        """What the run was started with."""
        return self.state.get("request") or _NO_REQUEST

    @property
    def input(self) -> Any:
        """The flow's input."""
        live = self.live
        return live["input"] if "input" in live else self._unpacked(self.request["input"])

    @property
    def goal(self) -> str:
        """The input, if it is a text or has one as its goal."""
        return self.request["goal"]

    @property
    def history(self) -> Sequence[BaseMessage]:
        """The conversation before the run."""
        return self.request["history"]

    @property
    def run_started_at(self) -> float:
        """When the run began; the present moment where that was not noted."""
        return self.request.get("started_at") or time.time()

    @property
    def entries(self) -> Sequence[Entry]:
        """A flow has no transcript of its own."""
        return ()

    @property
    def critiques(self) -> Sequence[CritiqueEntry]:
        """Nor critiques."""
        return ()

    @property
    def session(self) -> dict[str, Any]:
        """What belongs to the thread; a copy: a block that writes to it writes to nothing."""
        return copy.deepcopy(dict(self.state.get("session") or {}))

    @property
    def panel(self) -> Panel:
        """A flow's blocks have nothing in common."""
        return Panel(name=self.plan.name)

    def context(self, agent_name: str) -> Context:
        """What the block of a step sees."""
        return Context(self, agent_name)

    def usage(self, more: Sequence[Mapping[str, Any]] = ()) -> Usage:
        """The tokens spent so far, and in which step."""
        by_step: dict[str, list[Mapping[str, int]]] = {}
        for each in (*(self.state.get("spent") or ()), *more):
            by_step.setdefault(each["step"], []).append(each["usage"])
        return Usage.of_parts({name: Tokens.total(parts) for name, parts in by_step.items()})

    def config_for(self, agent_name: str, round: int, turn: int) -> RunnableConfig:
        """The config under which a step calls models: it says who asks."""
        named = {"agent_name": agent_name, "lc_agent_name": agent_name}
        config = self.ledger.handed_down(self.config)
        return {**config, "metadata": {**(config.get("metadata") or {}), **named}}

    def keep(self, value: Any, step: str, message_id: str | None = None) -> dict[str, Any]:
        """Write `value`, given by `step`, as the flow's.

        Raises:
            RunError: There is a checkpointer, and no checkpoint can hold it.
        """
        live = {"live": {"value": value, "step": step, "message_id": message_id}}
        return {**live, "value": self.packed(value)} if is_saving(self.config) else live

    def packed(self, value: Any) -> Any:
        """Give the form of a value that goes into a checkpoint."""
        lasting = lasting_for(self.config, self.plan)
        if lasting is not None and value is lasting.value:
            return HANDED_AGAIN
        try:
            return pack(value)
        except UnstorableError as error:
            allowed = "JSON, pydantic models, dataclasses, dates, tuples, sets or messages"
            msg = f"no checkpoint can hold a value of type {error}: give {allowed}"
            raise RunError(msg) from None

    def _unpacked(self, stored: Any) -> Any:
        if stored != HANDED_AGAIN:
            return unpack(stored)
        lasting = lasting_for(self.config, self.plan)
        return None if lasting is None else lasting.value

    def spent(self, step: str, meter: Meter) -> dict[str, Any]:
        """Write what a step has spent, if it asked a model."""
        if meter.tokens is None:
            return {}
        spent = {"step": step, "usage": meter.as_json(), "message": meter.message_id}
        return {"spent": [spent]}
