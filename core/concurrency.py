"""How many nodes may be at work at once: what a user has said, and what we have said ourselves."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig

_OURS = "__flowcompose_threads"
"""Where a config says which limit is ours. The engine keeps what begins so out of traces."""


def limit_of(config: RunnableConfig) -> int | None:
    """Give the limit that a user has set for a run; one of ours is none for what runs inside."""
    limit = config.get("max_concurrency")
    ours: Any = (config.get("configurable") or {}).get(_OURS)
    return None if limit == ours else limit


def with_threads(config: RunnableConfig | None, threads: int) -> RunnableConfig:
    """Let the engine's sync path have as many threads as nodes are to be at work at once."""
    given = config or {}
    configurable = {**(given.get("configurable") or {}), _OURS: threads}
    return {**given, "max_concurrency": threads, "configurable": configurable}
