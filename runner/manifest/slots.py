"""The slots of a selector prompt: which there are, and how they are filled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from flowcompose.runner.manifest.templates import left_as_they_are

SLOTS: Final = ("Roles", "Participants", "History")

_SLOT = re.compile(r"{{-?\s*\.(\w+)\s*-?}}")


def fill_slots(template: str, values: Mapping[str, str]) -> str:
    """Put values into slots. No value is scanned again; what has no value stays as it is."""
    return _SLOT.sub(lambda slot: values.get(slot[1], slot[0]), template)


def unfilled(template: str) -> list[str]:
    """Give what stays as it is of the parts in double braces, each once."""
    names = dict.fromkeys(_SLOT.findall(template))
    unknown = [f"{{{{.{name}}}}}" for name in names if name not in SLOTS]
    return unknown + left_as_they_are(template, _SLOT)
