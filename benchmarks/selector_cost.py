"""Microseconds per turn of the other patterns, next to `round_robin`.

All have the same three members, plain functions, and the same number of turns in the same order;
only who decides it differs: a function selector, a loop, edges in a circle. Rounds spoken at once
are there too. Each is measured in processes of its own, all by turns: in one process each would
undo the interpreter's specialisation for the others, which no program that uses one of them ever
pays. The median of all runs counts, and a ratio is that of the medians.

`--hold` looks at the selector: choosing by a function must cost next to nothing.

Run it with `python benchmarks/selector_cost.py`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import warnings
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from timing import in_process, microseconds

from flowcompose import (
    Context,
    Pattern,
    RosterEntry,
    TurnInput,
    graph,
    round_robin,
    selector,
    sequential,
)

NAMES = ("a", "b", "c")
SAVERS = ("none", "in-memory")
TEXT = "x" * 1000
KINDS = ("round_robin", "selector", "sequential", "graph", "at_once")


def say(turn: TurnInput) -> str:
    """The member on the sync path."""
    return TEXT


async def asay(turn: TurnInput) -> str:
    """The member on the async path."""
    return TEXT


def choose(ctx: Context) -> str:
    """The selector: by the transcript's length, so that all have the same order."""
    return NAMES[len(ctx.contributions) % len(NAMES)]


def pattern(kind: str, turns: int, *, use_async: bool, saver: InMemorySaver | None) -> Pattern[Any]:
    """Make a pattern of the kind with three members."""
    roster = [RosterEntry(name=name, block=asay if use_async else say) for name in NAMES]
    given: dict[str, Any] = {"name": "panel", "roster": roster, "checkpointer": saver}
    rounds = turns // len(NAMES)
    if kind == "selector":
        return selector(**given, selector=choose, max_turns=turns)
    if kind == "sequential":
        return sequential(**given, loops=True, max_turns=turns)
    if kind == "graph":
        circle = list(zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that nothing but the cap ends it, as is meant here
            return graph(**given, edges=circle, max_turns=turns)
    speak: Any = "at_once" if kind == "at_once" else "in_turn"
    return round_robin(**given, speak=speak, max_rounds=rounds, synthesizer=False)


def measure(kind: str, turns: int, repeats: int, *, use_async: bool, saving: bool) -> list[float]:
    """Give microseconds per turn of several runs, after one that warms up."""
    made = pattern(kind, turns, use_async=use_async, saver=InMemorySaver() if saving else None)
    # The patterns' own default with a checkpointer is "sync"; all are given the engine's.
    options: Any = {"durability": "async"} if saving else {}

    def config(number: int) -> Any:
        return {"configurable": {"thread_id": str(number)}}

    def run(number: int) -> Any:
        call = made.arun if use_async else made.run
        return call("go", config=config(number), **options)

    return [each / turns for each in microseconds(run, repeats, use_async=use_async)]


def _in_process(kind: str, given: argparse.Namespace, path: str, saver: str) -> list[float]:
    arguments = ["--child", kind, "--path", path, "--saver", saver]
    arguments += ["--turns", str(given.turns), "--repeats", str(given.repeats)]
    return in_process(__file__, arguments)


def _row(given: argparse.Namespace, path: str, saver: str) -> float:
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for process in range(given.processes):
        for kind in KINDS if process % 2 == 0 else reversed(KINDS):
            taken[kind].extend(_in_process(kind, given, path, saver))
    micro = {kind: statistics.median(numbers) for kind, numbers in taken.items()}
    ratios = {kind: each / micro[KINDS[0]] for kind, each in micro.items()}
    cells = [f"{micro[kind]:>7.0f} ({ratios[kind]:.2f})" for kind in KINDS]
    print(f"{path:<6} {saver:<12} {' '.join(f'{cell:>14}' for cell in cells)}", flush=True)
    return ratios["selector"]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="Cost of a turn next to one of round_robin.")
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=7, help="runs in each process")
    parser.add_argument("--processes", type=int, default=4, help="processes for each number")
    parser.add_argument("--hold", type=float, help="fail if a ratio of the selector is above this")
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
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
    print(f"{given.turns} turns of 3 function members, us per turn (ratio to round_robin)")
    print(f"{'path':<6} {'checkpointer':<12} {' '.join(f'{kind:>14}' for kind in KINDS)}")
    rows = [_row(given, path, saver) for path in ("sync", "async") for saver in SAVERS]
    if given.hold and max(rows) > given.hold:
        sys.exit(f"a ratio of {max(rows):.2f} is above {given.hold}")


if __name__ == "__main__":
    main()
