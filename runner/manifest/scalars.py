"""What a plain scalar of YAML means: as Kubernetes reads it, but a date stays a text."""

from __future__ import annotations

import math
import re

Scalar = str | int | float | bool | None

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}

# Bounded: a number of a million digits would take its time.
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30}|0x[0-9a-fA-F]{1,16}|0o?[0-7]{1,21}|0b[01]{1,64})")
_OCTAL = re.compile(r"\A([-+]?)0(?=[0-7])")
_FLOAT = re.compile(r"[-+]?(?:[0-9]{1,300}\.[0-9]{0,300}|\.?[0-9]{1,300})(?:[eE][-+]?[0-9]{1,4})?")


def resolved(text: str) -> Scalar:
    """Give the value of a scalar that is written without quotes and tag."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INT.fullmatch(text):
        return int(_OCTAL.sub(r"\g<1>0o", text), 0)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text  # JSON has no infinity
    return text
