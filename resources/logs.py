"""Append-only channels: a checkpoint holds what a step added, not all that came before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langgraph.channels.delta import DeltaChannel

# A snapshot repeats the whole log. The engine makes one every 5000 supersteps in any case,
# and reading 3000 single writes back takes some 40 ms: so none is asked for before that.
_NEVER = 1_000_000_000


def append(log: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    """Give a new list: views of the old one must not grow."""
    grown = list(log)
    for write in writes:
        grown.extend(write)
    return grown


def keep_last(_: Any, writes: Sequence[Any]) -> Any:
    """Let the last write stand."""
    return writes[-1]


def log_channel() -> DeltaChannel[list[Any]]:
    """A list that grows by what each step writes; `Overwrite([])` empties it."""
    return DeltaChannel(append, list, snapshot_frequency=_NEVER)


def constant_channel() -> DeltaChannel[dict[str, Any]]:
    """A value written once a run; unlike a plain key it is not stored again in each checkpoint."""
    return DeltaChannel(keep_last, dict, snapshot_frequency=_NEVER)


def update_channel(reducer: Callable[[Any, Sequence[Any]], Any]) -> DeltaChannel[dict[str, Any]]:
    """A mapping that writes update; each checkpoint stores the update, not the mapping."""
    return DeltaChannel(reducer, dict, snapshot_frequency=_NEVER)
