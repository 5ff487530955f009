"""What a member does in its turn besides speaking, and how a config says whose turn it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from langchain_core.runnables import RunnableConfig

from flowcompose.resources.contributions import Entry

TERMINATED = "flowcompose: the team has ended"
"""The artifact of the answer of `terminate`, by which it is known among the messages of a graph."""


class Acts:
    """What is done in one turn.

    All that works for the member in its turn finds the same object: in its context, or in the
    config, as an agent does that is the member, and a generator in a chain.
    """

    KEY: ClassVar[str] = "__flowcompose_acts"
    """Where a config holds them. The engine keeps what begins so out of checkpoints and traces."""

    __slots__ = ("said", "termination", "tools")

    def __init__(self) -> None:
        self.termination: str | None = None
        """The response with which the member ended its team."""
        self.tools: list[str] = []
        """The names of the tools that were called, in order."""
        self.said: Sequence[Entry] = ()
        """What the members of the pattern said that speaks in this turn, if one does."""

    @classmethod
    def found(cls, config: RunnableConfig) -> Self | None:
        """Give those of the turn that this config was handed down by, if there is one."""
        acts: Any = (config.get("configurable") or {}).get(cls.KEY)
        return acts if isinstance(acts, cls) else None

    def handed_down(self, config: RunnableConfig) -> RunnableConfig:
        """Give the config for what works for the member in this turn."""
        return {**config, "configurable": {**(config.get("configurable") or {}), self.KEY: self}}

    def end(self, response: str) -> None:
        """End the member's team. What was said first counts, should it be said again."""
        if self.termination is None:
            self.termination = response

    def add(self, others: Acts) -> None:
        """Take over what was done inside, in the member's name."""
        self.tools += others.tools
        if others.termination is not None:
            self.end(others.termination)
