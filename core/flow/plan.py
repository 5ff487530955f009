"""A flow's whole definition, checked and ready to compile. A run writes nothing to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from langgraph.constants import END
from pydantic import BaseModel

from flowcompose.core.definition import Problems
from flowcompose.core.errors import RunError
from flowcompose.core.flow.ops import BranchOp, LoopOp, Op, ParallelOp, RescueOp, blocks_of
from flowcompose.core.flow.parts import async_parts_of, transcripts_of
from flowcompose.core.functions import AsyncOnlyError
from flowcompose.core.names import member_nodes, own_node
from flowcompose.core.resource_state import UnknownResourceError
from flowcompose.core.resource_use import ResourceMap, collect, resources_of


class Nodes(NamedTuple):
    """The nodes of one operation."""

    main: str
    parts: dict[str, str]
    """Of a branch or a parallel step: the node of each of its blocks, by key."""


@dataclass(frozen=True)
class FlowPlan:
    """Everything the nodes of a flow need to know of it."""

    name: str
    ops: tuple[Op, ...]
    input_schema: type[BaseModel] | None = None
    output_schema: type[BaseModel] | None = None
    declared: tuple[tuple[str, ResourceMap], ...] = ()
    """The resources of the flow itself and of its blocks, each with whose they are."""

    @property
    def description(self) -> str:
        """The definition on one line."""
        schemas = [
            f", {argument}={schema.__name__}"
            for argument, schema in (
                ("input_schema", self.input_schema),
                ("output_schema", self.output_schema),
            )
            if schema is not None
        ]
        steps = " -> ".join(op.name for op in self.ops) or "no steps yet"
        return f"Flow({self.name!r}{''.join(schemas)}: {steps})"

    @cached_property
    def shared(self) -> ResourceMap:
        """The resources that somebody has named, by key: they are those of a flow around too."""
        return collect(Problems(""), self.declared)

    @cached_property
    def resources(self) -> ResourceMap:
        """All resources that a run of the flow uses, by key.

        A transcript that nobody named is among them if it is the only one of its key.
        """
        others = [own for op in self.ops for own in transcripts_of(op)]
        seen = {key: [each for k, each in others if k == key] for key, _ in others}
        alone = {key: each[0] for key, each in seen.items() if len(set(each)) == 1}
        return {**alone, **self.shared}

    @cached_property
    def nodes(self) -> tuple[Nodes, ...]:
        """The nodes of each operation: they bear its name, or the key of a block in it."""
        keys = [(op.name, key) for op in self.ops for key in part_keys(op)]
        taken = {op.name for op in self.ops}
        labels: dict[tuple[str, str], str] = {}
        for name, key in keys:
            labels[name, key] = _free(key if key not in taken else f"{name}.{key}", taken)
            taken.add(labels[name, key])
        named = member_nodes([op.name for op in self.ops] + list(labels.values()))
        return tuple(
            Nodes(named[op.name], {key: named[labels[op.name, key]] for key in part_keys(op)})
            for op in self.ops
        )

    @cached_property
    def init_node(self) -> str:
        """The node that opens a run."""
        taken = {node for each in self.nodes for node in (each.main, *each.parts.values())}
        return own_node("init", taken)

    def entry(self, at: int) -> tuple[str, ...]:
        """Give the nodes with which operation `at` begins; past the last one, the end."""
        while at < len(self.ops) and isinstance(self.ops[at], RescueOp):
            at += 1  # on the way of a value a rescue is no stop
        if at >= len(self.ops):
            return (END,)
        nodes = self.nodes[at]
        return (
            tuple(nodes.parts.values()) if isinstance(self.ops[at], ParallelOp) else (nodes.main,)
        )

    def rescues(self, at: int) -> tuple[str, ...]:
        """Give the nodes to which an error of operation `at` may lead."""
        later = range(at + 1, len(self.ops))
        return tuple(self.nodes[i].main for i in later if isinstance(self.ops[i], RescueOp))

    def rescue_of(self, at: int, error: Exception) -> tuple[str, Exception] | None:
        """Give the node that takes care of an error of operation `at`, and the error it is for."""
        if isinstance(error, (AsyncOnlyError, UnknownResourceError)):  # a faulty program
            return None
        for i in range(at + 1, len(self.ops)):
            op = self.ops[i]
            found = matched(error, op.on) if isinstance(op, RescueOp) else None
            if found is not None:
                return self.nodes[i].main, found
        return None

    @cached_property
    def max_steps(self) -> int:
        """Supersteps that a run can need: each loop repeats what it jumps back over."""
        reached = [0]
        for op in self.ops:
            steps = 2 if isinstance(op, (ParallelOp, BranchOp)) else 1
            if isinstance(op, LoopOp):
                steps += op.max_iterations * (reached[-1] + 1 - reached[op.target])
            reached.append(reached[-1] + steps)
        return reached[-1] + 8

    @cached_property
    def async_parts(self) -> tuple[str, ...]:
        """What of this flow only works with `arun`."""
        return tuple(part for op in self.ops for part in async_parts_of(op))


def declared_by(op: Op) -> tuple[tuple[str, ResourceMap], ...]:
    """Give the resources that the blocks of an operation name, each with whose they are."""
    named = ((f"step {name!r}", resources_of(block)) for name, block in blocks_of(op).items())
    return tuple((owner, resources) for owner, resources in named if resources)


def _free(label: str, taken: set[str]) -> str:
    while label in taken:
        label += "'"
    return label


def part_keys(op: Op) -> tuple[str, ...]:
    """Give the keys of an operation's blocks that have nodes of their own."""
    match op:
        case ParallelOp():
            return tuple(op.blocks)
        case BranchOp():
            return tuple(op.branches)
        case _:
            return ()


def matched(error: BaseException | None, types: tuple[type[Exception], ...]) -> Exception | None:
    """Give the error, or the cause behind errors of ours, that is of one of the types."""
    while isinstance(error, Exception):
        if isinstance(error, types):
            return error
        error = error.__cause__ if isinstance(error, RunError) else None
    return None
