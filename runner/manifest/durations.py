"""How long something may take, as documents write it."""

from __future__ import annotations

import re

DEFAULT_TIMEOUT = "5m"
"""That of a query that names none."""

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = r"(\d{1,12}(?:\.\d{0,9})?|\.\d{1,9})(ms|us|µs|ns|h|m|s)"
_WHOLE = re.compile(rf"(?:{_PART})+", re.ASCII)
_EACH = re.compile(_PART, re.ASCII)
_BARE = re.compile(r"\d{1,12}", re.ASCII)


def seconds(text: str) -> float:
    """Read a length of time such as `5m`, `1h30m`, `500ms`; a bare number is seconds.

    Raises:
        ValueError: It is none.
    """
    if _BARE.fullmatch(text):
        return float(text)
    if not _WHOLE.fullmatch(text):
        msg = f"{text!r} is no length of time: write one such as '30s', '5m' or '1h30m'"
        raise ValueError(msg)
    return sum(float(number) * _UNITS[unit] for number, unit in _EACH.findall(text))
