"""Fitting what was read into a model: all that does not fit is named, and the rest is kept."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from flowcompose.runner.manifest.kinds.base import Spec
from flowcompose.runner.manifest.marks import Path, at
from flowcompose.runner.manifest.sentences import sentence
from flowcompose.runner.manifest.shapes import is_mapping

S = TypeVar("S", bound=Spec)
S_co = TypeVar("S_co", bound=Spec, covariant=True)

_ROUNDS = 8


@dataclass(frozen=True)
class Fit(Generic[S_co]):
    """A model made of a mapping."""

    spec: S_co | None
    """Without what did not fit; None if it cannot do without."""
    errors: tuple[tuple[Path, str], ...] = ()
    unknown: tuple[Path, ...] = ()
    """Fields that the model does not have."""


def fit(model: type[S], data: object) -> Fit[S]:
    """Make a model of what was read."""
    try:
        return Fit(_made(model, data))
    except ValidationError as error:
        found = list(_details(error))
    unknown = tuple(_path(each) for each in found if each["type"] == "extra_forbidden")
    wrong = [each for each in found if each["type"] != "extra_forbidden"]
    errors = tuple((_path(each), sentence(each, _path(each))) for each in wrong)
    return Fit(_made_of_the_rest(model, copy.deepcopy(data), found), errors, unknown)


def _made(model: type[S], data: object) -> S:
    return model.model_validate(data, by_alias=True, by_name=False)


def _details(error: ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_context=False)


def _path(error: ErrorDetails) -> Path:
    return tuple(error["loc"])


def _made_of_the_rest(model: type[S], data: object, found: list[ErrorDetails]) -> S | None:
    """Leave out what does not fit, and what then does not."""
    for _ in range(_ROUNDS):
        if not all(_leave_out(data, each) for each in found):
            return None
        try:
            return _made(model, data)
        except ValidationError as error:
            found = _details(error)
    return None


def _leave_out(data: object, error: ErrorDetails) -> bool:
    """Take out the field with an error; False if there is nothing to take it out of."""
    path = _path(error)
    if error["type"] == "missing":
        path = path[:-1]
    while path and isinstance(path[-1], int):
        path = path[:-1]  # the other items must keep their places
    if not path:
        return False
    holder = at(data, path[:-1])
    if is_mapping(holder) and isinstance(path[-1], str):
        holder.pop(path[-1], None)
    return True
