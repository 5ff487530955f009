"""How long something may take, as documents write it."""

from __future__ import annotations

import math
import re
from typing import Final

from flowcompose.runner.manifest.sentences import shown

DEFAULT_TIMEOUT = "5m"
"""That of a query that names none."""

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = r"(\d{1,12}(?:\.\d{0,9})?|\.\d{1,9})(ms|us|µs|ns|h|m|s)"
_WHOLE = re.compile(rf"(?:{_PART})+", re.ASCII)
_EACH = re.compile(_PART, re.ASCII)
_LONGEST: Final = 12
_BARE = re.compile(r"\d{1,12}", re.ASCII)
_OF_TOOL = re.compile(r"[0-9]+[smh]?", re.ASCII)


def seconds_of_tool(text: str) -> float:
    """Read the time that a request of a tool may take; 0 is any time, as a query's is.

    Raises:
        ValueError: It is none that ARK takes: a whole number, with `s`, `m` or `h`.
    """
    if len(text) > _LONGEST or not _OF_TOOL.fullmatch(text):
        msg = f"{shown(text)} is no timeout of a tool: write a whole number with s, m or h: '30s'"
        raise ValueError(msg)
    return seconds(text) or math.inf


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
