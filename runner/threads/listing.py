"""What a file holds: runs of the command line, and threads that programs wrote."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flowcompose.core.results import Stop
from flowcompose.core.untyped import mapping_of
from flowcompose.runner.threads.file import RunFile
from flowcompose.runner.threads.runs import TABLE, KeptRun, Runs
from flowcompose.runner.unusable import UnusableError

CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class Listed:
    """One line of the list."""

    thread: str
    what: str
    """What was run; empty where only a program knows."""
    started: float | None
    updated: float | None
    phase: str
    """`done`, `error`, `canceled`, `running`, `unfinished`."""
    turns: int | None
    stop: Stop | None


def list_threads(file: RunFile) -> list[Listed]:
    """Give what there is, what was begun first in front.

    Raises:
        UnusableError: The file is none that keeps runs.
    """
    names = known_threads(file)
    runs = Runs(file).all()
    ours = {target.thread for run in runs for target in run.targets} | {run.thread for run in runs}
    others = [_written_by_program(file, name) for name in names if name not in ours]
    return sorted([*map(_listed, runs), *others], key=lambda each: each.started or 0)


def known_threads(file: RunFile) -> list[str]:
    """Name the threads.

    Raises:
        UnusableError: The file is none that keeps runs.
    """
    tables = file.tables()
    if not tables & {TABLE, CHECKPOINTS}:
        raise UnusableError(f"{str(file.path)!r} keeps no runs: it has no checkpoints in it")
    if CHECKPOINTS not in tables:
        return []
    query = f"SELECT DISTINCT thread_id FROM {CHECKPOINTS} ORDER BY thread_id"
    engines = [str(name) for (name,) in file.rows(query)]
    runs = Runs(file).all()
    parts = {target.thread for run in runs for target in run.targets}
    return [*(each for each in engines if each not in parts), *(run.thread for run in runs)]


def _listed(run: KeptRun) -> Listed:
    what = run.asked.label
    return Listed(run.thread, what, run.started, run.updated, run.state, run.turns, run.stop)


def _written_by_program(file: RunFile, thread: str) -> Listed:
    """Read what a checkpoint of a pattern shows without the pattern."""
    try:
        values, began, ended = _read(file, thread)
    except (sqlite3.Error, ValueError, TypeError, KeyError):  # of another version
        return Listed(thread, "", None, None, "unknown", None, None)
    stop = values.get("stop")
    done = stop is not None and values.get("usage") is not None
    return Listed(
        thread=thread,
        what="",
        started=began,
        updated=ended,
        phase="done" if done else "unfinished",
        turns=values.get("turns"),
        stop=Stop.model_validate(stop) if done else None,
    )


def _read(file: RunFile, thread: str) -> tuple[Mapping[str, Any], float, float]:
    with file.saver() as saver:
        found = list(saver.list({"configurable": {"thread_id": thread, "checkpoint_ns": ""}}))
    last, first = found[0].checkpoint, found[-1].checkpoint
    values = mapping_of(last["channel_values"]) or {}
    return values, _seconds(first["ts"]), _seconds(last["ts"])


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
