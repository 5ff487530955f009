"""Asking for answers in the form that an Agent document declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBinding

from flowcompose.core.untyped import unchecked

_LONGEST = 64
"""Characters that providers take as the name of a schema."""


def bind(model: Runnable[Any, Any], schema: Mapping[str, Any], name: str) -> Runnable[Any, Any]:
    """Give `model`, told to answer in a JSON schema; what it then says is still text.

    Args:
        model: A chat model, bound to tools or not.
        schema: The JSON schema.
        name: Its name, which is cut to what providers take.
    """
    asked = {
        "type": "json_schema",
        "json_schema": {"name": name[:_LONGEST], "schema": dict(schema)},
    }
    extra = _extra_body(model)
    if extra is None:
        return model.bind(response_format=asked)
    # As an argument of its own, the OpenAI client would parse the answer, and refuse tools
    # that are not strict.
    return model.bind(extra_body={**extra, "response_format": asked})


def _extra_body(model: Runnable[Any, Any]) -> Mapping[str, Any] | None:
    """Give what the model adds to its requests anyway; None if it is not one of OpenAI's."""
    while isinstance(model, RunnableBinding):
        model = unchecked(model).bound
    own: Any = unchecked(model)
    return (own.extra_body or {}) if "extra_body" in getattr(own, "__dict__", {}) else None
