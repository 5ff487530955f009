"""Values on their way through a checkpoint, which holds plain data only.

What a serializer would refuse, or give back as something else, is written as a marked mapping:
models, dataclasses, enums, tuples and sets. Everything else that is allowed stays as it is.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import Enum, Flag
from pathlib import Path
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, ValidationError

from flowcompose.resources.contributions import Transcript
from flowcompose.resources.critiques import Critiques
from flowcompose.resources.structured_data import find_class, from_json, name_of, to_json

_MARK = "__flowcompose__"
"""The key that tells a packed value from a mapping of the user's."""

HANDED_AGAIN = {_MARK: "handed again"}
"""Stands for a value that no checkpoint need hold: it is handed over again after a resume."""

_ATOMS = frozenset(
    {str, int, float, bool, type(None), bytes, Decimal, UUID}
    | {datetime.datetime, datetime.date, datetime.time, datetime.timedelta}
)
_LARGE = 2**63
"""From here on a whole number is more than a serializer takes."""

_DEEP = 200
"""So many levels may be nested in a packed value."""

_GROUPS: dict[type, str] = {tuple: "tuple", set: "set", frozenset: "frozenset"}
_MAKERS: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
}


class UnstorableError(TypeError):
    """A value that no checkpoint can hold; the message names its type."""


class StoredError(Exception):
    """An error of another process, of which a checkpoint has only the words."""


def pack(value: Any) -> Any:
    """Give the plain form of `value`.

    Raises:
        UnstorableError: It, or something in it, has none.
    """
    try:
        packed = _pack(value)
    except RecursionError:
        packed = None
        deep = True
    else:
        deep = _is_deep(packed)
    if deep:
        msg = f"{type(value).__qualname__}, which holds itself or is nested too deep"
        raise UnstorableError(msg)
    return packed


def _is_deep(packed: Any) -> bool:
    """Say whether a serializer would give up: LangGraph's does at some 250 levels."""
    level: list[Any] = [packed]
    for _ in range(_DEEP):
        level = [item for each in level for item in _items_in(each)]
        if not level:
            return False
    return True


def _items_in(packed: Any) -> Iterable[Any]:
    if isinstance(packed, dict):
        return packed.values()  # pyright: ignore[reportUnknownVariableType] - any mapping
    return packed if isinstance(packed, list) else ()  # pyright: ignore[reportUnknownVariableType] - any list


