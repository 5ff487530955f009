"""What blocks and predicates see of the run they are in."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from flowcompose.core.acts import Acts
from flowcompose.core.handover import is_abandoned
from flowcompose.core.ledger import Ledger
from flowcompose.core.meter import Meter
from flowcompose.core.panel import Panel
from flowcompose.core.resource_state import ResourceError
from flowcompose.core.resource_use import ResourceMap
from flowcompose.core.resource_views import Resources
from flowcompose.core.source import Outside, Source
from flowcompose.core.stream import emit
from flowcompose.resources.contributions import Transcript
from flowcompose.resources.critiques import CritiqueEntry, Critiques
from flowcompose.resources.usage import Usage


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
    def started_at(self) -> float:
        """When the run began, in seconds since 1970: its first start, also after a `resume`."""
        return self._source.run_started_at

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

    __slots__ = (
        *("_abandoned", "_acts", "_config", "_lender", "_source"),
        *("agent_name", "meter", "read_only", "state"),
    )

    def __init__(self, source: Source, agent_name: str = "", round: int = 1, turn: int = 1) -> None:
        self._source = source
        self._config: RunnableConfig | None = None
        self.agent_name = agent_name
        """Who is asked to speak; empty outside a turn."""
        self.state = RunState(source, round, turn)
        """`.round`, `.turn`, `.referee_critiques`."""
        self.meter = Meter()
        """Counts the tokens of this turn."""
        self._acts: Acts | None = None
        self._abandoned = False
        self._lender: Context | None = None
        self.read_only = False
        """Whether this is asked for a decision, which may read resources but not write them."""

    @classmethod
    def outside(
        cls, config: RunnableConfig | None = None, resources: ResourceMap | None = None
    ) -> Context:
        """The context of a block that is used on its own, outside any run.

        Called by something that runs in a step of ours, as a generator in a chain is, the
        block shares the resources of that step, which loads and saves them. Whoever makes the
        context lets the block work while its ledger is `kept`.
        """
        config, resources = config or {}, resources or {}
        found = Ledger.found(config)
        shared = found is not None and all(map(found.knows, resources.values()))
        ledger = found.lent() if found and shared else Ledger(resources, None, config)
        ctx = cls(Outside(config, ledger))
        ctx.acts = Acts.found(config) or ctx.acts
        return ctx

    def for_tool(self) -> Self:
        """The same turn, for a block that is a tool in it: what that does is its own affair."""
        ctx = copy.copy(self)
        ctx._lender = self
        ctx.acts = Acts()
        ctx._config = ctx.acts.handed_down(self.config)
        return ctx

    @property
    def abandoned(self) -> bool:
        """Whether the turn was given up; a sync block may still be at work in its thread."""
        lender = self._lender
        if self._abandoned or (lender is not None and lender.abandoned):
            return True
        return is_abandoned(self._source.config)

    @abandoned.setter
    def abandoned(self, given_up: bool) -> None:
        self._abandoned = given_up

    @property
    def acts(self) -> Acts:
        """What is done in this turn besides speaking."""
        if self._acts is None:
            self._acts = Acts()
        return self._acts

    @acts.setter
    def acts(self, acts: Acts) -> None:
        self._acts = acts

    @property
    def termination(self) -> str | None:
        """The response with which the member ended its team in this turn, if it did."""
        return None if self._acts is None else self._acts.termination

    @property
    def tools_called(self) -> Sequence[str]:
        """The names of the tools that were called in this turn, in order."""
        return () if self._acts is None else self._acts.tools

    @property
    def goal(self) -> str:
        """What the panel works on."""
        return self._source.goal

    @property
    def input(self) -> Any:
        """What the run was started with: of a pattern, an object with `.goal`."""
        return self._source.input

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
            config = self._source.config_for(self.agent_name, state.round, state.turn)
            self._config = self.acts.handed_down(config)
        return self._config

    @property
    def usage(self) -> Usage:
        """Tokens spent up to the last finished turn."""
        return self._source.usage()

    @property
    def ledger(self) -> Ledger:
        """The resources of the step, as the machinery sees them."""
        return self._source.ledger

    @property
    def resources(self) -> Resources:
        """Shared state: `ctx.resources["contributions"].state.entries`.

        A resource that a block names is read as `ctx.resources[it].state`, and written with
        `.patch(field=...)` or `.set(state)`.
        """
        own = self.panel.contributions
        live = None if own is None else (own, self._source.entries)
        return Resources(self._source.ledger, live, self._check_writable)

    def _check_writable(self) -> None:
        """Refuse to write where nothing would come of it."""
        if self.read_only:
            msg = "a condition reads resources, it does not write them: write in a block"
            raise ResourceError(msg)
        if self.abandoned:
            msg = "the turn was given up: what it writes now is nobody's"
            raise ResourceError(msg)

    def emit(self, data: Any) -> None:
        """Send `data` to whoever follows the run's events, as an `Emitted` event."""
        emit("emitted", self, data=data)
