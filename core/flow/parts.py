"""What the operations of a flow are made of, to ask before a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flowcompose.core.blocks import Block
from flowcompose.core.flow.ops import Op, blocks_of, functions_of
from flowcompose.core.generator import Generator
from flowcompose.core.graph_block import GraphBlock, Transcribed
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
        program = block.program if isinstance(block, GraphBlock) else None
        if isinstance(program, Transcribed) and program.transcript is not None:
            yield program.transcript


def _async_parts(what: str, block: Block) -> Iterator[str]:
    if block.async_only:
        yield what
    if isinstance(block, Generator):
        yield from (f"tool {tool!r} of {what}" for tool in block.async_tools)
    if isinstance(block, GraphBlock) and block.program is not None:
        yield from (f"{part} of {what}" for part in block.program.async_parts)


def generators_of(ops: Iterable[Op]) -> Iterator[Generator]:
    """Give the model calls among the steps; patterns and flows inside look after their own."""
    for op in ops:
        yield from (block for block in blocks_of(op).values() if isinstance(block, Generator))
