"""What belongs to a thread and outlives its runs: how a run brings it, and how it is merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from flowcompose.core.errors import DefinitionError
from flowcompose.core.untyped import mapping_of
from flowcompose.resources.logs import update_channel
from flowcompose.resources.structured_data import to_json


def merge_session(old: dict[str, Any], writes: Sequence[Any]) -> dict[str, Any]:
    """Update the thread's session with what runs bring.

    Raises:
        DefinitionError: What came is no mapping.
    """
    merged = dict(old)
    for write in writes:
        new = mapping_of({} if write is None else write)
        if new is None:
            raise DefinitionError("session", [f"must be a mapping or None, got {write!r}"])
        merged.update(new)
    return merged


def with_json_session(given: Any) -> Any:
    """Give a run's input with its session as JSON: what else stands in it is no thread's to keep.

    Raises:
        DefinitionError: It is no mapping, or cannot be written as JSON.
    """
    keys = mapping_of(given)
    if keys is None or keys.get("session") is None:
        return given
    session = merge_session({}, [keys["session"]])
    try:
        return {**keys, "session": to_json(session)}
    except (ValueError, RecursionError) as error:
        problem = f"cannot be written as JSON: {error}"
        raise DefinitionError("session", [problem]) from error


SessionState = Annotated[dict[str, Any], update_channel(merge_session)]
"""The session as a key of a graph's state."""
