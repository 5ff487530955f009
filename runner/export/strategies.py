"""What each kind of pattern is as a strategy of v0.1.50, and what of it that strategy has not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Each pattern keeps its schedule to itself; this is the one place that tells them apart.
from flowcompose.patterns.graph._schedule import GraphSchedule
from flowcompose.patterns.round_robin._schedule import RoundRobinSchedule
from flowcompose.patterns.selector._schedule import SelectorSchedule
from flowcompose.patterns.sequential._schedule import SequentialSchedule
from flowcompose.patterns.turn_loop.edges import Way
from flowcompose.runner.export.agents import AgentWriter
from flowcompose.runner.export.choosing import write_selector
from flowcompose.runner.export.following import kept_ways
from flowcompose.runner.export.texts import listed


@dataclass(frozen=True)
class Strategy:
    """How a Team lets its members speak."""

    content: Mapping[str, Any]
    """What its document says of it."""
    members: tuple[str, ...]
    """Who is in it, the one who opens first."""


def strategy_of(writer: AgentWriter, names: Mapping[str, str]) -> Strategy:
    """Say how a Team lets its members speak, noting what it cannot say.

    Args:
        writer: Writes the agent that selects, and knows the pattern.
        names: What the members are called in documents, by name.
    """
    schedule = writer.shared.plan.schedule
    match schedule:
        case RoundRobinSchedule():
            return _round_robin(writer, schedule)
        case SequentialSchedule():
            return _sequential(writer, schedule)
        case SelectorSchedule():
            return Strategy(write_selector(writer, schedule, names), schedule.names)
        case GraphSchedule():
            return _graph(writer, schedule, names)
        case _:
            raise TypeError(schedule)


def _round_robin(writer: AgentWriter, schedule: RoundRobinSchedule) -> Strategy:
    if schedule.together:
        what = "speak='at_once'"
        writer.book.lose(writer.shared.where, what, "its members speak one after the other")
    content = {"strategy": "round-robin", "maxTurns": schedule.max_rounds}
    return Strategy(content, schedule.names)


def _sequential(writer: AgentWriter, schedule: SequentialSchedule) -> Strategy:
    book, where = writer.book, writer.shared.where
    cap, size = schedule.cap, len(schedule.names)
    if not schedule.loops:
        if cap is not None and cap < size:
            book.lose(where, f"max_turns={cap}", f"all {size} members speak")
        return Strategy({"strategy": "sequential"}, schedule.names)
    passes = -(-schedule.max_turns // size)
    if schedule.max_turns % size:
        what = f"max_turns={cap} ends in the middle of a pass over {size} members"
        instead = f"maxTurns counts whole passes: {passes}, which are {passes * size} turns"
        book.lose(where, what, instead)
    return Strategy({"strategy": "round-robin", "maxTurns": passes}, schedule.names)


def _graph(writer: AgentWriter, schedule: GraphSchedule, names: Mapping[str, str]) -> Strategy:
    book, where, ways = writer.book, writer.shared.where, schedule.ways
    kept = kept_ways(book, where, ways)
    reached = [ways.start]
    following = {way.source: way.target for way in kept}
    while (after := following.get(reached[-1])) is not None and after not in reached:
        reached.append(after)
    edges = [way for way in kept if way.source in reached]
    others = [name for name in ways.names if name not in reached]
    if silent := [name for name in others if name not in ways.unreachable]:
        book.lose(where, f"no edge leads to {listed(silent)} any more", "they never speak")
    if not edges:
        return Strategy({"strategy": "sequential"}, (ways.start,))
    cap = len(ways.names) if schedule.cap is None else schedule.cap
    graph = {"edges": edges_of(kept, names)}
    content = {"strategy": "graph", "maxTurns": cap, "graph": graph}
    order = (ways.start, *(name for name in ways.names if name != ways.start))
    return Strategy(content, order)


def edges_of(ways: list[Way], names: Mapping[str, str]) -> list[dict[str, str]]:
    """Write edges as documents do."""
    return [{"from": names[way.source], "to": names[way.target]} for way in ways]
