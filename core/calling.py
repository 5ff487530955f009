"""Who calls a tool, and how a config says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from flowcompose.core.acts import Acts
from flowcompose.core.context import Context
from flowcompose.core.ledger import Ledger

# The engine keeps what begins so out of checkpoints and traces.
_CALLER = "__flowcompose_caller"

AS_ROOT: Mapping[str, None] = {Ledger.KEY: None, Acts.KEY: None, _CALLER: None}
"""Said in a config, a run has nothing to do with the step in which a function starts it."""


def called_by(ctx: Context) -> RunnableConfig:
    """Give the config for the tools that a generator calls in this context.

    An agent that works inside a tool does not act for the member that has the turn.
    """
    config = ctx.ledger.handed_down(ctx.config)
    known = config.get("configurable") or {}
    return {**config, "configurable": {**known, Acts.KEY: None, _CALLER: ctx}}


def by_nobody(config: RunnableConfig) -> RunnableConfig:
    """Give the config for what runs inside a tool: tools called there have other callers."""
    return {**config, "configurable": {**(config.get("configurable") or {}), _CALLER: None}}


def caller_in(config: RunnableConfig) -> Context | None:
    """Give the context of the generator that calls a tool with this config, if one of ours does."""
    caller: Any = (config.get("configurable") or {}).get(_CALLER)
    return caller if isinstance(caller, Context) else None
