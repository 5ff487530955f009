"""Pydantic models on their way through graph state, which holds JSON only.

A model goes into state as JSON and the name of its class. Out of state it is that class
again where the class is known in this process, else the JSON as it stands.
"""

from __future__ import annotations

import copy
import json
import sys
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

ModelT = TypeVar("ModelT", bound=BaseModel)

_seen: WeakValueDictionary[str, type[Any]] = WeakValueDictionary()


def to_json(value: object) -> Any:
    """Give the JSON form of any value; what has none is written as its `str`.

    Fields go by their own names, and what is computed is left out, so that `from_json` reads
    every model back.
    """
    return to_jsonable_python(
        value,
        by_alias=False,
        round_trip=True,
        bytes_mode="base64",
        fallback=str,
        serialize_unknown=True,
    )


def class_name(model: BaseModel) -> str:
    """Name the class of `model` so that `revive` finds it, local classes included."""
    return name_of(type(model))


def name_of(cls: type[Any]) -> str:
    """Name a class so that `find_class` finds it."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    if _seen.setdefault(name, cls) is not cls:  # two local classes of one name
        name = f"{name}#{id(cls):x}"
        _seen[name] = cls
    return name


def revive(data: Any, name: str | None) -> Any:
    """Give the model that `data` was, or `data` itself where its class is not to be had."""
    cls = find_class(name) if name else None
    if cls is None or not issubclass(cls, BaseModel):
        return copy.deepcopy(data)  # the state's own must not be written to
    try:
        return from_json(cls, data)
    except ValidationError:
        return data


def from_json(schema: type[ModelT], data: Any) -> ModelT:
    """Validate JSON data as JSON: to a strict schema a date in a string is none otherwise."""
    return schema.model_validate_json(json.dumps(data), by_alias=False, by_name=True)


def find_class(name: str) -> type[Any] | None:
    """Look the class up among those seen and the modules already loaded: it imports nothing."""
    if name in _seen:
        return _seen[name]
    module_name, _, qualname = name.partition(":")
    qualname = qualname.partition("[")[0]  # a generic model with its types: the plain one will do
    found: Any = sys.modules.get(module_name)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None
