"""Reading a text that a user names."""

from __future__ import annotations

from pathlib import Path


class TextError(Exception):
    """A file that is no text to work on; the message is for the user."""


def read_text(path: Path) -> str:
    """Read a UTF-8 text.

    Raises:
        TextError: The file is missing, unreadable, empty or no text.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise TextError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise TextError(f"{str(path)!r} is no UTF-8 text (byte {error.start})") from error
    if "\0" in text:
        raise TextError(f"{str(path)!r} is no text: it holds NUL bytes")
    if not text.strip():
        raise TextError(f"{str(path)!r} is empty")
    return text
