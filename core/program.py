"""What a compiled graph of ours runs: a turn loop, or a flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from flowcompose.core.errors import RunError
from flowcompose.core.results import Result
from flowcompose.resources.resource import Resource


class Program(Protocol):
    """The definition behind a `Pattern`: how input is read, and what a run's state means."""

    @property
    def name(self) -> str:
        """The pattern's or the flow's name."""
        ...

    @property
    def description(self) -> str:
        """The definition on one line, as its user would write it."""
        ...

    @property
    def summary(self) -> str:
        """What it is good for, for a model that may call it as a tool."""
        ...

    @property
    def input_schema(self) -> type[BaseModel] | None:
        """What its input must fit, if that is said."""
        ...

    @property
    def resources(self) -> Mapping[str, Resource[Any]]:
        """The resources that it shares with a run around it, by key."""
        ...

    @property
    def transcript(self) -> tuple[str, Resource[Any]] | None:
        """The key of its transcript in the output, and the resource; None where there is none."""
        ...

    @property
    def max_steps(self) -> int:
        """Supersteps that a run can need."""
        ...

    @property
    def min_concurrency(self) -> int:
        """How many nodes must be able to be at work at once; more than 1 where one waits."""
        ...

    @property
    def max_together(self) -> int:
        """How many nodes there may be to be at work at once."""
        ...

    @property
    def async_parts(self) -> tuple[str, ...]:
        """What of it only works with `arun`."""
        ...

    @property
    def deliverer(self) -> object:
        """The object that hands over the deliverable of a run, see `core/handover.py`."""
        ...

    def model_problems(self) -> list[str]:
        """Say which models of the blocks inside are not configured."""
        ...

    def read_input(self, given: Any) -> dict[str, Any]:
        """Make the graph's input of what `run` was given.

        Raises:
            DefinitionError: It is none.
        """
        ...

    def goal_of(self, given: Mapping[str, Any]) -> str:
        """Say what a run with this input works on; may be empty."""
        ...

    def is_finished(self, values: Mapping[str, Any]) -> bool:
        """Say whether a run whose state is `values` is over."""
        ...

    def derived(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Give what a finished run's output holds besides what is stored."""
        ...

    def result(
        self, values: Mapping[str, Any], interrupts: Sequence[Any], config: RunnableConfig
    ) -> Result[Any]:
        """Read the output of a run, or the state of a thread."""
        ...

    @property
    def raises_at_cap(self) -> bool:
        """Whether a run that ends at its cap is an error."""
        ...

    def check_limit(self, result: Result[Any]) -> None:
        """Raise `MaxTurnsReached` if the run ended at its cap, and that was asked for."""
        ...


def check_sync(name: str, async_parts: Sequence[str]) -> None:
    """Raise a `RunError` that names all async parts of what is run on the sync path."""
    if async_parts:
        parts = ", ".join(async_parts)
        msg = f"{name!r} has async parts ({parts}): use arun, ainvoke, aresume or aevents"
        raise RunError(msg)
