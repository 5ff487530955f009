"""A pattern's whole definition, checked and ready to compile.

A run writes nothing to it, but for the names of members that were warned about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from pydantic import BaseModel

from flowcompose.core.blocks import Block
from flowcompose.core.condition import Condition
from flowcompose.core.generator import Generator
from flowcompose.core.names import member_nodes, own_node
from flowcompose.core.panel import Panel
from flowcompose.core.resource_use import ResourceMap
from flowcompose.patterns.turn_loop.options import Written
from flowcompose.patterns.turn_loop.policies import Ask, OnError, OnLimit, Visibility
from flowcompose.patterns.turn_loop.roster import Member
from flowcompose.patterns.turn_loop.schedule import Schedule
from flowcompose.patterns.turn_loop.shape import RoundRobinFinalShape, SynthesisInput
from flowcompose.patterns.turn_loop.spoken import Listener


class SelectorBlock(Block, Protocol):
    """A block that gets a `SelectionInput` and gives a decision."""

    @property
    def wrapped(self) -> Block:
        """What it asks."""
        ...


@dataclass(frozen=True)
class Plan:
    """Everything the loop needs to know of a pattern."""

    description: str
    """The definition on one line, as its user would write it."""
    panel: Panel
    members: tuple[Member, ...]
    schedule: Schedule
    raw_output: Callable[[SynthesisInput], Any]
    """Makes the output where there is no synthesizer."""
    output_schema: type[BaseModel] | None = None
    terminate: Condition | None = None
    ask: Ask = "round"
    referee: Block | None = None
    selector: SelectorBlock | None = None
    """Asked who speaks, where the schedule leaves that open."""
    synthesizer: Block | None = None
    visibility: Visibility = field(default_factory=Visibility)
    collection_id: str = ""
    on_error: OnError = "raise"
    on_limit: OnLimit = "result"
    turn_timeout: float | None = None
    listener: Listener = field(default_factory=Listener)
    resources: ResourceMap = field(default_factory=dict[str, Any])
    """What the blocks use, and the pattern's own transcript, by key."""
    shares_transcript: bool = True
    """Whether a flow around it may read the transcript; one that nobody named is nobody's."""
    speaks_output: bool = False
    """Whether the output is a message of its own also where no synthesizer made it."""
    written: Written | None = field(default=None, repr=False, compare=False)
    """The arguments as their user wrote them."""

    # Read several times a turn: a cached property is read as fast as a field.

    @cached_property
    def name(self) -> str:
        """The pattern's name."""
        return self.panel.name

    @cached_property
    def key(self) -> str:
        """The transcript's key in state."""
        return self.panel.accessor_key

    @cached_property
    def per_round(self) -> int | None:
        """How many turns make a round, where there are rounds."""
        return self.schedule.turns_per_round

    @cached_property
    def has_user_resources(self) -> bool:
        """Whether there is something to be read from the store, and written to it."""
        return any(each.scope == "user" for each in self.resources.values())

    @cached_property
    def keeps_selection(self) -> bool:
        """Whether a run keeps in its state what was decided about who speaks."""
        return self.schedule.keeps_selection

    @cached_property
    def nodes(self) -> dict[str, str]:
        """The members' node names, by member name."""
        return member_nodes([member.name for member in self.members])

    @cached_property
    def init_node(self) -> str:
        """The node that opens a run."""
        return own_node("init", self.nodes.values())

    @cached_property
    def referee_node(self) -> str:
        """The node that audits a round, where there is a referee."""
        return own_node("referee", self.nodes.values())

    @cached_property
    def selector_node(self) -> str:
        """The node in which the selector is asked, where there is one."""
        return own_node("selector", self.nodes.values())

    @cached_property
    def join_node(self) -> str:
        """The node after members that spoke at once, where that happens."""
        return own_node("join", self.nodes.values())

    @cached_property
    def synthesizer_node(self) -> str:
        """The node that makes the deliverable, where there is a synthesizer."""
        return own_node("synthesizer", self.nodes.values())

    @cached_property
    def max_steps(self) -> int:
        """Supersteps that a run can need: the opening, turns, critiques and the deliverable.

        A few more are for decisions that are taken again after a resume.
        """
        turns, per_round = self.schedule.max_turns, self.schedule.turns_per_round
        critiques = -(-turns // per_round) if self.referee and per_round else 0
        choices = turns if self.selector else 0
        joins = turns if self.schedule.together else 0
        return turns + critiques + choices + joins + 8

    @property
    def max_together(self) -> int:
        """How many members may have to speak at once."""
        return max(1, len(self.schedule.together))

    @cached_property
    def async_parts(self) -> tuple[str, ...]:
        """What of this pattern only works with `arun`."""
        blocks = [*self.blocks]
        named = tuple(what for what, block in blocks if block.async_only)
        named += tuple(
            f"tool {tool!r} of {what}"
            for what, block in blocks
            if isinstance(block, Generator)
            for tool in block.async_tools
        )
        named += self.schedule.async_parts
        conditions = () if self.terminate is None else self.terminate.async_parts
        return named + tuple(f"terminate_when ({each})" for each in conditions)

    @property
    def blocks(self) -> Iterator[tuple[str, Block]]:
        """All blocks, each with what it is, as it stands in an error."""
        yield from ((f"member {member.name!r}", member.block) for member in self.members)
        own = {
            "the referee": self.referee,
            "the selector": self.selector.wrapped if self.selector else None,
            "the synthesizer": self.synthesizer,
        }
        yield from ((what, block) for what, block in own.items() if block is not None)

    def round_of(self, turn: int) -> int:
        """The round that a turn belongs to, both counted from 1."""
        per_round = self.per_round
        return 1 if per_round is None else (turn - 1) // per_round + 1

    def rounds_after(self, turns: int) -> int:
        """The rounds that are finished after so many turns."""
        per_round = self.per_round
        return 0 if per_round is None else turns // per_round

    def ends_round(self, turn: int) -> bool:
        """Whether every member has spoken once more with this turn."""
        per_round = self.per_round
        return per_round is not None and turn % per_round == 0


def final_shape(given: SynthesisInput) -> RoundRobinFinalShape:
    """The shape without the goal, as the specification has it."""
    return RoundRobinFinalShape.model_construct(
        rounds=given.rounds,
        contributions=given.contributions,
        referee_critiques=given.referee_critiques,
    )
