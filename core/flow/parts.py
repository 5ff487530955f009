"""What the operations of a flow are made of, to ask before a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flowcompose.core.blocks import Block
from flowcompose.core.context import Context
from flowcompose.core.flow.ops import Op, blocks_of, functions_of
from flowcompose.core.generator import Generator
from flowcompose.core.graph_block import GraphBlock
from flowcompose.core.model_problems import problems_of_block
from flowcompose.resources.resource import Resource


def async_parts_of(op: Op) -> Iterator[str]:
    """Name what only works with `arun`, inside patterns and flows too."""
    for name, block in blocks_of(op).items():
        own = "" if block.name == name else f" ({block.name})"
        yield from _async_parts(f"step {name!r}{own}", block)
    for function in functions_of(op):
        if function.async_only:
            yield f"{function.name} of step {op.name!r}"


def transcripts_of(op: Op) -> Iterator[tuple[str, Resource[Any]]]:
    """Give the transcripts of the patterns among the blocks of an operation, with their keys."""
    for block in blocks_of(op).values():
        if isinstance(block, GraphBlock) and block.transcript is not None:
            yield block.transcript


def _async_parts(what: str, block: Block) -> Iterator[str]:
    if block.async_only:
        yield what
    if isinstance(block, Generator):
        yield from (f"tool {tool!r} of {what}" for tool in block.async_tools)
    if isinstance(block, GraphBlock) and block.program is not None:
        yield from (f"{part} of {what}" for part in block.program.async_parts)


def model_problems_of(ops: Iterable[Op], ctx: Context) -> list[str]:
    """Say which models of the steps are not configured, inside patterns and flows too."""
    blocks = [block for op in ops for block in blocks_of(op).values()]
    return list(dict.fromkeys(each for block in blocks for each in problems_of_block(block, ctx)))
