"""What the arguments of conditions must be, whatever a user's annotations say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flowcompose.core.definition import Problems
from flowcompose.core.untyped import items_of, unchecked


def check_text(problems: Problems, what: str, given: str) -> str:
    """Give a text as a plain one, which a member of a StrEnum is not; it must not be empty."""
    value = unchecked(given)
    good = isinstance(value, str) and bool(value)
    problems.check(good, f"{what} must be a text that is not empty, got {given!r}")
    return str.__str__(value) if good else ""


def check_names(problems: Problems, what: str, given: Sequence[str]) -> tuple[str, ...]:
    """Give the names as plain texts; there must be one at least."""
    names = items_of(given) or []
    good = bool(names) and all(isinstance(name, str) and name for name in names)
    allowed = "must be a list of member names, at least one"
    problems.check(good, f"{what} {allowed}, got {given!r}")
    return tuple(map(str.__str__, names)) if good else ()


def check_whole(problems: Problems, what: str, given: int, least: int = 1) -> int:
    """Give a whole number; True is none."""
    value = unchecked(given)
    good = isinstance(value, int) and not isinstance(value, bool) and value >= least
    problems.check(good, f"{what} must be a whole number > {least - 1}, got {given!r}")
    return int(value) if good else least


def check_seconds(problems: Problems, what: str, given: float) -> float:
    """Give a time; it must be above 0 and have an end."""
    value = unchecked(given)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    good = number and 0 < value < math.inf
    problems.check(good, f"{what} must be a finite number of seconds > 0, got {given!r}")
    return value if good else 0.0


def check_bool(problems: Problems, what: str, given: bool) -> None:
    """Refuse what is neither True nor False: a text would count as True."""
    problems.check(type(given) is bool, f"{what} must be True or False, got {given!r}")
