"""The body of an http tool's request, filled with arguments that a model chose.

Templates are never evaluated: `{{.input.name}}` is an argument, `{{.name}}` a parameter of
the document, or an argument if there is none. What is filled in stays within its place.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from flowcompose.core.untyped import mapping_of
from flowcompose.runner.manifest.http_url import text_of
from flowcompose.runner.manifest.templates import BODY_FIELD

_QUOTE = re.compile(r'\\.|"', re.DOTALL)

JSON = "application/json"


@dataclass(frozen=True)
class BodyTemplate:
    """A body with fields."""

    template: str
    content_type: str
    parameters: Mapping[str, str]
    """Of the document: an argument does not take their place."""
    lacks: Sequence[str] = ()
    """What keeps parameters from having a value."""

    def filled(self, arguments: Mapping[str, Any]) -> str:
        """Give the body for some arguments.

        Raises:
            ValueError: A parameter has no value.
        """
        if self.lacks:
            raise ValueError("; ".join(self.lacks))
        if "json" in self.content_type.lower():
            return self._filled_json(arguments)
        escape = _escape(self.content_type)
        return BODY_FIELD.sub(lambda found: escape(self._text(found[1], arguments)), self.template)

    def _filled_json(self, arguments: Mapping[str, Any]) -> str:
        """Fill in JSON: within a string as a part of it, elsewhere as a value."""
        body, end, quoted = "", 0, False
        for found in BODY_FIELD.finditer(self.template):
            before = self.template[end : found.start()]
            quoted ^= sum(each[0] == '"' for each in _QUOTE.finditer(before)) % 2 == 1
            text = self._text(found[1], arguments)
            body += before + (
                json.dumps(text)[1:-1] if quoted else self._value(found[1], arguments)
            )
            end = found.end()
        return body + self.template[end:]

    def _text(self, field: str, arguments: Mapping[str, Any]) -> str:
        value = self._of(field, arguments)
        return "" if value is None else text_of(value)

    def _value(self, field: str, arguments: Mapping[str, Any]) -> str:
        """Write a JSON value; parameters are text in a document, and may be numbers here."""
        value = self._of(field, arguments)
        if field in self.parameters and _is_json(self.parameters[field]):
            return self.parameters[field]
        return json.dumps(value, ensure_ascii=False)

    def _of(self, field: str, arguments: Mapping[str, Any]) -> Any:
        first, *rest = field.split(".")
        if first == "input":
            return _within(arguments, rest)
        return self.parameters.get(field, _within(arguments, [first, *rest]))


def body_type(template: str, declared: str | None) -> str:
    """Give the type of a body: what its header says, else what it looks like."""
    looks_like_json = template.lstrip()[:1] in ("{", "[") and not template.lstrip().startswith("{{")
    return declared or (JSON if looks_like_json else "text/plain; charset=utf-8")


def _within(value: Any, path: list[str]) -> Any:
    for name in path:
        value = (mapping_of(value) or {}).get(name)
    return value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _escape(content_type: str) -> Callable[[str], str]:
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        return quote_plus
    return html.escape if kind.endswith("xml") or kind == "text/html" else str
