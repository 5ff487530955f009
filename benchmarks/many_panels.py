"""Wall time of many panels at once in one process, next to the ideal.

Each panel has 3 members whose model takes 50 ms; ideal is the time of one panel whose turns
cost nothing but that. Run it with `python benchmarks/many_panels.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import time

from flowcompose import round_robin
from flowcompose.core.testing import ScriptedModel

LATENCY = 0.05


async def main() -> None:
    """Run the panels and print the ratio."""
    parser = argparse.ArgumentParser(description="Many panels at once.")
    parser.add_argument("--panels", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    pattern = round_robin(
        name="panel",
        roster=[{"name": name} for name in "abc"],
        max_rounds=given.rounds,
        model=ScriptedModel(lambda messages: "x" * 200, latency=LATENCY),
        synthesizer=False,
    )
    await pattern.arun("warm up")
    start = time.perf_counter()
    await asyncio.gather(*(pattern.arun(f"goal {number}") for number in range(given.panels)))
    wall, ideal = time.perf_counter() - start, 3 * given.rounds * LATENCY
    print(f"{given.panels} panels of {3 * given.rounds} turns: {wall:.2f} s")
    print(f"ideal {ideal:.2f} s, ratio {wall / ideal:.2f}")


if __name__ == "__main__":
    asyncio.run(main())
