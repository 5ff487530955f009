"""Texts: reading one that a user names, and making one that can be written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO


class TextError(Exception):
    """What is no text to work on; the message is for the user."""


def read_text(path: Path) -> str:
    """Read a UTF-8 text.

    Raises:
        TextError: The file is missing, unreadable, empty or no text.
    """
    name = repr(str(path))
    try:
        return _text_of(path.read_bytes(), name)
    except OSError as error:
        raise TextError(f"cannot read {name}: {error.strerror or error}") from error


def read_standard_input() -> str:
    """Read a UTF-8 text that is piped in.

    Raises:
        TextError: It is closed, empty or no text.
    """
    stdin: TextIO | None = sys.stdin
    if stdin is None:
        raise TextError("standard input is closed")
    try:
        return _text_of(stdin.buffer.read(), "standard input")
    except OSError as error:
        raise TextError(f"cannot read standard input: {error.strerror or error}") from error


def _text_of(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TextError(f"{name} is no UTF-8 text (byte {error.start})") from error
    if "\0" in text:
        raise TextError(f"{name} is no text: it holds NUL bytes")
    if not text.strip():
        raise TextError(f"{name} is empty")
    return text


def whole(text: str) -> str:
    """Give a text that can be written: half a character in it becomes U+FFFD.

    A model may answer with one half of a surrogate pair, and a shell pass on bytes that are no
    UTF-8: Python takes both, and can encode neither.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def is_whole(text: str) -> bool:
    """Say whether a text can be written as it is."""
    return whole(text) == text
