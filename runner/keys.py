"""Keys that the command line and the environment hold, which must not be shown or kept."""

from __future__ import annotations

import os
from urllib.parse import parse_qsl, urlsplit, urlunsplit

HIDDEN = "***"

_SHORTEST_KEY = 8
"""Characters of a key in a URL."""


def known_keys(api_key: str | None = None, base_url: str | None = None) -> list[str]:
    """Give what must not be shown, whatever the documents say.

    Args:
        api_key: The one of the command line.
        base_url: The endpoint of the command line; it may hold a password or a token.
    """
    named = [value for name, value in os.environ.items() if name.endswith("_API_KEY")]
    return [each for each in (api_key, *named, *_secrets_in(base_url or "")) if each]


def without_secrets(url: str) -> str:
    """Give a URL as it may be kept."""
    parts = urlsplit(url)
    _, at, host = parts.netloc.rpartition("@")
    netloc = f"{HIDDEN}@{host}" if at else host
    return urlunsplit(parts._replace(netloc=netloc, query=HIDDEN if parts.query else ""))


def _secrets_in(url: str) -> list[str]:
    parts = urlsplit(url)
    user, _, _ = parts.netloc.rpartition("@")
    # Shorter ones are more often words such as `true` than keys.
    values = (value for _, value in parse_qsl(parts.query) if len(value) >= _SHORTEST_KEY)
    return [*user.split(":"), parts.query, *values]
