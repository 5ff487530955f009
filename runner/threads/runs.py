"""The table of what is kept of each run beside the engine's checkpoints."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from flowcompose.runner.asked import Asked
from flowcompose.runner.threads.file import RunFile
from flowcompose.runner.threads.kept_run import COLUMNS, KeptRun, Target, read_run
from flowcompose.runner.threads.patience import BRIEFLY
from flowcompose.runner.threads.process import Process
from flowcompose.runner.unusable import UnusableError

TABLE = "flowcompose_runs"

_CREATE = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
    thread TEXT PRIMARY KEY,
    asked TEXT NOT NULL,
    targets TEXT NOT NULL,
    process TEXT NOT NULL,
    started REAL NOT NULL,
    updated REAL NOT NULL,
    turns INTEGER NOT NULL DEFAULT 0,
    phase TEXT NOT NULL DEFAULT 'running',
    stop TEXT,
    digest TEXT NOT NULL
)
"""

_BEGIN = f"""
INSERT INTO {TABLE} (thread, asked, targets, process, started, updated, digest)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread) DO UPDATE SET
    asked = excluded.asked, targets = excluded.targets, process = excluded.process,
    started = excluded.started, updated = excluded.updated, digest = excluded.digest,
    turns = 0, phase = 'running', stop = NULL
WHERE updated = ?
"""

_GO_ON = f"""
UPDATE {TABLE} SET process = ?, updated = ?, phase = 'running', stop = NULL
WHERE thread = ? AND updated = ?
"""


class Runs:
    """The table of runs in a file."""

    def __init__(self, file: RunFile) -> None:
        self._file = file

    def begin(
        self,
        thread: str,
        asked: Asked,
        targets: Sequence[Target],
        digest: str,
        known: KeptRun | None = None,
    ) -> bool:
        """Note that this process begins a run.

        Args:
            thread: Where it is kept.
            asked: What to run.
            targets: Its parts.
            digest: Of the files that it is made of.
            known: What the thread held when it was looked at.

        Returns:
            Whether it may: another process may have been faster.
        """
        now = time.time()
        values = (
            thread,
            json.dumps(asked.kept()),
            json.dumps([asdict(each) for each in targets]),
            json.dumps(asdict(Process.this())),
            now,
            now,
            digest,
            known and known.updated,
        )
        self._file.write(_CREATE)
        return self._file.write(_BEGIN, values) == 1

    def go_on(self, known: KeptRun) -> bool:
        """Note that this process goes on with a run, and say whether it may, see `begin`."""
        process = json.dumps(asdict(Process.this()))
        values = (process, time.time(), known.thread, known.updated)
        return self._file.write(_GO_ON, values) == 1

    def took(self, thread: str, turns: int) -> None:
        """Note how far a run is; one that is gone on with comes again to where it was."""
        self._file.write(
            f"UPDATE {TABLE} SET turns = max(turns, ?), updated = ? WHERE thread = ?",
            (turns, time.time(), thread),
            seconds=BRIEFLY,
        )

    def end(self, thread: str, phase: str, stop: Mapping[str, Any] | None) -> None:
        """Note how a run ended, or why it was left."""
        self._file.write(
            f"UPDATE {TABLE} SET phase = ?, stop = ?, updated = ? WHERE thread = ?",
            (phase, stop and json.dumps(stop), time.time(), thread),
            seconds=BRIEFLY,
        )

    def put_back(self, thread: str, known: KeptRun | None) -> None:
        """Let a thread hold again what it held before this process began or went on with it."""
        if known is None:
            self._file.write(f"DELETE FROM {TABLE} WHERE thread = ?", (thread,), seconds=BRIEFLY)
            return
        marks = ", ".join("?" * len(known.row))
        put = f"INSERT OR REPLACE INTO {TABLE} ({COLUMNS}) VALUES ({marks})"
        self._file.write(put, known.row, seconds=BRIEFLY)

    def find(self, thread: str) -> KeptRun | None:
        """Give the run of a thread."""
        return next((each for each in self.all() if each.thread == thread), None)

    def all(self) -> list[KeptRun]:
        """Give all runs, those that began first in front."""
        if TABLE not in self._file.tables():
            return []
        query = f"SELECT {COLUMNS} FROM {TABLE} ORDER BY started"
        try:
            return [read_run(row) for row in self._file.rows(query)]
        except ValueError as error:
            said = f"thread {error} in it was kept by another program or version"
            raise UnusableError(f"--checkpoint {self._file.option}: {said}") from error
