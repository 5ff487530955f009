"""The command `flowcompose threads`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import typer

from flowcompose.runner.commands.concluding import conclude
from flowcompose.runner.commands.options import Checkpoint, Json
from flowcompose.runner.render.words import clean
from flowcompose.runner.runs.telling import Told, stop_json
from flowcompose.runner.show import say
from flowcompose.runner.threads.file import RunFile
from flowcompose.runner.threads.listing import Listed, list_threads

HELP = """List the runs that a file keeps: when, how far, and why they stopped.

\b
Examples:
  flowcompose threads --checkpoint sqlite:runs.db
  flowcompose threads --checkpoint sqlite:runs.db --json

Those that are unfinished, canceled or in error can be gone on with: flowcompose resume.
"""


def threads(checkpoint: Checkpoint, json: Json = False) -> None:
    """List what a file keeps."""

    def work() -> Told:
        found = list_threads(RunFile.named(checkpoint, must_exist=True))
        if not json:
            say("\n".join(_lines(found)))
        return Told(0, {"threads": [_as_json(each) for each in found]})

    raise typer.Exit(conclude(work, wants_json=json))


def _as_json(listed: Listed) -> dict[str, Any]:
    return {
        "thread": listed.thread,
        "what": listed.what or None,
        "started": _moment(listed.started),
        "updated": _moment(listed.updated),
        "phase": listed.phase,
        "turns": listed.turns,
        "stop": stop_json(listed.stop),
    }


def _moment(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


_HEAD = ("THREAD", "STARTED", "UPDATED", "PHASE", "TURNS", "STOP", "WHAT")


def _lines(found: Sequence[Listed]) -> list[str]:
    """Write a table whose columns are as wide as they must be."""
    if not found:
        return ["no runs"]
    rows = [list(_HEAD), *map(_row, found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _row(listed: Listed) -> list[str]:
    turns = "-" if listed.turns is None else str(listed.turns)
    stop = listed.stop.reason if listed.stop else "-"
    when = (_local(listed.started), _local(listed.updated))
    row = (listed.thread, *when, listed.phase, turns, stop, listed.what or "-")
    return [clean(cell).replace("\n", " ") for cell in row]


def _local(seconds: float | None) -> str:
    return "-" if seconds is None else f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}"
