"""What may be wrong with the arguments that all model calls share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from flowcompose.core.capability import Capability
from flowcompose.core.models import problems_of_model
from flowcompose.core.prompt import problems_of_text
from flowcompose.core.tools import is_list, problems_of_tools


def problems_of_generator(
    prompt: object,
    context: object,
    model: object,
    output_schema: object,
    tools: object,
    uses: object,
) -> list[str]:
    """Say what is wrong with the arguments that all model calls share."""
    problems = [*problems_of_text("prompt", prompt), *problems_of_text("context", context)]
    problems += [] if model is None else problems_of_model(model)
    problems += problems_of_schema(output_schema)
    if not is_list(uses):
        return [*problems, *problems_of_tools(tools), f"uses must be a list, got {uses!r}"]
    problems += [
        f"uses must hold capabilities made by capability(...), got {each!r}"
        for each in uses
        if not isinstance(each, Capability)
    ]
    installed = [each for each in uses if isinstance(each, Capability)]
    every = all_tools(tools, installed) if is_list(tools) else tools
    return [*problems, *problems_of_tools(every)]


def all_tools(tools: Iterable[Any], uses: Iterable[Capability]) -> list[Any]:
    """A block's own tools and those of its capabilities; the same one counts once."""
    every: list[Any] = [*tools, *(tool for each in uses for tool in each.tools)]
    return [tool for at, tool in enumerate(every) if not any(tool is each for each in every[:at])]


def problems_of_schema(schema: object) -> list[str]:
    """Say what is wrong with an `output_schema=`."""
    if schema is None:
        return []
    if isinstance(schema, type) and issubclass(schema, BaseModel) and schema is not BaseModel:
        return []
    return [f"output_schema must be a pydantic model class, got {schema!r}"]
