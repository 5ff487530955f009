"""Where a context reads from: a run, or nothing at all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from flowcompose.core.ledger import Ledger
from flowcompose.core.panel import Panel
from flowcompose.resources.contributions import Entry
from flowcompose.resources.critiques import CritiqueEntry
from flowcompose.resources.usage import Usage


class RunInput(BaseModel):
    """What a pattern was started with."""

    goal: str
    """What the panel works on; may be empty."""


class Source(Protocol):
    """What a context reads from, when it is asked.

    A turn whose block looks at nothing pays for nothing.
    """

    @property
    def config(self) -> RunnableConfig:
        """The config of the step."""
        ...

    @property
    def goal(self) -> str:
        """What the panel works on."""
        ...

    @property
    def input(self) -> Any:
        """What the run was started with: a pattern's `RunInput`, or the value of a flow."""
        ...

    @property
    def history(self) -> Sequence[BaseMessage]:
        """The conversation before the run."""
        ...

    @property
    def run_started_at(self) -> float:
        """When the run began, in seconds since 1970; where nobody noted it, the present moment."""
        ...

    @property
    def entries(self) -> Sequence[Entry]:
        """The transcript."""
        ...

    @property
    def critiques(self) -> Sequence[CritiqueEntry]:
        """The critiques so far."""
        ...

    @property
    def session(self) -> dict[str, Any]:
        """What belongs to the thread; a copy, which whoever holds it may not write to."""
        ...

    @property
    def panel(self) -> Panel:
        """What the default blocks have in common."""
        ...

    @property
    def ledger(self) -> Ledger:
        """The resources of the step; one for all contexts that are made in it."""
        ...

    def usage(self) -> Usage:
        """The tokens spent so far."""
        ...

    def config_for(self, agent_name: str, round: int, turn: int) -> RunnableConfig:
        """The engine's config for what is called in this turn."""
        ...


@dataclass(frozen=True)
class Outside:
    """No run at all: what a block sees that is used on its own."""

    config: RunnableConfig
    ledger: Ledger = field(default_factory=lambda: Ledger({}, None, {}))
    goal: str = ""
    input: RunInput = field(default_factory=lambda: RunInput(goal=""))
    history: Sequence[BaseMessage] = ()
    run_started_at: float = field(default_factory=time.time)
    entries: Sequence[Entry] = ()
    critiques: Sequence[CritiqueEntry] = ()
    session: dict[str, Any] = field(default_factory=dict[str, Any])
    panel: Panel = field(default_factory=lambda: Panel(name=""))

    def usage(self) -> Usage:
        """Nothing was spent."""
        return Usage()

    def config_for(self, agent_name: str, round: int, turn: int) -> RunnableConfig:
        """The caller's config as it is."""
        return self.config
