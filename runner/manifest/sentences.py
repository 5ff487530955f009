"""What a value is instead of what it should be, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic_core import ErrorDetails

from flowcompose.runner.manifest.marks import Path

_HIDDEN: Final = {
    *("value", "data", "stringData", "headers", "auth", "apiKey", "accessKeyId"),
    *("secretAccessKey", "sessionToken"),
}
"""Fields whose value may be a secret, and so is not quoted."""

_LONGEST: Final = 60
_LONGEST_SENTENCE: Final = 1000

_WANTED: Final = {
    "string_type": "a string",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}


def sentence(error: ErrorDetails, path: Path) -> str:
    """Say what is wrong with a value, quoting it where it is no secret."""
    kind = error["type"]
    if kind == "missing":
        return f"{str(error['loc'][-1])!r} is required"
    if kind == "value_error":
        return error["msg"].removeprefix("Value error, ")
    wanted = _WANTED.get(kind)
    if wanted is None:
        return error["msg"]
    value: object = error["input"]
    hint = ": put it in quotes" if kind == "string_type" and is_plain(value) else ""
    return f"must be {wanted}, not {described(value, quoted=not is_hidden(path))}{hint}"


def printable(text: str) -> str:
    """Give a text as one line that does nothing to a terminal, cut where it is long."""
    if len(text) > _LONGEST_SENTENCE:
        text = f"{text[:_LONGEST_SENTENCE]}..."
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def is_hidden(path: Path) -> bool:
    """Tell whether what stands at a path may be a secret."""
    return not _HIDDEN.isdisjoint(path)


def described(value: object, *, quoted: bool = True) -> str:
    """Name a value by what it is, and quote it if it is short."""
    if value is None:
        return "empty"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    noun = "a boolean" if isinstance(value, bool) else _noun(value)
    return f"{noun} ({shown(value)})" if quoted else noun


def shown(value: object) -> str:
    """Quote a value of a document, cut where it is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _noun(value: object) -> str:
    return "a string" if isinstance(value, str) else "a number"


def is_plain(value: object) -> bool:
    """Tell whether quotes would make a string of what stands there."""
    return isinstance(value, (bool, int, float))
