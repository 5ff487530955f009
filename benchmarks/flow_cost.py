"""Microseconds per step of a flow, next to a StateGraph that is written by hand.

Both call the same plain functions the same number of times; the graph is what an expert would
write: a TypedDict with one key, one node per function, static edges, and conditional edges for a
branch or a loop. Each is measured in processes of its own, the two by turns: in one process each
would undo the interpreter's specialisation for the other, which no program that uses one of them
ever pays. The median of all runs counts, and the ratio is that of the medians.

A flow pays for what the graph does not have: a branch and a loop are nodes of their own, so that
they can fail, be rescued and be resumed. `--hold` looks at the steps only.

Run it with `python benchmarks/flow_cost.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, NotRequired, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.constants import END, START
from langgraph.graph import StateGraph

from flowcompose import Flow, RosterEntry, round_robin

SAVERS = ("none", "in-memory")
SHAPES = ("steps", "loop", "branch", "panel")
PANELS = 10
"""Pattern steps in a row; each is a panel of three function members that speak once."""


def add(value: Any) -> Any:
    """The function of a step on the sync path."""
    return value + 1


async def aadd(value: Any) -> Any:
    """The function of a step on the async path."""
    return value + 1


def is_even(value: Any) -> bool:
    """The condition of a branch."""
    return bool(value % 2 == 0)


def is_odd(value: Any) -> bool:
    """The other one."""
    return True


def goal(value: Any) -> str:
    """The input of a panel."""
    return "go"


class State(TypedDict):
    """The graph's state."""

    value: int
    goal: NotRequired[str]
    output: NotRequired[Any]


def node(state: State) -> dict[str, Any]:
    """The function as a node."""
    return {"value": add(state["value"])}


async def anode(state: State) -> dict[str, Any]:
    """The function as a node on the async path."""
    return {"value": await aadd(state["value"])}


def panel(*, use_async: bool) -> Any:
    """A pattern of three members."""

    def say(turn: Any) -> str:
        return "x"

    async def asay(turn: Any) -> str:
        return "x"

    roster = [RosterEntry(name=name, block=asay if use_async else say) for name in "abc"]
    return round_robin(name="panel", roster=roster, max_rounds=1, synthesizer=False)


def graph(shape: str, count: int, *, use_async: bool, saver: InMemorySaver | None) -> Any:
    """Write by hand what the flow does."""

    def again(state: State) -> bool:
        return state["value"] < count

    def even(state: State) -> bool:
        return is_even(state["value"])

    builder: Any = StateGraph(State)
    work = anode if use_async else node
    if shape == "loop":
        builder.add_node("work", work)
        builder.add_edge(START, "work")
        ends = {True: "work", False: END}
        builder.add_conditional_edges("work", again, ends)
    elif shape == "branch":
        before = [START]
        for i in range(count):
            both = [f"even-{i}", f"odd-{i}"]
            for name in both:
                builder.add_node(name, work)
            ends = {True: both[0], False: both[1]}
            for name in before:
                builder.add_conditional_edges(name, even, ends)
            before = both
    else:
        names = [f"step-{i}" for i in range(count)]
        for name in names:
            builder.add_node(name, panel(use_async=use_async) if shape == "panel" else work)
        for start, end in zip([START, *names], names, strict=False):
            builder.add_edge(start, end)
    return builder.compile(checkpointer=saver)


def flow(shape: str, count: int, *, use_async: bool, saver: InMemorySaver | None) -> Any:
    """The same by the library."""

    def again(value: Any) -> bool:
        return bool(value < count)

    made: Flow[Any] = Flow("flow")
    work = aadd if use_async else add
    if shape == "loop":
        made = made.step(work, name="work")
        made = made.loop_back("work", when=again, max_iterations=count)
    for i in range(0 if shape == "loop" else count):
        if shape == "branch":
            made = made.branch({f"even-{i}": (is_even, work), f"odd-{i}": (is_odd, work)})
        elif shape == "panel":
            made = made.step(panel(use_async=use_async), name=f"step-{i}", input=goal)
        else:
            made = made.step(work, name=f"step-{i}")
    return made.compile(checkpointer=saver)


