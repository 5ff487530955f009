"""The way of a finished deliverable to the caller, as the object that it is.

State holds its JSON. Reading that back is no projection for every model (a validator may
scale a number once more), so a run hands the object itself to whoever runs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig

# The engine keeps what begins so out of checkpoints and traces.
_KEY = "__flowcompose_deliverable"


@dataclass
class Deliverable:
    """Waits for the deliverable of one run of one program; of those inside it takes none."""

    owner: object
    made: list[Any] = field(default_factory=list[Any])


def awaiting(config: RunnableConfig, owner: object) -> RunnableConfig:
    """Give the config of a run whose deliverable is waited for."""
    configurable = {**(config.get("configurable") or {}), _KEY: Deliverable(owner)}
    return {**config, "configurable": configurable}


def awaited(config: RunnableConfig) -> Deliverable | None:
    """Give what waits for the deliverable in this run, if anybody does."""
    found: Any = (config.get("configurable") or {}).get(_KEY)
    return found if isinstance(found, Deliverable) else None


def hand_over(config: RunnableConfig, owner: object, made: Any) -> None:
    """Give the deliverable to whoever runs `owner` and waits for it."""
    waiting = awaited(config)
    if waiting is not None and waiting.owner is owner:
        waiting.made[:] = [made]
