"""Timing runs: what the benchmarks of turns have in common."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any


def microseconds(run: Callable[[int], Any], repeats: int, *, use_async: bool) -> list[float]:
    """Time several runs, after one that warms up.

    Args:
        run: Runs once, given the number of the run; awaitable if `use_async`.
        repeats: How many runs count.
        use_async: Whether to await them, on one event loop.
    """

    async def arepeat() -> list[float]:
        return [await _atimed(run, number) for number in range(repeats + 1)]

    def repeat() -> list[float]:
        return [_timed(run, number) for number in range(repeats + 1)]

    taken = asyncio.run(arepeat()) if use_async else repeat()
    return [seconds * 1e6 for seconds in taken[1:]]


def in_process(script: str, arguments: list[str]) -> list[float]:
    """Give the numbers that a benchmark prints as JSON, run in a process of its own."""
    command = [sys.executable, script, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    numbers: list[float] = json.loads(done.stdout)
    return numbers


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
