"""Telling mappings from lists in what was read."""

from __future__ import annotations

from typing import TypeGuard


def is_mapping(value: object) -> TypeGuard[dict[str, object]]:
    """Tell whether a value of a document is a mapping; its keys are strings then."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Tell whether a value of a document is a list."""
    return isinstance(value, list)
