"""What every way of adding to a flow comes to: a new flow with one operation more."""

from __future__ import annotations

import copy
from abc import ABC
from dataclasses import replace
from typing import Self, TypeVar

from flowcompose.core.flow.checks import StepReader
from flowcompose.core.flow.ops import Op
from flowcompose.core.flow.plan import FlowPlan, declared_by
from flowcompose.core.flow.runs import Runs
from flowcompose.core.resource_use import collect

OutputT = TypeVar("OutputT")


class Building(Runs[OutputT], ABC):
    """Something that grows by one operation at a time, and never changes itself."""

    _plan: FlowPlan

    @property
    def name(self) -> str:
        """The flow's name."""
        return self._plan.name

    def _with(self, read: StepReader, op: Op) -> Self:
        """Give this flow with one operation more."""
        added = declared_by(op)
        declared = (*self._plan.declared, *added)
        if added:
            collect(read.problems, declared)
        read.problems.raise_if_any()
        made = copy.copy(self)
        made._plan = replace(self._plan, ops=(*self._plan.ops, op), declared=declared)
        vars(made).pop("_pattern", None)  # what this flow has compiled is not of the new one
        return made

    def __repr__(self) -> str:
        return self._plan.description
