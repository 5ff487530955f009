"""Microseconds per turn of a round_robin, next to a hand-written LangGraph ring.

Both have the same three members, plain functions, and the same number of turns; the ring is
what an expert would write: one node per member, `Command` routing, an append-only transcript
channel. Each is measured in processes of its own, the two by turns: in one process each
would undo the interpreter's specialisation for the other, which no program that uses one of
them ever pays. The median of all runs counts, and the ratio is that of the medians.

Run it with `python benchmarks/turn_cost.py`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypedDict

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.constants import END, START
from langgraph.graph import StateGraph
from langgraph.types import Command
from timing import in_process, microseconds

from flowcompose import RosterEntry, TurnInput, round_robin
from flowcompose.resources.logs import append

NAMES = ("a", "b", "c")
SAVERS = ("none", "in-memory")
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


def measure(kind: str, turns: int, repeats: int, *, use_async: bool, saving: bool) -> list[float]:
    """Give microseconds per turn of several runs, after one that warms up."""
    saver = InMemorySaver() if saving else None
    graph = (ring if kind == "ring" else pattern)(turns, use_async=use_async, saver=saver)
    # The pattern's own default with a checkpointer is "sync"; both are given the engine's.
    options: Any = {"durability": "async"} if saving else {}
    start = {"ring": {"goal": "go", "turns": 0}, "pattern": "go"}[kind]
    call: Any = {
        ("ring", False): graph.invoke,
        ("ring", True): graph.ainvoke,
        ("pattern", False): getattr(graph, "run", None),
        ("pattern", True): getattr(graph, "arun", None),
    }[kind, use_async]

    def config(number: int) -> Any:
        return {"recursion_limit": turns + 10, "configurable": {"thread_id": str(number)}}

    def run(number: int) -> Any:
        return call(start, config=config(number), **options)

    return [each / turns for each in microseconds(run, repeats, use_async=use_async)]


def _in_process(kind: str, given: argparse.Namespace, path: str, saver: str) -> list[float]:
    arguments = ["--child", kind, "--path", path, "--saver", saver]
    arguments += ["--turns", str(given.turns), "--repeats", str(given.repeats)]
    return in_process(__file__, arguments)


def _row(given: argparse.Namespace, path: str, saver: str) -> float:
    taken: dict[str, list[float]] = {"ring": [], "pattern": []}
    for _ in range(given.processes):
        for kind, numbers in taken.items():
            numbers.extend(_in_process(kind, given, path, saver))
    micro = {kind: statistics.median(numbers) for kind, numbers in taken.items()}
    ratio = micro["pattern"] / micro["ring"]
    print(f"{path:<6} {saver:<13} {micro['ring']:>8.0f} {micro['pattern']:>12.0f} {ratio:>6.2f}")
    return ratio


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="Cost of a turn next to a hand-written ring.")
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=7, help="runs in each process")
    parser.add_argument("--processes", type=int, default=3, help="processes for each number")
    parser.add_argument("--hold", type=float, help="fail if a ratio is above this")
    parser.add_argument("--child", choices=["ring", "pattern"], help=argparse.SUPPRESS)
    parser.add_argument("--path", default="sync", help=argparse.SUPPRESS)
    parser.add_argument("--saver", default="none", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        use_async, saving = given.path == "async", given.saver != "none"
        numbers = measure(
            given.child, given.turns, given.repeats, use_async=use_async, saving=saving
        )
        print(json.dumps(numbers))
        return
    print(f"{given.turns} turns of 3 function members, us per turn")
    print(f"{'path':<6} {'checkpointer':<13} {'ring':>8} {'round_robin':>12} {'ratio':>6}")
    rows = [_row(given, path, saver) for path in ("sync", "async") for saver in SAVERS]
    if given.hold and max(rows) > given.hold:
        sys.exit(f"a ratio of {max(rows):.2f} is above {given.hold}")


if __name__ == "__main__":
    main()
