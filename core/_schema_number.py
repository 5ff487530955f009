"""A number that fits the bounds of a JSON schema."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any


def choose_number(schema: Mapping[str, Any], index: int, *, whole: bool) -> float:
    """The minimum, else 0, else the nearest number that is allowed."""
    fitting = [number for number in _numbers(schema, whole) if _allows(schema, number)]
    low = fitting[0] if fitting else 0
    # Items of a set must differ.
    step = schema.get("multipleOf", 1)
    return low + index * step if _allows(schema, low + index * step) else low


def _numbers(schema: Mapping[str, Any], whole: bool) -> Iterator[float]:
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    step = schema.get("multipleOf", 1)
    bounds = [bound for bound in (low, above, high, below) if bound is not None]
    for bound in [low, 0] if low is not None else [0]:
        yield math.ceil(bound) if whole else bound
    for bound in bounds:
        nearest = math.floor(bound / step) * step
        yield from (nearest, nearest + step, nearest - step)
    if not whole and len(bounds) > 1:
        yield (min(bounds) + max(bounds)) / 2


def _allows(schema: Mapping[str, Any], number: float) -> bool:
    return (
        schema.get("minimum", -math.inf) <= number <= schema.get("maximum", math.inf)
        and schema.get("exclusiveMinimum", -math.inf) < number
        and number < schema.get("exclusiveMaximum", math.inf)
        and _is_multiple(number, schema.get("multipleOf"))
    )


def _is_multiple(number: float, step: float | None) -> bool:
    # Not `%`: 0.3 % 0.1 is not 0.
    return step is None or math.isclose(number / step, round(number / step))
