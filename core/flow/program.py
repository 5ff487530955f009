"""A flow's plan as the program of its compiled graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from flowcompose.core.flow.finish import derived, is_finished, result_of
from flowcompose.core.flow.ops import EachOp
from flowcompose.core.flow.parts import model_problems_of
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.taken import offer, take
from flowcompose.core.flow.view import FlowView
from flowcompose.core.resource_use import ResourceMap
from flowcompose.core.results import Result


@dataclass(frozen=True)
class FlowProgram:
    """What the compiled graph of a flow knows of itself."""

    plan: FlowPlan

    @property
    def name(self) -> str:
        """The flow's name."""
        return self.plan.name

    @property
    def description(self) -> str:
        """The definition on one line."""
        return self.plan.description

    @property
    def summary(self) -> str:
        """What it is good for, as far as the names of its steps tell."""
        return f"Works in these steps: {', '.join(op.name for op in self.plan.ops)}."

    @property
    def input_schema(self) -> type[BaseModel] | None:
        """What its input must fit, if that is said."""
        return self.plan.input_schema

    @property
    def transcript(self) -> None:
        """A flow has none of its own."""
        return

    @property
    def max_steps(self) -> int:
        """Supersteps that a run can need."""
        return self.plan.max_steps

    @property
    def min_concurrency(self) -> int:
        """The node of a `for_each` waits for its items."""
        return 2 if any(isinstance(op, EachOp) for op in self.plan.ops) else 1

    @property
    def max_together(self) -> int:
        """Its steps come one after the other."""
        return 1

    @property
    def async_parts(self) -> tuple[str, ...]:
        """What of it only works with `arun`."""
        return self.plan.async_parts

    @property
    def resources(self) -> ResourceMap:
        """The resources that a flow around this one shares with it, by key."""
        return self.plan.shared

    @property
    def deliverer(self) -> object:
        """The plan, which every node of a run has at hand."""
        return self.plan

    def model_problems(self) -> list[str]:
        """Say which models of the steps are not configured."""
        return model_problems_of(self.plan.ops, FlowView(self.plan, {}, {}).context(""))

    def read_input(self, given: Any) -> dict[str, Any]:
        """Take any value that fits the input schema."""
        return offer(self.plan, given)

    def goal_of(self, given: Mapping[str, Any]) -> str:
        """The input, if it is a text or has one as its goal."""
        return take(self.plan, given).goal

    def is_finished(self, values: Mapping[str, Any]) -> bool:
        """Its last node writes the accounts, its first clears them."""
        return is_finished(values)

    def derived(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The output, which no checkpoint holds twice."""
        return derived(self.plan, values)

    def result(
        self, values: Mapping[str, Any], interrupts: Sequence[Any], config: RunnableConfig
    ) -> Result[Any]:
        """Read the output of a run, or the state of a thread."""
        return result_of(self.plan, values, interrupts, config)

    @property
    def raises_at_cap(self) -> bool:
        """A flow has no cap of its own."""
        return False

    def check_limit(self, result: Result[Any]) -> None:
        """A flow has no cap of its own."""
