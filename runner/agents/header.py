"""What may stand in the header of a request."""

from __future__ import annotations

import re

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")

_FRAMING = ("connection", "content-length", "host", "te", "trailer", "transfer-encoding", "upgrade")
"""Say where a request goes and where it ends. Upstream's client ignores them too."""


def is_framing(name: str) -> bool:
    """Say whether a header is for whoever sends the request to set, and nobody else."""
    return name.lower() in _FRAMING


def problem_of_header(name: str, value: str) -> str | None:
    """Say what is wrong with a header. Its value may be a secret, and is not quoted."""
    if not _NAME.fullmatch(name):
        return f"{name!r} is no name of a header"
    if not _VALUE.fullmatch(value):
        return f"the value of the header {name!r} holds line breaks or other than ASCII characters"
    return None
