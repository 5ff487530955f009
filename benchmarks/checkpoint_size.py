"""Bytes that a run leaves in a checkpointer, per turn, for contributions of 1 kB.

Linear means that the last column does not grow with the turns.
Run it with `python benchmarks/checkpoint_size.py`.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from pathlib import Path

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from flowcompose import RosterEntry, TurnInput, round_robin

TEXT = "x" * 1000


def say(turn: TurnInput) -> str:
    """One contribution."""
    return TEXT


def run(turns: int, saver: BaseCheckpointSaver[str] | InMemorySaver) -> float:
    """Run so many turns; give the seconds that reading the thread back takes."""
    pattern = round_robin(
        name="panel",
        roster=[RosterEntry(name=name, block=say) for name in "abc"],
        max_rounds=turns // 3,
        synthesizer=False,
        checkpointer=saver,
    )
    pattern.run("go", thread_id="t")
    start = time.perf_counter()
    assert pattern.resume("t").turns == turns
    return time.perf_counter() - start


def in_memory(turns: int) -> tuple[int, float]:
    """Count what the in-memory checkpointer holds: blobs, checkpoints and writes."""
    saver = InMemorySaver()
    seconds = run(turns, saver)
    size = sum(len(blob) for _, blob in saver.blobs.values())
    for checkpoints in saver.storage.values():
        for by_id in checkpoints.values():
            size += sum(len(c[1]) + len(m[1]) for c, m, _ in by_id.values())
    for writes in saver.writes.values():
        size += sum(len(written[2][1]) for written in writes.values())
    return size, seconds


def in_sqlite(turns: int) -> tuple[int, float]:
    """Measure the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        connection = sqlite3.connect(path, check_same_thread=False)
        seconds = run(turns, SqliteSaver(connection))
        connection.close()
        return path.stat().st_size, seconds


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="Bytes per turn in a checkpointer.")
    parser.add_argument("--turns", type=int, nargs="+", default=[30, 300, 1500, 3000])
    print(f"{'saver':<10} {'turns':>6} {'kB':>9} {'kB/turn':>8} {'read back':>10}")
    for name, measure in (("in-memory", in_memory), ("SQLite", in_sqlite)):
        for turns in parser.parse_args().turns:
            size, seconds = measure(turns)
            per_turn = size / turns / 1000
            read = f"{seconds * 1000:.0f} ms"
            print(f"{name:<10} {turns:>6} {size / 1000:>9.0f} {per_turn:>8.2f} {read:>10}")


if __name__ == "__main__":
    main()
