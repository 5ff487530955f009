"""Values on their way through a checkpoint, which holds plain data only.

What a serializer would refuse, or give back as something else, is written as a marked mapping:
models, dataclasses, enums, tuples and sets. Everything else that is allowed stays as it is.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from flowcompose.resources.contributions import Transcript
from flowcompose.resources.critiques import Critiques
from flowcompose.resources.structured_data import find_class, name_of, revive, to_json

_MARK = "__flowcompose__"
"""The key that tells a packed value from a mapping of the user's."""

_ATOMS = frozenset(
    {str, int, float, bool, type(None), bytes, Decimal, UUID}
    | {datetime.datetime, datetime.date, datetime.time, datetime.timedelta}
)
_GROUPS: dict[type, str] = {tuple: "tuple", set: "set", frozenset: "frozenset"}
_MAKERS: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
}


class UnstorableError(TypeError):
    """A value that no checkpoint can hold; the message names its type."""


def pack(value: Any) -> Any:
    """Give the plain form of `value`.

    Raises:
        UnstorableError: It, or something in it, has none.
    """
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType] - any value
    if kind in _ATOMS or isinstance(value, BaseMessage):
        return value
    if isinstance(value, BaseModel):
        return _pack_model(value)
    if isinstance(value, Enum):
        return {_MARK: "enum", "class": name_of(kind), "name": value.name}
    if isinstance(value, Path):
        return {_MARK: "path", "path": str(value)}
    if isinstance(value, dict):
        return _pack_dict(value)  # pyright: ignore[reportUnknownArgumentType] - any mapping
    if isinstance(value, (list, Transcript, Critiques)):
        return [pack(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - any list
    if kind in _GROUPS:
        return {_MARK: _GROUPS[kind], "items": [pack(item) for item in value]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: pack(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {_MARK: "dataclass", "class": name_of(kind), "fields": fields}
    raise UnstorableError(kind.__qualname__)


def packed_or_none(value: Any) -> Any:
    """Pack a value that is handed over as well, and so need not go through a checkpoint."""
    try:
        return pack(value)
    except UnstorableError:
        return None


def unpack(packed: Any) -> Any:
    """Give the value that `pack` was given; what is not packed is given as it is."""
    if isinstance(packed, list):
        return [unpack(item) for item in packed]  # pyright: ignore[reportUnknownVariableType] - any list
    if not isinstance(packed, dict):
        return packed
    kind: Any = packed.get(_MARK)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - any mapping
    if kind is None:
        return {key: unpack(item) for key, item in packed.items()}  # pyright: ignore[reportUnknownVariableType] - any mapping
    return _unpack_marked(kind, packed)  # pyright: ignore[reportUnknownArgumentType] - any mapping


def _pack_model(model: BaseModel) -> dict[str, Any]:
    """Keep a model's fields as what they are; where one is no plain value, the model's JSON."""
    packed = {_MARK: "model", "class": name_of(type(model))}
    try:
        return {**packed, "parts": {key: pack(part) for key, part in model.__getstate__().items()}}
    except UnstorableError:
        return {**packed, "json": to_json(model)}


def _unpack_model(packed: dict[str, Any]) -> Any:
    """Give the model as it was, or validated anew where its class has other fields by now."""
    if "json" in packed:
        return revive(packed["json"], packed["class"])
    parts = {key: unpack(part) for key, part in packed["parts"].items()}
    cls, fields = find_class(packed["class"]), parts["__dict__"]
    if cls is None or not issubclass(cls, BaseModel):
        return fields
    if set(cls.model_fields) - set(fields):
        return cls.model_validate(fields, by_alias=False, by_name=True)
    made = cls.__new__(cls)
    made.__setstate__(parts)
    return made


def _pack_dict(value: dict[Any, Any]) -> dict[str, Any]:
    if _MARK not in value and all(type(key) is str for key in value):
        return {key: pack(item) for key, item in value.items()}
    items = [{_MARK: "tuple", "items": [pack(key), pack(value[key])]} for key in value]
    return {_MARK: "dict", "items": items}


def _unpack_marked(kind: str, packed: dict[str, Any]) -> Any:
    if kind == "model":
        return _unpack_model(packed)
    if kind == "path":
        return Path(packed["path"])
    if kind in _MAKERS:
        return _MAKERS[kind]([unpack(item) for item in packed["items"]])
    cls: Any = find_class(packed["class"])
    if kind == "enum":
        return packed["name"] if cls is None else cls[packed["name"]]
    fields = {name: unpack(item) for name, item in packed["fields"].items()}
    return fields if cls is None else _rebuilt(cls, fields)


def _rebuilt(cls: type[Any], fields: dict[str, Any]) -> Any:
    """Make a dataclass of its fields as they were, whatever its `__init__` takes or does."""
    made: Any = object.__new__(cls)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made
