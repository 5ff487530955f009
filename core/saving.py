"""Whether the engine keeps checkpoints of the run that a node is in.

The keys are private to the engine. `tests/test_engine_keys.py` holds them to its own.
"""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

CHECKPOINTER = "__pregel_checkpointer"
"""Where the engine hands the checkpointer down to graphs inside."""

DURABILITY = "__pregel_durability"
"""Where the engine hands down when checkpoints are written."""


def is_saving(config: RunnableConfig) -> bool:
    """Say whether what a node writes is put into a checkpoint."""
    return (config.get("configurable") or {}).get(CHECKPOINTER) is not None


def not_saving(config: RunnableConfig) -> RunnableConfig:
    """Give the config for a graph inside of which nothing is to be put into a checkpoint.

    The engine would hand both down: the checkpointer to what is inside of the graph, and "sync",
    with which a graph waits for a checkpoint that nobody writes, and fails.
    """
    unsaved = {CHECKPOINTER: None, DURABILITY: "async"}
    return {**config, "configurable": {**(config.get("configurable") or {}), **unsaved}}
