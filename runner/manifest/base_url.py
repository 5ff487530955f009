"""Where a server may be: an http or https URL."""

from __future__ import annotations

from urllib.parse import urlsplit


def problem_of_url(url: str) -> str | None:
    """Say what is wrong with the URL of a server, without quoting what may be a password."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:  # which may quote a part of it
        return "it is no URL"
    if parts.scheme not in ("http", "https"):
        return f"it must begin with http:// or https://, not {parts.scheme or url[:20]!r}"
    if not parts.hostname:
        return "it names no host"
    if any(ord(letter) <= ord(" ") or ord(letter) == 0x7F for letter in url):
        return "it holds blanks or control characters"
    if "@" in parts.netloc:
        return "it must hold no user or password: they belong in a key or a header"
    return None
