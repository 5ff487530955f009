"""What a file holds: runs of the command line, and threads that programs wrote."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import CheckpointTuple

from flowcompose.core.results import Stop
from flowcompose.core.untyped import mapping_of
from flowcompose.runner.threads.file import RunFile
from flowcompose.runner.threads.kept_run import KeptRun
from flowcompose.runner.threads.runs import TABLE, Runs
from flowcompose.runner.unusable import UnusableError

if TYPE_CHECKING:
    from flowcompose.runner.threads.saver import Saver

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
    """`done`, `error`, `canceled`, `running`, `unfinished`; `unknown` of other programs' ends."""
    turns: int | None
    stop: Stop | None


def list_threads(file: RunFile) -> list[Listed]:
    """Give what there is, what was begun first in front.

    Raises:
        UnusableError: The file is none that keeps runs.
    """
    runs = Runs(file).all()
    others = _of_programs(file, runs)
    found = [*map(_listed, runs), *(_read_from(file, others) if others else ())]
    return sorted(found, key=lambda each: each.started or 0)


def known_threads(file: RunFile) -> list[str]:
    """Name the threads.

    Raises:
        UnusableError: The file is none that keeps runs.
    """
    runs = Runs(file).all()
    return [*_of_programs(file, runs), *(run.thread for run in runs)]


def _of_programs(file: RunFile, runs: Sequence[KeptRun]) -> list[str]:
    """Name the threads that none of the runs wrote."""
    tables = file.tables()
    if not tables & {TABLE, CHECKPOINTS}:
        raise UnusableError(f"{str(file.path)!r} keeps no runs: it has no checkpoints in it")
    if CHECKPOINTS not in tables:
        return []
    query = f"SELECT DISTINCT thread_id FROM {CHECKPOINTS} ORDER BY thread_id"
    ours = {target.thread for run in runs for target in run.targets} | {run.thread for run in runs}
    return [str(name) for (name,) in file.rows(query) if name not in ours]


def _listed(run: KeptRun) -> Listed:
    what = run.asked.label
    return Listed(run.thread, what, run.started, run.updated, run.state, run.turns, run.stop)


def _read_from(file: RunFile, threads: Sequence[str]) -> list[Listed]:
    with file.saver() as saver:
        return [_written_by_program(saver, each) for each in threads]


def _written_by_program(saver: Saver, thread: str) -> Listed:
    """Read what a checkpoint of a pattern shows without the pattern."""
    try:
        last, began = _read(saver, thread)
        values = mapping_of(last.checkpoint["channel_values"]) or {}
        done = values.get("stop") is not None and values.get("usage") is not None
        return Listed(
            thread=thread,
            what="",
            started=_seconds(began.checkpoint["ts"]),
            updated=_seconds(last.checkpoint["ts"]),
            phase="done" if done else "unfinished" if _is_open(last, values) else "unknown",
            turns=values.get("turns"),
            stop=Stop.model_validate(values["stop"]) if done else None,
        )
    except (sqlite3.Error, ValueError, TypeError, KeyError):  # of another version
        return Listed(thread, "", None, None, "unknown", None, None)


def _is_open(last: CheckpointTuple, values: Mapping[str, Any]) -> bool:
    """Say whether something is still to be done: a graph that is not ours may end anyhow."""
    return bool(last.pending_writes) or any(name.startswith(_NEXT) for name in values)


_NEXT = ("__start__", "branch:to:")
"""Channels by which the engine keeps whose turn it is."""


_FIRST = f"""
SELECT min(checkpoint_id) FROM {CHECKPOINTS} WHERE thread_id = ? AND checkpoint_ns = ''
"""


def _read(saver: Saver, thread: str) -> tuple[CheckpointTuple, CheckpointTuple]:
    """Give the last checkpoint of a thread, and the first one."""
    with saver.cursor(transaction=False) as cursor:
        (first,) = cursor.execute(_FIRST, [thread]).fetchone()
    return _checkpoint(saver, thread), _checkpoint(saver, thread, checkpoint_id=first)


def _checkpoint(saver: Saver, thread: str, **which: str) -> CheckpointTuple:
    where = {"thread_id": thread, "checkpoint_ns": "", **which}
    found = saver.get_tuple({"configurable": where})
    if found is None:
        raise KeyError(thread)
    return found


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