def _pack(value: Any) -> Any:
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType] - any value
    if kind is int and not -_LARGE <= value < _LARGE:
        return {_MARK: "int", "text": str(value)}
    if kind in _ATOMS or isinstance(value, BaseMessage):
        return value
    if isinstance(value, BaseModel):
        return _pack_model(value)
    if isinstance(value, Exception):
        return pack_error(value)
    if isinstance(value, Flag):
        return {_MARK: "flag", "class": name_of(kind), "value": value.value}
    if isinstance(value, Enum):
        return {_MARK: "enum", "class": name_of(kind), "name": value.name}
    if isinstance(value, Path):
        return {_MARK: "path", "path": str(value)}
    if isinstance(value, dict):
        return _pack_dict(value)  # pyright: ignore[reportUnknownArgumentType] - any mapping
    if isinstance(value, (list, Transcript, Critiques)):
        return [_pack(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - any list
    if kind in _GROUPS:
        return {_MARK: _GROUPS[kind], "items": [_pack(item) for item in value]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: _pack(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {_MARK: "dataclass", "class": name_of(kind), "fields": fields}
    raise UnstorableError(kind.__qualname__)


def pack_error(error: Exception) -> dict[str, Any]:
    """Keep an error with its arguments and attributes where these are plain, else its words."""
    text = f"{type(error).__name__}: {error}"
    packed = {_MARK: "error", "class": name_of(type(error)), "text": text}
    parts = {"args": packed_or_none(error.args), "attributes": packed_or_none(vars(error))}
    return packed if None in parts.values() else {**packed, **parts}


def _unpack_error(packed: dict[str, Any]) -> Exception:
    """Give an error of the same class, without a call of its `__init__`; else a `StoredError`."""
    cls = find_class(packed["class"])
    if cls is None or not issubclass(cls, Exception) or "args" not in packed:
        return StoredError(packed["text"])
    made: Exception = cls.__new__(cls)
    made.args = unpack(packed["args"])
    vars(made).update(unpack(packed["attributes"]))
    return made


def packed_or_none(value: Any) -> Any:
    """Pack a value that is handed over as well, and so need not go through a checkpoint."""
    try:
        return pack(value)
    except UnstorableError:
        return None


def copied(value: Any) -> Any:
    """Give a copy of plain data, to whoever must not change it; other objects as they are."""
    if type(value) in _ATOMS:
        return value
    packed = packed_or_none(value)
    return value if packed is None else unpack(packed)


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
        return {**packed, "parts": {key: _pack(part) for key, part in model.__getstate__().items()}}
    except UnstorableError:
        return {**packed, "json": _faithful_json(model)}


def _faithful_json(model: BaseModel) -> Any:
    """Give JSON that reads back as the same fields: that of a secret, say, does not."""
    cls, json = type(model), to_json(model)
    try:
        back = from_json(cls, json)
    except ValidationError:
        back = None
    kept = None if back is None else (vars(back), back.__pydantic_private__)
    if kept != (vars(model), model.__pydantic_private__):
        msg = f"{cls.__qualname__}, whose JSON does not read back as what it was"
        raise UnstorableError(msg)
    return json


def _unpack_model(packed: dict[str, Any]) -> Any:
    """Give the model as it was, or validated anew where its class has other fields by now."""
    cls = find_class(packed["class"])
    if "json" in packed:
        fits = cls is not None and issubclass(cls, BaseModel)
        return _validated(cls, packed["json"]) if fits and cls else packed["json"]
    parts = {key: unpack(part) for key, part in packed["parts"].items()}
    fields = parts["__dict__"]
    if cls is None or not issubclass(cls, BaseModel):
        return fields
    if set(cls.model_fields) - set(fields):
        return _validated(cls, to_json(fields))
    made = cls.__new__(cls)
    made.__setstate__(parts)
    return made


def _validated(cls: type[BaseModel], json: Any) -> BaseModel:
    try:
        return from_json(cls, json)
    except ValidationError as error:
        msg = f"what was kept of a {cls.__qualname__} does not fit it when it is read back: {error}"
        raise ValueError(msg) from error


def _pack_dict(value: dict[Any, Any]) -> dict[str, Any]:
    if _MARK not in value and all(type(key) is str for key in value):
        return {key: _pack(item) for key, item in value.items()}
    items = [{_MARK: "tuple", "items": [_pack(key), _pack(value[key])]} for key in value]
    return {_MARK: "dict", "items": items}


def _unpack_marked(kind: str, packed: dict[str, Any]) -> Any:
    match kind:
        case "model":
            return _unpack_model(packed)
        case "path":
            return Path(packed["path"])
        case "int":
            return int(packed["text"])
        case "error":
            return _unpack_error(packed)
        case "enum" | "flag":
            return _unpack_enum(packed)
        case "dataclass":
            return _unpack_dataclass(packed)
        case _:
            return _MAKERS[kind]([unpack(item) for item in packed["items"]])


def _unpack_enum(packed: dict[str, Any]) -> Any:
    cls: Any = find_class(packed["class"])
    plain: Any = packed.get("name", packed.get("value"))
    if cls is None or not issubclass(cls, Enum):
        return plain
    return cls[plain] if "name" in packed else cls(plain)


def _unpack_dataclass(packed: dict[str, Any]) -> Any:
    """Make a dataclass of its fields as they were, whatever its `__init__` takes or does."""
    cls = find_class(packed["class"])
    fields = {name: unpack(item) for name, item in packed["fields"].items()}
    if cls is None or not dataclasses.is_dataclass(cls):
        return fields
    made: Any = object.__new__(cls)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made
