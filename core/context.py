"""What blocks and predicates see of the run they are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from flowcompose.core.meter import Meter
from flowcompose.core.panel import Panel
from flowcompose.core.resource_views import Resources
from flowcompose.core.source import Outside, Source
from flowcompose.core.stream import emit
from flowcompose.resources.contributions import Transcript
from flowcompose.resources.critiques import CritiqueEntry, Critiques
from flowcompose.resources.resource import ContributionsState
from flowcompose.resources.usage import Usage


class RunInput(BaseModel):
    """What a pattern was started with."""

    goal: str
    """What the panel works on; may be empty."""


class RunState:
    """How far a run is."""

    __slots__ = ("_source", "round", "turn")

    def __init__(self, source: Source, round: int, turn: int) -> None:
        self._source = source
        self.round = round
        """The current round, counted from 1; in `terminate_when`, the round just finished."""
        self.turn = turn
        """The current turn of the run, counted from 1."""

    @property
    def referee_critiques(self) -> Critiques:
        """One critique per finished round, if there is a referee."""
        return Critiques(self._source.critiques)


@dataclass(frozen=True, slots=True)
class Session:
    """What belongs to the thread, and outlives a run."""

    state: Mapping[str, Any]
    """What `run(session=...)` gave, and what earlier runs of the thread left."""


class Context:
    """The run, as blocks, predicates and prompt functions see it. Made anew for each turn.

    Predicates get it as their only argument, blocks as their second one if they take two.
    """

    __slots__ = ("_config", "_source", "abandoned", "agent_name", "meter", "state")

    def __init__(self, source: Source, agent_name: str = "", round: int = 1, turn: int = 1) -> None:
        self._source = source
        self._config: RunnableConfig | None = None
        self.agent_name = agent_name
        """Who is asked to speak; empty outside a turn."""
        self.state = RunState(source, round, turn)
        """`.round`, `.turn`, `.referee_critiques`."""
        self.meter = Meter()
        """Counts the tokens of this turn."""
        self.abandoned = False
        """Whether the turn was given up; a sync block may still be at work in its thread."""

    @classmethod
    def outside(cls, config: RunnableConfig | None = None) -> Context:
        """The context of a block that is used on its own, outside any run."""
        return cls(Outside(config or {}))

    @property
    def goal(self) -> str:
        """What the panel works on."""
        return self._source.goal

    @property
    def input(self) -> RunInput:
        """The pattern's input."""
        return RunInput(goal=self.goal)

    @property
    def history(self) -> Sequence[BaseMessage]:
        """The conversation before the run, if it was started with messages."""
        return self._source.history

    @property
    def contributions(self) -> Transcript:
        """All that was said so far, oldest first."""
        return Transcript(self._source.entries)

    @property
    def critiques(self) -> Sequence[CritiqueEntry]:
        """The critiques as the state holds them."""
        return self._source.critiques

    @property
    def session(self) -> Session:
        """`.state` holds what the caller passed as `session=`."""
        return Session(MappingProxyType(self._source.session))

    @property
    def panel(self) -> Panel:
        """What the default blocks of this pattern have in common."""
        return self._source.panel

    @property
    def config(self) -> RunnableConfig:
        """The engine's config: pass it to models and graphs that you call yourself."""
        if self._config is None:
            state = self.state
            self._config = self._source.config_for(self.agent_name, state.round, state.turn)
        return self._config

    @property
    def usage(self) -> Usage:
        """Tokens spent up to the last finished turn."""
        return self._source.usage()

    @property
    def resources(self) -> Resources:
        """Shared state: `ctx.resources["contributions"].state.entries`."""
        panel = self.panel
        if panel.contributions is None:
            return Resources({})
        state = ContributionsState(self.contributions)
        return Resources({panel.accessor_key: (panel.contributions, state)})

    def emit(self, data: Any) -> None:
        """Send `data` to whoever follows the run's events, as an `Emitted` event."""
        emit("emitted", self, data=data)
