"""From the arguments that all patterns share to a plan; a pattern adds what is particular to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from flowcompose.core.blocks import Block
from flowcompose.core.condition import as_condition
from flowcompose.core.definition import Problems
from flowcompose.core.models import CHAT
from flowcompose.core.panel import DEFAULT_KEY, MemberInfo, Panel
from flowcompose.core.prompt import Text
from flowcompose.patterns.turn_loop.checks import check_shared, read_block
from flowcompose.patterns.turn_loop.default_blocks import create_roster_agent, create_synthesize
from flowcompose.patterns.turn_loop.describe import described
from flowcompose.patterns.turn_loop.options import Written
from flowcompose.patterns.turn_loop.panel_block import panel_system
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.prompts import Process
from flowcompose.patterns.turn_loop.resources import used_resources
from flowcompose.patterns.turn_loop.roster import Member, RosterEntry, read_roster
from flowcompose.resources.resource import create_round_robin_contributions


@dataclass(frozen=True)
class Parts:
    """What of a definition is read in the same way for every pattern."""

    members: tuple[Member, ...]
    synthesizer: Block | None

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names, in the order of the roster."""
        return tuple(member.name for member in self.members)


class Definition:
    """Reads what was written for one pattern. All that is wrong with it is in `problems`.

    Args:
        factory: The pattern's factory: its name and its defaults are shown in the `repr`.
        written: Its arguments.
    """

    def __init__(self, factory: Callable[..., Any], written: Written) -> None:
        self.factory = factory
        self.written = written
        self.shown: object = written
        """What the `repr` of the pattern shows; a pattern may put it more clearly."""
        self.owner = f"{factory.__name__} {written.name!r}"
        self.problems = Problems(self.owner)
        check_shared(self.problems, written)

    def read_parts(self, *, synthesizes: bool) -> Parts:
        """Read the roster and the synthesizer, after the pattern has checked its own arguments.

        Args:
            synthesizes: Whether there is a default synthesizer where nothing asks for one.
        """
        usable = not self.problems.found  # default blocks would repeat what is wrong
        members = read_roster(
            self.written.roster, lambda entry: self._agent(entry, usable), self.problems
        )
        own, schema = self.written.synthesizer, self.written.output_schema
        if own is None and (synthesizes or schema is not None):
            return Parts(members, self._default_synthesizer() if usable else None)
        given = None if own is False else own
        return Parts(members, read_block(self.problems, "synthesizer", given))

    def plan(self, parts: Parts, process: Process, **particular: Any) -> Plan:
        """Make the plan; `particular` are fields of it that only this pattern knows.

        Raises:
            DefinitionError: Something cannot work; all problems are listed.
        """
        self.problems.raise_if_any()
        written, terminate = self.written, self.written.terminate_when
        plan = Plan(
            description=described(self.factory, self.shown),
            panel=self._panel(parts, process),
            members=parts.members,
            output_schema=written.output_schema,
            terminate=None if terminate is None else as_condition(terminate),
            synthesizer=parts.synthesizer,
            visibility=written.synthesizer_visibility,
            collection_id=written.collection_id or written.name,
            on_error=written.on_error,
            on_limit=written.on_limit,
            turn_timeout=written.turn_timeout,
            shares_transcript=written.contributions is not None
            or written.accessor_key != DEFAULT_KEY,
            written=written,
            **particular,
        )
        resources = used_resources(self.problems, self.owner, plan)
        self.problems.raise_if_any()
        return replace(plan, resources=resources)

    def _panel(self, parts: Parts, process: Process) -> Panel:
        """What all requests have in common; a capability's texts stand there too."""
        written, uses = self.written, self.written.uses
        texts = [written.instructions, *(u.instructions for u in uses)]
        sections: list[Text | None] = [*texts, written.context, *(u.context for u in uses)]
        return Panel(
            name=written.name,
            members=tuple(MemberInfo(m.name, m.role or m.description) for m in parts.members),
            system=panel_system(process, *sections),
            model=None if written.model == CHAT else written.model,
            accessor_key=written.accessor_key,
            contributions=written.contributions or create_round_robin_contributions(),
            has_rounds=process.has_rounds,
        )

    def _agent(self, entry: RosterEntry, usable: bool) -> Block:
        """The block of an entry that brings none."""
        own = self.forwarded(self.written.tools) if usable else {}
        return create_roster_agent(agent_name=entry.name, role=entry.role, **own)

    def _default_synthesizer(self) -> Block:
        """The synthesizer of those who name none."""
        return create_synthesize(
            output_schema=self.written.output_schema,
            stream=self.written.synthesizer_visibility.client,
            **self.forwarded(self.written.tools),
        )

    def forwarded(self, tools: Any) -> dict[str, Any]:
        """What default blocks get; the texts reach them by the shared system message."""
        written = self.written
        bare = [replace(u, context=None, instructions=None) for u in written.uses]
        model = None if written.model == CHAT else written.model  # before that of a capability
        return {"model": model, "uses": bare, "tools": tools, "retry": written.retry}
