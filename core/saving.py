"""Whether the engine keeps checkpoints of the run that a node is in."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

# The engine's own key: it hands the checkpointer down to nested graphs under it.
_CHECKPOINTER = "__pregel_checkpointer"


def is_saving(config: RunnableConfig) -> bool:
    """Say whether what a node writes is put into a checkpoint."""
    return (config.get("configurable") or {}).get(_CHECKPOINTER) is not None
