"""Finding a model that is not configured before the first step of a run is paid for."""

from __future__ import annotations

from flowcompose.core.blocks import Block
from flowcompose.core.context import Context
from flowcompose.core.errors import DefinitionError
from flowcompose.core.generator import Generator
from flowcompose.core.graph_block import GraphBlock


def problems_of_block(block: Block | None, ctx: Context) -> list[str]:
    """Say which models a block would miss in this context, if it asks any."""
    if isinstance(block, GraphBlock) and block.program is not None:
        return block.program.model_problems()
    if not isinstance(block, Generator):
        return []
    try:
        block.model_for(ctx)
    except DefinitionError as error:
        return [f"{error.subject}: {each}" for each in error.problems]
    return []
