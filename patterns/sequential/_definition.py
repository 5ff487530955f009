"""From the arguments of `sequential` to a checked plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flowcompose.patterns.sequential._schedule import SequentialSchedule
from flowcompose.patterns.turn_loop.checks import check_cap
from flowcompose.patterns.turn_loop.definition import Definition
from flowcompose.patterns.turn_loop.options import SharedOptions, Written
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.prompts import Process
from flowcompose.patterns.turn_loop.shape import last_words

_ONCE = Process(
    "The members speak one after the other, in the order listed. Everybody reads everything "
    "that was said before.",
    heading="The members, in order of speaking",
    has_rounds=False,
)

_LOOPS = Process(
    "The members speak one after the other, in the order listed, again and again. Everybody "
    "reads everything that was said before.",
    heading="The members, in order of speaking",
)


class SequentialOptions(SharedOptions, total=False):
    """What `sequential` takes, besides `synthesizer` and `output_schema`."""

    loops: bool
    max_turns: int | None


@dataclass(frozen=True, kw_only=True)
class SequentialWritten(Written):
    """All arguments of `sequential`, not yet checked."""

    loops: bool
    max_turns: int | None


def define(factory: Callable[..., Any], written: SequentialWritten) -> Plan:
    """Check everything that was written, and make a plan of it.

    Raises:
        DefinitionError: Something cannot work; all problems are listed.
    """
    definition = Definition(factory, written)
    problems, loops, cap = definition.problems, written.loops, written.max_turns
    problems.check(type(loops) is bool, f"loops must be True or False, got {loops!r}")
    if cap is not None:
        check_cap(problems, "max_turns", cap)
    elif loops is True:
        problems.add("loops=True needs max_turns, a whole number > 0: nothing else ends it")
    parts = definition.read_parts(synthesizes=False)
    return definition.plan(
        parts,
        _LOOPS if loops else _ONCE,
        schedule=SequentialSchedule(parts.names, loops, cap),
        raw_output=last_words,
        ask="turn",
        speaks_output=True,
    )
