"""Team documents, and all that they name."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from flowcompose.core.graph_block import GraphBlock
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.program import LoopProgram
from flowcompose.patterns.turn_loop.roster import Member
from flowcompose.runner.export.agents import AgentWriter
from flowcompose.runner.export.arguments import lose_arguments
from flowcompose.runner.export.book import Book
from flowcompose.runner.export.models import Models
from flowcompose.runner.export.naming import dns_name
from flowcompose.runner.export.shared import Shared
from flowcompose.runner.export.strategies import strategy_of


@dataclass(frozen=True)
class TeamWriter:
    """Writes the Teams of one export."""

    book: Book
    models: Models
    _written: dict[tuple[int, str], str] = field(
        default_factory=dict[tuple[int, str], str], init=False
    )
    """The names of Teams, by plan and by what they were to be called."""

    def write(self, plan: Plan, wanted: str, description: str | None = None) -> str:
        """Write a pattern and all that is in it; gives the name of its Team."""
        name = self.book.reserve("Team", wanted)
        shared = Shared(plan)
        lose_arguments(self.book, shared)
        writer = AgentWriter(self.book, self.models, shared)
        named: dict[str, tuple[str, str]] = {}
        for member in plan.members:
            taken = {each for each, _ in named.values()}
            named[member.name] = self._member(writer, member, taken)
        strategy = strategy_of(writer, {key: each for key, (each, _) in named.items()})
        members = [{"name": named[m][0], "type": named[m][1]} for m in strategy.members]
        about = {"description": description} if description else {}
        self.book.fill("Team", name, {**about, "members": members, **strategy.content})
        self._note_name(shared.where, wanted, name)
        return name

    def _member(
        self, writer: AgentWriter, member: Member, taken: Container[str]
    ) -> tuple[str, str]:
        where = f"{writer.shared.where}: member {member.name!r}"
        program = member.block.program if isinstance(member.block, GraphBlock) else None
        if isinstance(program, LoopProgram):
            name = self._inner(where, program.plan, member, taken)
            kind = "team"
        else:
            name = self.book.add("Agent", member.name, writer.member(member), but=taken)
            kind = "agent"
        self._note_name(where, member.name, name)
        return name, kind

    def _inner(self, where: str, plan: Plan, member: Member, taken: Container[str]) -> str:
        """Write a pattern that is a member; one that is in several teams is one Team."""
        if plan.name != member.name:
            what = f"the pattern that it is has a name of its own, {plan.name!r}"
            self.book.note(where, what, "its Team is named as the member is")
        if member.transcript == "output":
            instead = "the others hear all that its members say"
            self.book.note(where, "the others hear its output alone", instead)
        key = (id(plan), dns_name(member.name, "team"))
        known = self._written.get(key)
        if known is None or known in taken:
            about = member.description or member.role
            self._written[key] = self.write(plan, member.name, about)
        return self._written[key]

    def _note_name(self, where: str, wanted: str, name: str) -> None:
        if wanted != name:
            what = f"its name, {wanted!r}, is no name in a cluster or is taken"
            self.book.note(where, what, f"it is {name!r}")
