"""From the arguments of `round_robin` to a checked plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from flowcompose.core.blocks import BlockLike
from flowcompose.patterns.round_robin._schedule import RoundRobinSchedule
from flowcompose.patterns.turn_loop.checks import check_cap, check_choice, read_block
from flowcompose.patterns.turn_loop.definition import Definition
from flowcompose.patterns.turn_loop.options import SharedOptions, Written
from flowcompose.patterns.turn_loop.plan import Plan, final_shape
from flowcompose.patterns.turn_loop.policies import Ask
from flowcompose.patterns.turn_loop.prompts import Process

IN_TURN = Process(
    "In every round each member speaks once, in the order listed. Everybody reads everything "
    "that was said before.",
    heading="The members, in order of speaking",
)

AT_ONCE = Process(
    "In every round each member speaks once, all at the same time: what is said in a round is "
    "read in the next."
)

Speaking = Literal["in_turn", "at_once"]


class RoundRobinOptions(SharedOptions, total=False):
    """What `round_robin` takes, besides `synthesizer` and `output_schema`."""

    max_rounds: int
    referee: BlockLike | None
    ask: Ask
    speak: Speaking


@dataclass(frozen=True, kw_only=True)
class RoundRobinWritten(Written):
    """All arguments of `round_robin`, not yet checked."""

    max_rounds: int
    referee: BlockLike | None
    ask: Ask
    speak: Speaking


def define(factory: Callable[..., Any], written: RoundRobinWritten) -> Plan:
    """Check everything that was written, and make a plan of it.

    Raises:
        DefinitionError: Something cannot work; all problems are listed.
    """
    definition = Definition(factory, written)
    problems = definition.problems
    check_cap(problems, "max_rounds", written.max_rounds)
    check_choice(problems, "ask", Ask, written.ask)
    check_choice(problems, "speak", Speaking, written.speak)
    at_once = written.speak == "at_once"
    parts = definition.read_parts(synthesizes=True)
    return definition.plan(
        parts,
        AT_ONCE if at_once else IN_TURN,
        schedule=RoundRobinSchedule(parts.names, written.max_rounds, at_once),
        raw_output=final_shape,
        ask=written.ask,
        referee=read_block(problems, "referee", written.referee),
    )
