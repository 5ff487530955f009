"""The one place where types end.

LangGraph's graphs are generic over four types that pyright cannot bind, so that every method
of theirs is partly unknown to it; and what users write may be anything, whatever its
annotation says. Here both become `Any`, once, for the few places that must look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def engine(graph: object) -> Any:
    """Give `graph` itself, without types: a graph or a builder of the engine's."""
    return graph


def unchecked(value: object) -> Any:
    """Give `value` itself, without types: something that a user wrote, before it is checked."""
    return value


def mapping_of(value: Any) -> dict[Any, Any] | None:
    """Give `value` as a dict if it is a mapping, else None."""
    return dict(value) if isinstance(value, Mapping) else None  # pyright: ignore[reportUnknownArgumentType] - any mapping


def items_of(value: Any) -> list[Any] | None:
    """Give the items of `value` if it is a list or another sequence, else None; text is none."""
    if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, Sequence):
        return None
    return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - any sequence