def measure(
    kind: str, shape: str, count: int, repeats: int, *, use_async: bool, saving: bool
) -> list[float]:
    """Give microseconds per step of several runs, after one that warms up."""
    saver = InMemorySaver() if saving else None
    made = (flow if kind == "flow" else graph)(shape, count, use_async=use_async, saver=saver)
    # The flow's own default with a checkpointer is "sync"; both are given the engine's.
    options: Any = {"durability": "async"} if saving else {}
    start: Any = 0 if kind == "flow" else {"value": 0, "goal": "go"}
    run = made.run if kind == "flow" else made.invoke
    arun = made.arun if kind == "flow" else made.ainvoke

    def config(number: int) -> Any:
        return {"recursion_limit": 3 * count + 50, "configurable": {"thread_id": str(number)}}

    def once(number: int) -> Any:
        return (arun if use_async else run)(start, config=config(number), **options)

    async def arepeat() -> list[float]:
        return [await _atimed(once, number) for number in range(repeats + 1)]

    def repeat() -> list[float]:
        return [_timed(once, number) for number in range(repeats + 1)]

    taken = asyncio.run(arepeat()) if use_async else repeat()
    return [seconds / count * 1e6 for seconds in taken[1:]]


def _timed(run: Callable[[int], object], number: int) -> float:
    gc.collect()
    start = time.perf_counter()
    run(number)
    return time.perf_counter() - start


async def _atimed(run: Callable[[int], Awaitable[object]], number: int) -> float:
    gc.collect()
    start = time.perf_counter()
    await run(number)
    return time.perf_counter() - start


def _in_process(
    kind: str, shape: str, given: argparse.Namespace, path: str, saver: str
) -> list[float]:
    command = [sys.executable, __file__, "--child", kind, "--shape", shape]
    command += ["--path", path, "--saver", saver]
    command += ["--steps", str(given.steps), "--repeats", str(given.repeats)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    numbers: list[float] = json.loads(done.stdout)
    return numbers


def _row(shape: str, given: argparse.Namespace, path: str, saver: str) -> float:
    taken: dict[str, list[float]] = {"graph": [], "flow": []}
    for process in range(given.processes):
        kinds = list(taken) if process % 2 == 0 else list(reversed(taken))
        for kind in kinds:
            taken[kind].extend(_in_process(kind, shape, given, path, saver))
    micro = {kind: statistics.median(numbers) for kind, numbers in taken.items()}
    ratio = micro["flow"] / micro["graph"]
    print(
        f"{shape:<7} {path:<6} {saver:<13} {micro['graph']:>8.0f} {micro['flow']:>8.0f} "
        f"{ratio:>6.2f}",
        flush=True,
    )
    return ratio


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="Cost of a step next to a hand-written graph.")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=15, help="runs in each process")
    parser.add_argument("--processes", type=int, default=4, help="processes for each number")
    parser.add_argument("--hold", type=float, help="fail if a ratio of the steps is above this")
    parser.add_argument("--only", choices=SHAPES, help="measure this shape alone")
    parser.add_argument("--child", choices=["graph", "flow"], help=argparse.SUPPRESS)
    parser.add_argument("--shape", default="steps", help=argparse.SUPPRESS)
    parser.add_argument("--path", default="sync", help=argparse.SUPPRESS)
    parser.add_argument("--saver", default="none", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        use_async, saving = given.path == "async", given.saver != "none"
        count = PANELS if given.shape == "panel" else given.steps
        numbers = measure(
            given.child, given.shape, count, given.repeats, use_async=use_async, saving=saving
        )
        print(json.dumps(numbers))
        return
    print(f"{given.steps} steps, loop iterations or branches, {PANELS} panels; us for each")
    print(f"{'what':<7} {'path':<6} {'checkpointer':<13} {'graph':>8} {'flow':>8} {'ratio':>6}")
    held: list[float] = []
    for shape in [given.only] if given.only else SHAPES:
        rows = [_row(shape, given, path, saver) for path in ("sync", "async") for saver in SAVERS]
        held += rows if shape == "steps" else []
    if given.hold and held and max(held) > given.hold:
        sys.exit(f"a ratio of {max(held):.2f} is above {given.hold}")


if __name__ == "__main__":
    main()
