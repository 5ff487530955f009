"""Names that a cluster takes: lower case letters, digits and `-`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import count

_LONGEST = 63


def dns_name(text: str, otherwise: str) -> str:
    """Make a DNS-1123 name of a text; of one without a letter or digit, `otherwise`."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:_LONGEST].strip("-") or otherwise


def numbered(name: str) -> Iterator[str]:
    """Give a name, and then the same with one number after another."""
    yield name
    for number in count(2):
        suffix = f"-{number}"
        yield name[: _LONGEST - len(suffix)].rstrip("-") + suffix
