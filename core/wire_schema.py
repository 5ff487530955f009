"""A pydantic model as the JSON Schema that providers take.

A strict provider holds the model to the schema, but refuses a schema that says more than it
can enforce. So there are two forms, and the strict one only where it will be taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, RootModel

from flowcompose.core.messages import slug

WRAP = "value"
"""The key under which a root model's value is asked for: providers take only objects."""

# What is documented for strict mode; with any other keyword the schema is refused.
_STRICT_KEYWORDS = frozenset(
    [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "anyOf",
        "enum",
        "const",
        "description",
        "default",
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    ]
)
_STRICT_FORMATS = frozenset(
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]
)


@lru_cache(maxsize=128)
def wire_schema(schema: type[BaseModel]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Write `schema` for providers: as it is, and for strict mode if that would take it."""
    whole = schema.model_json_schema()
    # A mapping with a title and properties is a JSON Schema to every provider.
    head = {
        "title": slug(str(whole.get("title") or schema.__name__)),
        "description": whole.get("description") or f"A {schema.__name__}.",
    }
    definitions: dict[str, Any] = whole.pop("$defs", {})
    if issubclass(schema, RootModel):
        whole = {"type": "object", "properties": {WRAP: whole}, "required": [WRAP]}
    if _is_recursive(definitions):  # cannot be written without references
        root = definitions.get(_target(whole), whole)
        return {**root, "$defs": definitions, **head}, None
    plain = _in_place(whole, definitions)
    strict = {**_closed(plain), **head} if _can_be_strict(plain) else None
    return {**plain, **head}, strict


def _target(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _is_recursive(definitions: Mapping[str, Any]) -> bool:
    """Say whether a definition leads back to itself."""
    found = {
        name: set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(each)))
        for name, each in definitions.items()
    }
    while done := [name for name, used in found.items() if not used & found.keys()]:
        for name in done:
            del found[name]
    return bool(found)


def _in_place(schema: Any, definitions: Mapping[str, Any], *, names: bool = False) -> Any:
    """Write out references where they stand, without what only repeats or refers."""
    if isinstance(schema, list):
        return [_in_place(each, definitions) for each in schema]  # pyright: ignore[reportUnknownVariableType] - JSON
    if not isinstance(schema, dict):
        return schema
    given: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType] - JSON
    if not names and "$ref" in given:
        beside = {key: value for key, value in given.items() if key != "$ref"}
        return _in_place({**definitions[_target(given)], **beside}, definitions)
    return {
        key: _in_place(value, definitions, names=not names and key == "properties")
        for key, value in given.items()
        if names or key not in ("title", "discriminator")
    }


def _can_be_strict(schema: Mapping[str, Any]) -> bool:
    """Say whether every value has a type and every object lists its keys, in known keywords."""
    if schema.keys() - _STRICT_KEYWORDS or not schema.keys() & {"type", "anyOf"}:
        return False
    if schema.get("type") == "object" and "properties" not in schema:
        return False
    if schema.get("additionalProperties") or "(?" in schema.get("pattern", ""):
        return False
    if schema.get("format", "date") not in _STRICT_FORMATS:
        return False
    items = [schema.get("items", {})] if schema.get("type") == "array" else []
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *items]
    return all(map(_can_be_strict, inner))


def _closed(schema: Any, *, names: bool = False) -> Any:
    """Demand every key and no other, as strict mode wants; then defaults have no place."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]  # pyright: ignore[reportUnknownVariableType] - JSON
    if not isinstance(schema, dict):
        return schema
    given: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType] - JSON
    closed = {
        key: _closed(value, names=not names and key == "properties")
        for key, value in given.items()
        if names or key != "default"
    }
    if names or given.get("type") != "object":
        return closed
    return {**closed, "required": list(given["properties"]), "additionalProperties": False}
