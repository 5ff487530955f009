"""The forms in which a secret may come back: as headers, JSON, URLs and base64 write it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote

_LONG_LINE = 16
"""Shorter lines of a secret may stand in any text."""

_SCHEME = re.compile(r"(?:api-?key|basic|bearer|key|token)\s+(\S{8,})", re.IGNORECASE)
"""What a header says of the credential after it, which servers repeat without."""

_ANY_TEXT = "surrogatepass"
"""Of encodings: what a shell passes on need not be text."""

_LEAST_PIECE = 8
"""Shorter pieces of base64 would be found in texts that have nothing to do with the secret."""


def texts_of(secret: str) -> Iterator[str]:
    """Give a secret, without the line's end or the scheme of a header too, and its long lines.

    A key of several lines may come back with other ends of lines, or with none.
    """
    yield from (secret, secret.strip())
    if scheme := _SCHEME.fullmatch(secret.strip()):
        yield scheme[1]
    yield from (line for line in map(str.strip, secret.splitlines()) if len(line) >= _LONG_LINE)


def forms_of(secret: str) -> Iterator[str]:
    """Give a secret as it is, and as JSON, URLs, `repr` and base64 write it."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield repr(secret)[1:-1]
    spaced = _quoted(secret, "")
    for quoted in (_quoted(secret, "/"), spaced, spaced.replace("%20", "+")):
        yield quoted
        yield _lower_case_escapes(quoted)
    yield from _as_base64(secret.encode(errors=_ANY_TEXT))


def _quoted(text: str, safe: str) -> str:
    return quote(text, safe, errors=_ANY_TEXT)


def _lower_case_escapes(quoted: str) -> str:
    first, *rest = quoted.split("%")
    return "%".join([first, *(each[:2].lower() + each[2:] for each in rest)])


def _as_base64(data: bytes) -> Iterator[str]:
    """Give it as base64 on its own, and as part of something longer such as `user:secret`."""
    whole = b64encode(data).decode()
    pieces = [whole, whole.rstrip("="), *(_inside(data, before) for before in range(3))]
    for piece in filter(lambda each: len(each) >= _LEAST_PIECE, pieces):
        yield piece
        yield piece.replace("+", "-").replace("/", "_")


def _inside(data: bytes, before: int) -> str:
    """Give the characters that depend on the secret alone if `before` bytes precede it."""
    encoded = b64encode(b"\0" * before + data).decode()
    bits = 8 * (before + len(data))
    return encoded[(8 * before + 5) // 6 : bits // 6]
