"""Checking JSON Schemas, as far as ARK does."""

from __future__ import annotations

from typing import Final

from flowcompose.runner.manifest.sentences import shown
from flowcompose.runner.manifest.shapes import is_list, is_mapping

_TYPES: Final = ("object", "array", "string", "number", "integer", "boolean", "null")


def schema_problem(schema: object) -> str | None:
    """Say what is wrong with a schema; None if nothing was found."""
    if isinstance(schema, bool):
        return None
    if not is_mapping(schema):
        return f"a schema must be a mapping, not {shown(schema)}"
    problem = _type_problem(schema.get("type")) or _required_problem(schema.get("required"))
    return problem or _properties_problem(schema.get("properties")) or _items(schema.get("items"))


def _type_problem(value: object) -> str | None:
    for each in value if is_list(value) else [value]:
        if each is not None and each not in _TYPES:
            quoted = f"'{each}'" if isinstance(each, str) else shown(each)
            return f"invalid schema type {quoted}: must be one of {', '.join(_TYPES)}"
    return None


def _required_problem(value: object) -> str | None:
    if value is None or (is_list(value) and all(isinstance(each, str) for each in value)):
        return None
    return f"`required` must be a list of names, not {shown(value)}"


def _properties_problem(value: object) -> str | None:
    if value is None:
        return None
    if not is_mapping(value):
        return f"`properties` must be a mapping, not {shown(value)}"
    for name, schema in value.items():
        if not name:
            return "property name cannot be empty"
        if problem := schema_problem(schema):
            return f"invalid property '{name}' schema: {problem}"
    return None


def _items(value: object) -> str | None:
    problem = None if value is None or is_list(value) else schema_problem(value)
    return problem and f"invalid items schema: {problem}"
