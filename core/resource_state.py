"""A resource's state as an object of its schema, and the deltas that writing to it makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from flowcompose.core.errors import DefinitionError, RunError
from flowcompose.core.untyped import mapping_of
from flowcompose.resources.resource import Resource
from flowcompose.resources.structured_data import from_json, to_json
from flowcompose.resources.writes import Delta


class ResourceError(RunError, ValueError):
    """A resource was read or written in a way that its schema does not allow."""


class UnknownResourceError(DefinitionError, KeyError):
    """A block asks for a resource that nobody declared: a mistake of the program."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError's own is the repr


def json_of(resource: Resource[Any], delta: Delta | None) -> dict[str, Any]:
    """Give the state as JSON: the default, with what was written laid over it."""
    if delta is None:
        return resource.initial()
    return delta["fields"] if delta["whole"] else {**resource.initial(), **delta["fields"]}


def read_state(resource: Resource[Any], delta: Delta | None) -> Any:
    """Give the state as a new object: whoever changes it changes nothing that is kept.

    Raises:
        ResourceError: What is kept does not fit the schema, which has changed since.
    """
    try:
        return from_json(resource.schema, json_of(resource, delta))
    except ValidationError as error:
        msg = f"resource {resource.name!r}: what is kept does not fit: {_faults(error)}"
        raise ResourceError(msg) from error


def patched(resource: Resource[Any], delta: Delta | None, fields: Mapping[str, Any]) -> Delta:
    """Give the delta of writing some fields.

    Raises:
        ResourceError: The state would not fit the schema with them.
    """
    _check_names(resource, fields)
    before = json_of(resource, delta)
    after = _validated(resource, {**_parts(read_state(resource, delta)), **fields})
    # A validator of the whole may have changed other fields too.
    changed = {k: v for k, v in after.items() if k in fields or k not in before or before[k] != v}
    return Delta(whole=False, fields=changed)


def replaced(resource: Resource[Any], value: object) -> Delta:
    """Give the delta of writing the whole state.

    Raises:
        ResourceError: It does not fit the schema.
    """
    parts = _parts(value) if isinstance(value, BaseModel) else mapping_of(value)
    fits = isinstance(value, resource.schema) if isinstance(value, BaseModel) else parts is not None
    if not fits or parts is None:
        allowed = f"an object of {resource.schema.__name__} or a mapping that fits it"
        msg = f"resource {resource.name!r}: the state must be {allowed}, got {value!r}"
        raise ResourceError(msg)
    return Delta(whole=True, fields=_validated(resource, parts))


def _validated(resource: Resource[Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """Validate a state, nested objects included, and give it as JSON that can be read back."""
    schema: type[BaseModel] = resource.schema
    try:
        state = schema.model_validate(dict(parts), by_alias=True, by_name=True)
        made: dict[str, Any] = to_json(state)
        back = from_json(schema, made)
    except ValidationError as error:
        msg = f"resource {resource.name!r}: {_faults(error)}"
        raise ResourceError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"resource {resource.name!r}: a value cannot be written as JSON: {error}"
        raise ResourceError(msg) from error
    _check_faithful(resource, _parts(state), _parts(back))
    return made


def _check_faithful(
    resource: Resource[Any], state: Mapping[str, Any], back: Mapping[str, Any]
) -> None:
    """Refuse what would be another value when it is read: a secret, a number scaled once more."""
    lost = [name for name in state if name not in back or back[name] != state[name]]
    if lost:
        fields = ", ".join(f"{name!r} ({state[name]!r})" for name in lost)
        msg = f"resource {resource.name!r}: JSON does not give these fields back: {fields}"
        raise ResourceError(msg)


def _check_names(resource: Resource[Any], fields: Mapping[str, Any]) -> None:
    """A schema ignores a name that it does not know, and so would lose a misspelt field."""
    schema: type[BaseModel] = resource.schema
    unknown = [name for name in fields if name not in schema.model_fields]
    if unknown and schema.model_config.get("extra") != "allow":
        wrong = ", ".join(f"{name!r} (got {fields[name]!r})" for name in unknown)
        there = ", ".join(schema.model_fields)
        msg = f"resource {resource.name!r}: no field {wrong}; there is: {there or 'none'}"
        raise ResourceError(msg)


def _parts(state: BaseModel) -> dict[str, Any]:
    """The fields as they are, for a model given as an object would not be validated again."""
    return {**vars(state), **(state.model_extra or {})}


def _faults(error: ValidationError) -> str:
    return "; ".join(
        f"{_field(each['loc'])}{each['msg']}, got {each['input']!r}" for each in error.errors()
    )


def _field(loc: tuple[int | str, ...]) -> str:
    return f"field {'.'.join(map(str, loc))!r}: " if loc else ""
