"""The text of an answer, of which no more is read than a limit."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Callable

import httpx

MAX_BYTES = 1_000_000
"""More is not read, and not unpacked."""

_ODD = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7")
"""Encodings of Python's that no server means, some of them slow."""

_ANY_ZLIB = 47
"""Of zlib: with the header of gzip, or its own."""


async def read_text(response: httpx.Response) -> tuple[str, bool]:
    """Give the text, and whether it was cut."""
    unpack, kept = _unpacking(response), bytearray()
    async for raw in response.aiter_raw():
        kept += unpack(raw, MAX_BYTES + 1 - len(kept))
        if len(kept) > MAX_BYTES:
            break
    text = bytes(kept[:MAX_BYTES]).decode(_encoding(response), errors="replace")
    return text, len(kept) > MAX_BYTES


def _unpacking(response: httpx.Response) -> Callable[[bytes, int], bytes]:
    """Give what unpacks a piece, at most as many bytes as are asked: a bomb does not go off."""
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding in ("", "identity"):
        return lambda raw, most: raw[:most]
    if coding not in ("gzip", "x-gzip", "deflate"):
        msg = f"unknown content-encoding {coding!r}"
        raise httpx.DecodingError(msg)
    return _unzipping()


def _unzipping() -> Callable[[bytes, int], bytes]:
    decoder = zlib.decompressobj(_ANY_ZLIB)

    def unzip(raw: bytes, most: int) -> bytes:
        try:
            return decoder.decompress(raw, most)
        except zlib.error as error:
            raise httpx.DecodingError(str(error)) from error

    return unzip


def _encoding(response: httpx.Response) -> str:
    declared = response.charset_encoding or "utf-8"
    try:
        known = codecs.lookup(declared)
    except LookupError:
        return "utf-8"
    is_text = getattr(known, "_is_text_encoding", True)  # zip and such are codecs too
    return known.name if is_text and known.name not in _ODD else "utf-8"
