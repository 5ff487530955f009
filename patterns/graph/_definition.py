"""From the arguments of `graph` to a checked plan."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Required, get_args

from flowcompose.core.definition import Problems
from flowcompose.core.tools import is_terminate
from flowcompose.core.untyped import items_of, mapping_of
from flowcompose.patterns.graph._schedule import GraphSchedule
from flowcompose.patterns.graph._ways import Ways
from flowcompose.patterns.turn_loop.checks import check_cap
from flowcompose.patterns.turn_loop.definition import Definition, Parts
from flowcompose.patterns.turn_loop.edges import EdgeLike, Way, as_edge, read_edges
from flowcompose.patterns.turn_loop.options import SharedOptions, Written
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.prompts import Process
from flowcompose.patterns.turn_loop.shape import last_words

Join = Literal["all", "any"]

_PROCESS = Process(
    "Who speaks next follows from where the work stands; some may speak at the same time. "
    "Everybody reads everything that was said before.",
    has_rounds=False,
)


class GraphOptions(SharedOptions, total=False):
    """What `graph` takes, besides `synthesizer` and `output_schema`."""

    edges: Required[Sequence[EdgeLike]]
    start: str | None
    max_turns: int | None
    join: Join | Mapping[str, Join]


@dataclass(frozen=True, kw_only=True)
class GraphWritten(Written):
    """All arguments of `graph`, not yet checked."""

    edges: Sequence[EdgeLike]
    start: str | None
    max_turns: int | None
    join: Join | Mapping[str, Join]


def define(factory: Callable[..., Any], written: GraphWritten) -> Plan:
    """Check everything that was written, and make a plan of it.

    Raises:
        DefinitionError: Something cannot work; all problems are listed.
    """
    definition = Definition(factory, written)
    problems = definition.problems
    if written.max_turns is not None:
        check_cap(problems, "max_turns", written.max_turns)
    parts = definition.read_parts(synthesizes=False)
    ways = _ways(problems, written, parts)
    definition.shown = replace(written, edges=[*map(as_edge, items_of(written.edges) or ())])
    waits_for_all = _waits_for_all(problems, written.join, parts)
    problems.raise_if_any()
    _warn(definition.owner, written, ways)
    return definition.plan(
        parts,
        _PROCESS,
        schedule=GraphSchedule(written.name, ways, waits_for_all, written.max_turns),
        raw_output=last_words,
        ask="turn",
        speaks_output=True,
    )


def _ways(problems: Problems, written: GraphWritten, parts: Parts) -> Ways:
    """Read the edges; of a faulty definition it gives none."""
    names = parts.names
    edges = read_edges(problems, written.edges, names)
    problems.check(
        written.start is None or written.start in names,
        f"start must be a member or None, got {written.start!r}; "
        f"the members are {', '.join(map(repr, names))}",
    )
    for name in names:
        _check_order(problems, name, [way for way in edges if way.source == name])
    if problems.found:
        return Ways(names, (), "")
    ways = Ways(names, edges, written.start or names[0])
    if written.max_turns is None and (cycle := ways.cycle):
        around = " -> ".join(map(repr, cycle))
        problems.add(f"the cycle {around} needs max_turns, a whole number > 0")
    return ways


def _check_order(problems: Problems, name: str, ways: Sequence[Way]) -> None:
    """All conditional, but for the last; or none."""
    if any(way.when is not None for way in ways):
        problems.extend(
            f"edge {way} is unconditional, but other edges of {name!r} have a condition: give it "
            "a when, or put it last, for all other cases"
            for way in ways[:-1]
            if way.when is None
        )


def _waits_for_all(problems: Problems, join: object, parts: Parts) -> frozenset[str]:
    """Say who waits for every branch."""
    by_name = mapping_of(join)
    given = dict.fromkeys(parts.names, join) if by_name is None else by_name
    problems.extend(
        f"join: {name!r} is no member; the members are {', '.join(map(repr, parts.names))}"
        for name in given
        if name not in parts.names
    )
    for value in {repr(each): each for each in given.values()}.values():
        problems.check(value in get_args(Join), f"join must be 'all' or 'any', got {value!r}")
    return frozenset(name for name in parts.names if given.get(name, "all") == "all")


def _warn(owner: str, written: GraphWritten, ways: Ways) -> None:
    """Say what works, but is hardly meant."""
    if unreachable := ways.unreachable:
        names = ", ".join(map(repr, unreachable))
        warnings.warn(f"{owner}: no edge leads to {names}: never asked to speak", stacklevel=4)
    may_end = written.terminate_when is not None or any(map(is_terminate, written.tools))
    if not may_end and (stuck := ways.without_exit):
        names = ", ".join(map(repr, stuck))
        warnings.warn(
            f"{owner}: no way leads from {names} to an end: only max_turns ends such a run",
            stacklevel=4,
        )
