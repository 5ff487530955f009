"""The data of a round robin, under the names of its specification."""

from __future__ import annotations

from pydantic import BaseModel

from flowcompose.core.source import RunInput as RoundRobinInput
from flowcompose.patterns.turn_loop.referee import RefereeOutput
from flowcompose.patterns.turn_loop.shape import RoundRobinFinalShape
from flowcompose.resources.contributions import ContributionEntry
from flowcompose.resources.critiques import RefereeCritique

__all__ = [
    "ContributionEntry",
    "RefereeCritique",
    "RefereeOutput",
    "RoundRobinFinalShape",
    "RoundRobinInput",
    "RoundRobinState",
]


class RoundRobinState(BaseModel):
    """How far a round robin is: what `ctx.state` and `ctx.goal` show, as one object."""

    goal: str = ""
    """What the panel works on."""
    round: int = 0
    """Rounds that have begun."""
    referee_critiques: list[RefereeCritique] = []
    """One per finished round if there is a referee."""
