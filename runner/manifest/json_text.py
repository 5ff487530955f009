"""Reading JSON that models wrote: whole, or not at all."""

from __future__ import annotations

import json

from flowcompose.runner.manifest.shapes import is_mapping


def json_object(text: str) -> dict[str, object] | None:
    """Give the object that a text is in JSON; None if it is cut off, or anything else.

    Line breaks within strings are let through: models write them.
    """
    try:
        value: object = json.loads(text, strict=False, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    return value if is_mapping(value) else None


def _refused(constant: str) -> None:
    """Take NaN and Infinity for what they are: no JSON."""
    raise ValueError(constant)
