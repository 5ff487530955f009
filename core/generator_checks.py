"""What may be wrong with the arguments that all model calls share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from flowcompose.core.capability import Capability
from flowcompose.core.definition import Problems
from flowcompose.core.functions import describe
from flowcompose.core.models import problems_of_model
from flowcompose.core.prompt import problems_of_text
from flowcompose.core.resource_use import (
    ResourceMap,
    collect,
    outer_resources_of,
    problems_of_resources,
    read_resources,
)
from flowcompose.core.tools import is_list, problems_of_tools
from flowcompose.resources.resource import Resource


def problems_of_generator(
    prompt: object,
    context: object,
    model: object,
    output_schema: object,
    tools: object,
    uses: object,
    resources: object = (),
) -> list[str]:
    """Say what is wrong with the arguments that all model calls share."""
    problems = [*problems_of_text("prompt", prompt), *problems_of_text("context", context)]
    problems += [] if model is None else problems_of_model(model)
    problems += problems_of_schema(output_schema)
    problems += problems_of_resources(resources)
    if not is_list(uses):
        return [*problems, *problems_of_tools(tools), f"uses must be a list, got {uses!r}"]
    problems += [
        f"uses must hold capabilities made by capability(...), got {each!r}"
        for each in uses
        if not isinstance(each, Capability)
    ]
    installed = [each for each in uses if isinstance(each, Capability)]
    every = all_tools(tools, installed) if is_list(tools) else tools
    return [*problems, *problems_of_tools(every), *_conflicts(resources, every, installed)]


def all_resources(
    resources: object,
    tools: Iterable[Any],
    uses: Iterable[Capability],
    problems: Problems | None = None,
) -> dict[str, Resource[Any]]:
    """A block's own resources, and those of its capabilities and of the blocks among its tools."""
    parts: list[tuple[str, ResourceMap]] = [("resources=", read_resources(resources))]
    parts += [(f"capability {each.name!r}", each.resources) for each in uses]
    parts += [(f"tool {describe(each)!r}", outer_resources_of(each)) for each in tools]
    return collect(problems or Problems(""), parts)


def all_tools(tools: Iterable[Any], uses: Iterable[Capability]) -> list[Any]:
    """A block's own tools and those of its capabilities; the same one counts once."""
    every: list[Any] = [*tools, *(tool for each in uses for tool in each.tools)]
    return [tool for at, tool in enumerate(every) if not any(tool is each for each in every[:at])]


def _conflicts(resources: object, tools: object, uses: Iterable[Capability]) -> list[str]:
    problems = Problems("")
    all_resources(resources, tools if is_list(tools) else (), uses, problems)
    return problems.found


def problems_of_schema(schema: object, argument: str = "output_schema") -> list[str]:
    """Say what is wrong with an `output_schema=`, or another argument that takes a schema."""
    if schema is None:
        return []
    if isinstance(schema, type) and issubclass(schema, BaseModel) and schema is not BaseModel:
        return []
    return [f"{argument} must be a pydantic model class, got {schema!r}"]
