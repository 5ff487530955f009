"""A pattern's plan as the program of its compiled graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

from flowcompose.core.errors import MaxTurnsReached
from flowcompose.core.request import read_request
from flowcompose.core.resource_use import ResourceMap
from flowcompose.core.results import Result
from flowcompose.core.untyped import mapping_of
from flowcompose.patterns.turn_loop.finish import derived
from flowcompose.patterns.turn_loop.init import model_problems_of
from flowcompose.patterns.turn_loop.outcome import is_finished, result_of
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.view import View
from flowcompose.resources.resource import Resource


@dataclass(frozen=True)
class LoopProgram:
    """What the compiled graph of a turn loop knows of itself."""

    plan: Plan

    @property
    def name(self) -> str:
        """The pattern's name."""
        return self.plan.name

    @property
    def description(self) -> str:
        """The definition on one line."""
        return self.plan.description

    @property
    def summary(self) -> str:
        """Who is on the panel, for a model that may call it as a tool."""
        members = (
            f"{m.name} ({m.description or m.role})" if m.description or m.role else m.name
            for m in self.plan.members
        )
        return " ".join(f"Let a panel work on a goal: {', '.join(members)}.".split())

    @property
    def input_schema(self) -> None:
        """Its input is a goal."""
        return

    @property
    def max_steps(self) -> int:
        """Supersteps that a run can need."""
        return self.plan.max_steps

    @property
    def min_concurrency(self) -> int:
        """No turn waits for another."""
        return 1

    @property
    def max_together(self) -> int:
        """How many members may have to speak at once."""
        return self.plan.max_together

    @property
    def async_parts(self) -> tuple[str, ...]:
        """What of it only works with `arun`."""
        return self.plan.async_parts

    @property
    def resources(self) -> ResourceMap:
        """What the blocks use, and the pattern's own transcript if it is shared, by key."""
        plan = self.plan
        if plan.shares_transcript:
            return plan.resources
        return {key: each for key, each in plan.resources.items() if key != plan.key}

    @property
    def transcript(self) -> tuple[str, Resource[Any]] | None:
        """The resource of the pattern's own transcript, and its key in the output."""
        own = self.plan.panel.contributions
        return None if own is None else (self.plan.key, own)

    @property
    def deliverer(self) -> object:
        """The plan, which every step of a run has at hand."""
        return self.plan

    def model_problems(self) -> list[str]:
        """Say which models of the blocks are not configured."""
        return model_problems_of(self.plan, View(self.plan, {}, {}))

    def read_input(self, given: Any) -> dict[str, Any]:
        """Take a goal, or a mapping with `goal` or `messages`."""
        mapping = mapping_of(given)
        keys = {"goal": given} if mapping is None else mapping
        read_request(self.name, keys)
        return keys

    def goal_of(self, given: Mapping[str, Any]) -> str:
        """What the panel works on."""
        return read_request(self.name, given)["goal"]

    def is_finished(self, values: Mapping[str, Any]) -> bool:
        """Its last node writes the accounts, its first clears them."""
        return is_finished(values)

    def derived(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The tasks, and a raw output; nothing where a run has just written them."""
        return {} if "tasks" in values else derived(View(self.plan, values, {}))

    def result(
        self, values: Mapping[str, Any], interrupts: Sequence[Any], config: RunnableConfig
    ) -> Result[Any]:
        """Read the output of a run, or the state of a thread."""
        return result_of(self.plan, values, interrupts, config)

    @property
    def raises_at_cap(self) -> bool:
        """Whether `on_limit` says so."""
        return self.plan.on_limit == "raise"

    def check_limit(self, result: Result[Any]) -> None:
        """Raise at a cap where `on_limit` says so."""
        if self.raises_at_cap and result.stop.reason in ("max_rounds", "max_turns"):
            msg = f"{self.name!r} reached its cap after {result.turns} turns ({result.stop.reason})"
            raise MaxTurnsReached(msg, result=result)
