"""From a pattern to documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flowcompose.core.errors import DefinitionError
from flowcompose.core.flow.flow import Flow
from flowcompose.core.flow.ops import blocks_of
from flowcompose.core.flow.program import FlowProgram
from flowcompose.core.graph_block import GraphBlock
from flowcompose.core.pattern import Pattern
from flowcompose.patterns.turn_loop.program import LoopProgram
from flowcompose.runner.export.book import Book
from flowcompose.runner.export.documents import Draft, as_yaml
from flowcompose.runner.export.findings import Finding
from flowcompose.runner.export.models import Models
from flowcompose.runner.export.teams import TeamWriter
from flowcompose.runner.export.texts import listed


@dataclass(frozen=True)
class Export:
    """A pattern as documents."""

    team: str
    """The name of its Team."""
    documents: tuple[Draft, ...]
    findings: tuple[Finding, ...]
    """What documents do not express as it was written."""

    @property
    def lost(self) -> tuple[Finding, ...]:
        """What they do not express at all."""
        return tuple(each for each in self.findings if each.lost)

    @property
    def yaml(self) -> str:
        """All documents, as one text."""
        return as_yaml(self.documents)


def export_pattern(pattern: Pattern[Any] | Flow[Any]) -> Export:
    """Write a pattern as documents of v0.1.50, as far as they can express it.

    Choose it to bring a team that was built in Python to a cluster. The documents hold no key.

    Args:
        pattern: The pattern. A flow cannot be expressed.

    Raises:
        DefinitionError: It is a flow; the error names the patterns in it.
    """
    program = pattern.compile().program if isinstance(pattern, Flow) else pattern.program
    if not isinstance(program, LoopProgram):
        raise _is_flow(program.name, program)
    book = Book()
    team = TeamWriter(book, Models(book)).write(program.plan, program.name)
    return Export(team, book.drafts, book.findings)


def _is_flow(name: str, program: object) -> DefinitionError:
    patterns = [
        block.program.name
        for op in (program.plan.ops if isinstance(program, FlowProgram) else ())
        for block in blocks_of(op).values()
        if isinstance(block, GraphBlock) and isinstance(block.program, LoopProgram)
    ]
    could = f"its patterns could be exported, each by itself: {listed(patterns)}"
    none = "there is no pattern in it that could be exported"
    problem = "a flow hands values from step to step, which documents cannot express"
    return DefinitionError(f"flow {name!r}", [f"{problem}; {could if patterns else none}"])
