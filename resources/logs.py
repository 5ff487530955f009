"""Append-only channels: a checkpoint holds what a step added, not all that came before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from langgraph.channels.delta import DeltaChannel
from langgraph.channels.untracked_value import UntrackedValue

# A snapshot repeats the whole log. The engine makes one every 5000 supersteps in any case,
# and reading 3000 single writes back takes some 40 ms: so none is asked for before that.
_NEVER = 1_000_000_000


def append(log: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    """Give a new list: views of the old one must not grow."""
    grown = list(log)
    for write in writes:
        grown.extend(write)
    return grown


def append_turns(log: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    """`append`, in the order of turns: members that speak at once are written as they are named."""
    grown = append(log, writes)
    new = range(max(len(log), 1), len(grown))
    if any(grown[at]["turn"] < grown[at - 1]["turn"] for at in new):
        grown.sort(key=itemgetter("turn"))
    return grown


def keep_last(_: Any, writes: Sequence[Any]) -> Any:
    """Let the last write stand."""
    return writes[-1]


def log_channel(*, of_turns: bool = False) -> DeltaChannel[list[Any]]:
    """A list that grows by what each step writes; `Overwrite([])` empties it.

    Args:
        of_turns: Whether several nodes of one step write to it, each a turn of its own.
    """
    return DeltaChannel(append_turns if of_turns else append, list, snapshot_frequency=_NEVER)


def constant_channel() -> DeltaChannel[dict[str, Any]]:
    """A value written once a run; unlike a plain key it is not stored again in each checkpoint."""
    return DeltaChannel(keep_last, dict, snapshot_frequency=_NEVER)


def update_channel(reducer: Callable[[Any, Sequence[Any]], Any]) -> DeltaChannel[dict[str, Any]]:
    """A mapping that writes update; each checkpoint stores the update, not the mapping."""
    return DeltaChannel(reducer, dict, snapshot_frequency=_NEVER)


class Gathered(UntrackedValue[list[Any]]):
    """What several nodes of one step write, for the next step to read. It is never stored."""

    def update(self, values: Sequence[list[Any]]) -> bool:
        """Take all of it; a plain untracked value takes one."""
        if not values:
            return False
        self.value = [each for value in values for each in value]
        return True
