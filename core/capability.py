"""Things that belong together, installed with one word: `uses=[...]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flowcompose.core.definition import Problems
from flowcompose.core.models import ModelLike, problems_of_model
from flowcompose.core.prompt import Text, problems_of_text
from flowcompose.core.resource_use import (
    ResourceMap,
    ResourcesLike,
    problems_of_resources,
    read_resources,
)
from flowcompose.core.tools import ToolLike, problems_of_tools


@dataclass(frozen=True)
class Capability:
    """What is installed together: tools, prompt sections, a model. Made by `capability`."""

    name: str
    tools: tuple[ToolLike, ...] = ()
    context: Text | None = None
    instructions: Text | None = None
    model: ModelLike | None = None
    resources: ResourceMap = field(default_factory=dict[str, Any])


def capability(
    name: str,
    *,
    tools: Sequence[ToolLike] = (),
    context: Text | None = None,
    instructions: Text | None = None,
    model: ModelLike | None = None,
    resources: ResourcesLike = (),
) -> Capability:
    """Bundle tools, prompt sections, a model and resources, to install with `uses=[...]`.

    Choose it when several patterns or generators need the same bundle; for one of them, give
    it the arguments directly. What a block says for itself wins over its capabilities.

    Args:
        name: Shown in errors.
        tools: Added to the block's own tools.
        context: A section of the system message: text, or a function of the input (and ctx).
        instructions: A further section, under the heading of the instructions.
        model: Used where the block names no model; the first capability with one wins.
        resources: What its tools and texts use: a list of resources, or a mapping of the key
            for `ctx.resources` to the resource.

    Raises:
        DefinitionError: An argument is not of its kind; all problems are listed.

    Example:
        ```python
        from flowcompose import capability

        def word_count(text: str) -> int:
            "Count the words of a text."
            return len(text.split())

        editing = capability("editing", tools=[word_count], instructions="Keep it short.")
        ```
    """
    problems = Problems(f"capability {name!r}")
    problems.extend(problems_of_tools(tools))
    problems.extend(problems_of_text("context", context))
    problems.extend(problems_of_text("instructions", instructions))
    problems.extend([] if model is None else problems_of_model(model))
    problems.extend(problems_of_resources(resources))
    problems.raise_if_any()
    used = read_resources(resources)
    return Capability(name, tuple(tools), context, instructions, model, used)
