"""What blocks wrote to resources, as graph state holds it: the differences, not the states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from typing_extensions import TypedDict

from flowcompose.resources.logs import update_channel

WRITES = "resource_writes"
"""The key in the state and the output of every graph of ours."""


class Delta(TypedDict):
    """What was written to one resource; `whole` says that nothing of before it remains."""

    whole: bool
    fields: dict[str, Any]


Deltas = Mapping[str, Delta]
"""Deltas by the key under which a resource is kept: its name, a transcript's accessor key."""


class Held(TypedDict):
    """What a turn wrote that is written together with others."""

    turn: int
    deltas: Deltas


def compose(old: Deltas, writes: Sequence[Deltas]) -> dict[str, Delta]:
    """Lay later deltas over earlier ones; any grouping of the writes comes to the same."""
    laid = dict(old)
    for write in writes:
        for key, delta in write.items():
            before = laid.get(key)
            laid[key] = delta if before is None or delta["whole"] else _laid_over(before, delta)
    return laid


def _laid_over(before: Delta, delta: Delta) -> Delta:
    return Delta(whole=before["whole"], fields={**before["fields"], **delta["fields"]})


ResourceWrites = Annotated[dict[str, Any], update_channel(compose)]
"""The deltas as a key of a graph's state."""
