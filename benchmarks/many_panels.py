"""Wall time of many panels at once in one process, next to the ideal.

Each panel has 3 members whose model takes 50 ms; ideal is the time of one panel whose turns
cost nothing but that. Run it with `python benchmarks/many_panels.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import time

from flowcompose import RosterEntry, TurnInput, round_robin
from flowcompose.core.testing import ScriptedModel

LATENCY = 0.05


async def wait(turn: TurnInput) -> str:
    """A member that waits as a model would, and costs nothing else."""
    await asyncio.sleep(LATENCY)
    return "x" * 200


async def measure(panels: int, rounds: int, roster: list[RosterEntry]) -> float:
    """Give the ratio of the wall time to the ideal."""
    pattern = round_robin(
        name="panel",
        roster=roster,
        max_rounds=rounds,
        model=ScriptedModel(lambda messages: "x" * 200, latency=LATENCY),
        synthesizer=False,
    )
    await pattern.arun("warm up")
    start = time.perf_counter()
    await asyncio.gather(*(pattern.arun(f"goal {number}") for number in range(panels)))
    return (time.perf_counter() - start) / (len(roster) * rounds * LATENCY)


async def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="Many panels at once.")
    parser.add_argument("--panels", type=int, nargs="+", default=[1, 50, 100, 200])
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    rosters = {
        "function": [RosterEntry(name=name, block=wait) for name in "abc"],
        "chat model": [RosterEntry(name=name) for name in "abc"],
    }
    print(f"{'members':<12} {'panels':>6} {'wall/ideal':>11}")
    for kind, roster in rosters.items():
        for panels in given.panels:
            print(f"{kind:<12} {panels:>6} {await measure(panels, given.rounds, roster):>11.2f}")


if __name__ == "__main__":
    asyncio.run(main())
