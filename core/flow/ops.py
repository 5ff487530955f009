"""The operations of a flow, as checked data. What they do at run time stands in `nodes`."""

from __future__ import annotations

from dataclasses import dataclass

from flowcompose.core.blocks import Block
from flowcompose.core.flow.calls import Call, Calls


@dataclass(frozen=True)
class StepOp:
    """A block in the sequence: `step`, `step_if`, `map`, `tap` and `tap_if`."""

    name: str
    block: Block
    input: Block | None = None
    condition: Block | None = None
    passes: bool = False
    """Whether the value goes on as it came."""
    silent: bool = False
    """Whether no event tells of it."""


@dataclass(frozen=True)
class ParallelOp:
    """Blocks that get the same value at the same time."""

    name: str
    blocks: dict[str, Block]
    input: Block | None = None
    listed: bool = False
    """Whether it gives a list, and not a dict."""


@dataclass(frozen=True)
class EachOp:
    """A block for each item of a list."""

    name: str
    block: Block
    max_concurrency: int
    input: Block | None = None


@dataclass(frozen=True)
class BranchOp:
    """The first of several blocks whose condition holds."""

    name: str
    branches: dict[str, tuple[Block, Block]]
    """Condition and block, by key."""


@dataclass(frozen=True)
class LoopOp:
    """A jump back to an earlier operation."""

    name: str
    target: int
    """Which operation, counted from 0."""
    when: Block | None
    max_iterations: int


@dataclass(frozen=True)
class ExitOp:
    """An early end."""

    name: str
    condition: Block


@dataclass(frozen=True)
class RescueOp:
    """What to do with an error of an earlier operation."""

    name: str
    block: Block
    on: tuple[type[Exception], ...]


Op = StepOp | ParallelOp | EachOp | BranchOp | LoopOp | ExitOp | RescueOp


def mapped(input: Block | None, value: object) -> Calls:
    """Give what a step's block receives of the flow's value."""
    return value if input is None else (yield Call(input, value))


def blocks_of(op: Op) -> dict[str, Block]:
    """Give the blocks of an operation that do its work, by the name under which they speak."""
    match op:
        case StepOp() | EachOp() | RescueOp():
            return {op.name: op.block}
        case ParallelOp():
            return op.blocks
        case BranchOp():
            return {key: block for key, (_, block) in op.branches.items()}
        case LoopOp() | ExitOp():
            return {}


def functions_of(op: Op) -> list[Block]:
    """Give the conditions and mappings of an operation."""
    match op:
        case StepOp():
            found = [op.input, op.condition]
        case ParallelOp() | EachOp():
            found = [op.input]
        case BranchOp():
            found = [condition for condition, _ in op.branches.values()]
        case LoopOp():
            found = [op.when]
        case ExitOp():
            found = [op.condition]
        case RescueOp():
            found = []
    return [each for each in found if each is not None]
