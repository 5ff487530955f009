"""Who speaks when: the one thing in which patterns differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from flowcompose.core.context import Context
from flowcompose.core.results import Stop


@dataclass(frozen=True, slots=True)
class Speak:
    """The next speaker."""

    agent_name: str


Decision = Speak | Stop
"""Who speaks next, or why nobody does."""


class Schedule(ABC):
    """Decides who speaks. Stateless: all it knows of a run is in the context.

    One object serves any number of runs at once, so a subclass keeps no counters; the turn
    and the round of the run are `ctx.state.turn` and `ctx.state.round`.
    """

    @abstractmethod
    def first(self, ctx: Context) -> Decision:
        """Say who opens the run."""

    def ended(self, speaker: str, ctx: Context) -> Stop | None:
        """Say why nobody speaks after `speaker`, as far as that is known without a choice.

        It comes before `terminate_when`; caps belong here.
        """
        return None

    @abstractmethod
    def after(self, speaker: str, ctx: Context) -> Decision:
        """Choose who speaks after `speaker`, whose turn `ctx.state.turn` has just ended.

        It comes after `terminate_when`, so a choice that costs something is not made in vain.
        """

    async def afirst(self, ctx: Context) -> Decision:
        """The same on the async path, for schedules that wait for something."""
        return self.first(ctx)

    async def aafter(self, speaker: str, ctx: Context) -> Decision:
        """The same on the async path, for schedules that wait for something."""
        return self.after(speaker, ctx)

    @property
    @abstractmethod
    def turns_per_round(self) -> int | None:
        """How many turns make a round; None where the pattern has no rounds."""

    @property
    @abstractmethod
    def max_turns(self) -> int:
        """More turns than this never happen: the engine's own limit is set from it."""

    @abstractmethod
    def successors(self, speaker: str | None) -> tuple[str | None, ...]:
        """Say who may follow `speaker`, for the drawing: None among them is the end of the run.

        Asked for None, say who may open.
        """
