"""A definition on one line, as its user would write it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from flowcompose.core.condition import Condition
from flowcompose.core.retry import Retry
from flowcompose.core.untyped import items_of, mapping_of
from flowcompose.patterns.turn_loop.policies import Visibility
from flowcompose.patterns.turn_loop.roster import RosterEntry


def described(factory: Callable[..., Any], written: object) -> str:
    """Write the call that made a pattern; what was left at its default is left out."""
    parameters = inspect.signature(factory).parameters.values()
    given = {each.name: getattr(written, each.name) for each in parameters}
    shown = {each.name: given[each.name] for each in parameters if given[each.name] != each.default}
    arguments = ", ".join(f"{key}={_short(value)}" for key, value in shown.items())
    return f"{factory.__name__}({arguments})"


def _short(value: object) -> str:
    """A name where there is one: of a member, a function, a class or a graph."""
    items, mapping = items_of(value), mapping_of(value)
    if items is not None:
        return f"[{', '.join(map(_short, items))}]"
    if isinstance(value, RosterEntry):
        return repr(value.name)
    if mapping is not None:
        inner = (f"{key!r}: {_short(each)}" for key, each in mapping.items())
        return repr(mapping["name"]) if "name" in mapping else f"{{{', '.join(inner)}}}"
    named = getattr(value, "__name__", None) or getattr(value, "name", None)
    if isinstance(named, str):
        return named
    if isinstance(value, (str, int, float, Condition, Visibility, Retry)):
        return repr(value)
    if isinstance(described := getattr(value, "described", None), str):
        return described
    model = getattr(value, "model_name", None)  # never all of a model: it holds keys
    return f"{type(value).__name__}({model or ''!s})"
