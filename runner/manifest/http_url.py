"""The URL of an http tool, filled with arguments that a model chose.

An argument fills a piece of the path or of the query, and nothing else: it changes neither
the server nor the place on it, whatever it holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

from flowcompose.runner.manifest.base_url import problem_of_url

_PARTS = re.compile(r"(?i)(https?://[^/?#\\]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w.-]*)\}")
_SEPARATORS = re.compile(r"[/\\]")
_DECODINGS = 3
"""Times that servers behind one another may decode a path."""


class UrlTemplate:
    """A URL with `{name}` where an argument goes.

    Raises:
        ValueError: It is no URL of http or https, or an argument would choose the server.
    """

    def __init__(self, template: str) -> None:
        parts = _PARTS.fullmatch(template.strip())
        if parts is None:
            msg = "it must begin with http:// or https://"
            raise ValueError(msg)
        self.origin: str = parts[1]
        self._path: str = parts[2]
        self._query: str | None = parts[3]
        if "{" in self.origin:
            msg = "its server must not depend on an argument"
            raise ValueError(msg)
        if problem := problem_of_url(self.origin):
            raise ValueError(problem)
        if any(ord(letter) < ord(" ") or ord(letter) == 0x7F for letter in template.strip()):
            msg = "it holds control characters"
            raise ValueError(msg)

    @property
    def names(self) -> list[str]:
        """The arguments that it takes, in order."""
        return list(dict.fromkeys(_PLACEHOLDER.findall(f"{self._path}?{self._query or ''}")))

    def filled(self, arguments: Mapping[str, Any]) -> str:
        """Give the URL for some arguments; a piece of the query without its argument is left out.

        Raises:
            ValueError: An argument of the path is missing, or would lead to another place.
        """
        texts = {name: text_of(value) for name, value in arguments.items() if value is not None}
        path = "/".join(_segment(each, texts) for each in self._path.split("/"))
        query = "&".join(_pairs(self._query or "", texts))
        return self._checked(f"{self.origin}{path or '/'}{'?' + query if query else ''}")

    def _checked(self, url: str) -> str:
        """Hold, whatever is above: the server is the one that the document names."""
        found, meant = urlsplit(url), urlsplit(self.origin)
        if (found.scheme, found.netloc) != (meant.scheme, meant.netloc):
            msg = "an argument would lead to another server"
            raise ValueError(msg)
        return url


def text_of(value: Any) -> str:
    """Write an argument as text: a whole number without its point, what is nested as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)


def _segment(segment: str, texts: Mapping[str, str]) -> str:
    names = _PLACEHOLDER.findall(segment)
    for name in names:
        if name not in texts or not texts[name]:
            msg = f"the argument {name!r} is missing or empty, and the URL needs it"
            raise ValueError(msg)
    plain = _PLACEHOLDER.sub(lambda found: texts[found[1]], segment)
    if names and _climbs(plain):
        msg = f"the argument {names[0]!r} would lead to another place on the server"
        raise ValueError(msg)
    return _PLACEHOLDER.sub(lambda found: quote(texts[found[1]], safe=""), segment)


def _climbs(segment: str) -> bool:
    """Say whether a server could take (a part of) it for `.` or `..`, however it decodes it."""
    for _ in range(_DECODINGS):
        # Some servers drop what follows a semicolon before they look.
        pieces = (each.partition(";")[0].strip() for each in _SEPARATORS.split(segment))
        if any(each in (".", "..") for each in pieces):
            return True
        segment = unquote(segment)
    return False


def _pairs(query: str, texts: Mapping[str, str]) -> Iterator[str]:
    for pair in query.split("&"):
        if all(name in texts for name in _PLACEHOLDER.findall(pair)):
            yield _PLACEHOLDER.sub(lambda found: quote_plus(texts[found[1]]), pair)
