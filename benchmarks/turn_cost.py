"""Microseconds per turn of a round_robin, next to a hand-written LangGraph ring.

Both have the same three members, plain functions, and the same number of turns; the ring is
what an expert would write: one node per member, `Command` routing, an append-only transcript
channel. Both are measured in turn in one process, several times; the median counts.

Run it with `python benchmarks/turn_cost.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypedDict

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.constants import END, START
from langgraph.graph import StateGraph
from langgraph.types import Command

from flowcompose import RosterEntry, TurnInput, round_robin
from flowcompose.resources.logs import append

NAMES = ("a", "b", "c")
TEXT = "x" * 1000


def say(turn: Any) -> str:
    """The member on the sync path."""
    return TEXT


async def asay(turn: Any) -> str:
    """The member on the async path."""
    return TEXT


class RingState(TypedDict, total=False):
    """The ring's state."""

    goal: str
    turns: int
    contributions: Annotated[list[dict[str, Any]], DeltaChannel(append, list)]


def ring(turns: int, *, use_async: bool, saver: InMemorySaver | None) -> Any:
    """Write by hand what round_robin does for these members."""

    def entry(name: str, text: str, number: int) -> dict[str, Any]:
        return {"round": number // len(NAMES) + 1, "agent_name": name, "text": text}

    def command(name: str, text: str, state: RingState) -> Command[str]:
        number = state.get("turns", 0)
        following = NAMES[(number + 1) % len(NAMES)] if number + 1 < turns else END
        update = {"contributions": [entry(name, text, number)], "turns": number + 1}
        return Command(update=update, goto=following)

    def node(name: str) -> Callable[[RingState], Command[str]]:
        return lambda state: command(name, say(state), state)

    def anode(name: str) -> Callable[[RingState], Awaitable[Command[str]]]:
        async def run(state: RingState) -> Command[str]:
            return command(name, await asay(state), state)

        return run

    builder: Any = StateGraph(RingState)
    for name in NAMES:
        builder.add_node(name, anode(name) if use_async else node(name))
    builder.add_edge(START, NAMES[0])
    return builder.compile(checkpointer=saver)


def pattern(turns: int, *, use_async: bool, saver: InMemorySaver | None) -> Any:
    """The same by the library."""

    def block(turn: TurnInput) -> str:
        return say(turn)

    return round_robin(
        name="panel",
        roster=[RosterEntry(name=name, block=asay if use_async else block) for name in NAMES],
        max_rounds=turns // len(NAMES),
        synthesizer=False,
        checkpointer=saver,
    )


def _seconds(kind: str, turns: int, *, use_async: bool, saving: bool) -> float:
    saver = InMemorySaver() if saving else None
    make = ring if kind == "ring" else pattern
    graph = make(turns, use_async=use_async, saver=saver)
    config: Any = {"recursion_limit": turns + 10, "configurable": {"thread_id": "t"}}
    gc.collect()
    start = time.perf_counter()
    if kind == "ring":
        given = {"goal": "go", "turns": 0}
        if use_async:
            asyncio.run(graph.ainvoke(given, config, durability="async"))
        else:
            graph.invoke(given, config, durability="async")
    elif use_async:
        asyncio.run(graph.arun("go", config=config, durability="async"))
    else:
        graph.run("go", config=config, durability="async")
    return time.perf_counter() - start


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    print(f"{given.turns} turns of 3 function members, median of {given.repeats}, us per turn")
    print(f"{'path':<6} {'checkpointer':<13} {'ring':>8} {'round_robin':>12} {'ratio':>6}")
    for use_async in (False, True):
        for saving in (False, True):
            _row(given.turns, given.repeats, use_async=use_async, saving=saving)


def _row(turns: int, repeats: int, *, use_async: bool, saving: bool) -> None:
    """Measure both in alternation, so that a noisy moment hits both."""
    taken: dict[str, list[float]] = {"ring": [], "pattern": []}
    for _ in range(repeats + 1):
        for kind, list_ in taken.items():
            list_.append(_seconds(kind, turns, use_async=use_async, saving=saving))
    micro = {kind: statistics.median(each[1:]) / turns * 1e6 for kind, each in taken.items()}
    ratio = statistics.median(
        p / r for p, r in zip(taken["pattern"][1:], taken["ring"][1:], strict=True)
    )
    path, saver = "async" if use_async else "sync", "in-memory" if saving else "none"
    print(f"{path:<6} {saver:<13} {micro['ring']:>8.0f} {micro['pattern']:>12.0f} {ratio:>6.2f}")


if __name__ == "__main__":
    main()
