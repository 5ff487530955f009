"""The smallest honest value that fits a JSON schema, always the same one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from flowcompose.core._schema_number import choose_number

Schema: TypeAlias = Mapping[str, Any]

_FORMATS = {
    "date": "2000-01-01",
    "date-time": "2000-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "PT0S",
    "email": "offline@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
}
"""One fixed value per format: a clock or a random id would make runs differ."""


def fill_schema(schema: Schema, quote: str) -> Any:
    """Fill a JSON schema; each free text says that it was made offline, and quotes `quote`."""
    return _Filler(schema, quote).value(schema, schema.get("title", "answer"))


class _EndlessError(Exception):
    """The value would have to contain itself."""


class _Filler:
    def __init__(self, root: Schema, quote: str, open_refs: frozenset[str] = frozenset()) -> None:
        self._root = root
        self._quote = quote
        self._open_refs = open_refs

    def value(self, schema: Schema | bool, label: str, index: int = 0) -> Any:
        """A value for one schema; `index` is its place if it stands in an array."""
        if isinstance(schema, bool):
            return self._string({}, label)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][index % len(schema["enum"])]
        if "$ref" in schema:
            return self._referred(schema, label, index)
        if "allOf" in schema:
            return self._combined(schema, label, index)
        if options := schema.get("anyOf") or schema.get("oneOf"):
            return self._first_possible(options, label, index)
        return self._of_type(schema, schema.get("title", label), index)

    def _of_type(self, schema: Schema, label: str, index: int) -> Any:
        match _type_of(schema):
            case "object":
                return self._object(schema)
            case "array":
                return self._array(schema, label)
            case "integer":
                return choose_number(schema, index, whole=True)
            case "number":
                return choose_number(schema, index, whole=False)
            case "boolean":
                return False
            case "null":
                return None
            case _:
                return self._string(schema, f"{label} {index + 1}" if index else label)

    def _referred(self, schema: Schema, label: str, index: int) -> Any:
        ref = schema["$ref"]
        if ref in self._open_refs:
            raise _EndlessError(ref)
        inner = _Filler(self._root, self._quote, self._open_refs | {ref})
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return inner.value({**_resolved(self._root, ref), **beside}, label, index)

    def _combined(self, schema: Schema, label: str, index: int) -> Any:
        refs = frozenset(part["$ref"] for part in schema["allOf"] if "$ref" in part)
        if refs & self._open_refs:
            raise _EndlessError(label)
        inner = _Filler(self._root, self._quote, self._open_refs | refs)
        return inner.value(_merged(self._root, schema), label, index)

    def _first_possible(self, options: list[Schema], label: str, index: int) -> Any:
        # `null` after the rest: an optional part is shown filled, unless it would never end.
        # The engine leaves `{}` where a tool's schema refers to itself, so that comes last.
        for option in sorted(
            options, key=lambda option: (not option, option.get("type") == "null")
        ):
            try:
                return self.value(option, label, index)
            except _EndlessError:
                continue
        raise _EndlessError(label)

    def _object(self, schema: Schema) -> dict[str, Any]:
        filled: dict[str, Any] = {}
        for name, part in schema.get("properties", {}).items():
            try:
                filled[name] = self.value(part, name)
            except _EndlessError:
                if name in schema.get("required", ()):
                    raise
        extra = schema.get("additionalProperties", True)
        for number in range(len(filled) + 1, schema.get("minProperties", 0) + 1):
            filled[f"key {number}"] = self.value(extra or {}, f"key {number}")
        return filled

    def _array(self, schema: Schema, label: str) -> list[Any]:
        fixed = schema.get("prefixItems", [])
        least = schema.get("minItems", 0)
        wanted = min(max(least, len(fixed), 1), schema.get("maxItems", math.inf))
        items = schema.get("items", {})
        if not (least or fixed or items):
            return []
        try:
            return [
                self.value(fixed[place] if place < len(fixed) else items, label, place)
                for place in range(int(wanted))
            ]
        except _EndlessError:
            if least:
                raise
            return []

    def _string(self, schema: Schema, label: str) -> str:
        if known := _FORMATS.get(schema.get("format", "")):
            return known
        # A text cannot be made from a pattern, but its author often gave one that fits.
        given = (schema.get("examples") or [schema.get("default")])[0]
        if "pattern" in schema and given is not None:
            return str(given)
        text = f"[offline] {label}: {self._quote}"
        text = text.ljust(schema.get("minLength", 0), ".")
        return text[: schema.get("maxLength")]


def _type_of(schema: Schema) -> str | None:
    kinds: Any = schema.get("type", [])
    if isinstance(kinds, str):
        return kinds
    if kinds:
        return next((str(kind) for kind in kinds if kind != "null"), "null")
    return "object" if "properties" in schema else "array" if "items" in schema else None


def _merged(root: Schema, schema: Schema) -> Schema:
    merged = {key: part for key, part in schema.items() if key != "allOf"}
    for part in schema["allOf"]:
        whole = {**_resolved(root, part["$ref"]), **part} if "$ref" in part else part
        properties = {**merged.get("properties", {}), **whole.get("properties", {})}
        merged |= {key: value for key, value in whole.items() if key != "$ref"}
        if properties:
            merged["properties"] = properties
    return merged


def _resolved(root: Schema, ref: str) -> Schema:
    found: Any = root
    for step in ref.removeprefix("#").strip("/").split("/"):
        found = found[step.replace("~1", "/").replace("~0", "~")] if step else found
    return dict(found)
