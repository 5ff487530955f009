"""A run as the file has it, to list it and to go on with it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from flowcompose.core.results import Stop
from flowcompose.runner.asked import Asked
from flowcompose.runner.threads.process import Process

COLUMNS = "thread, asked, targets, process, started, updated, turns, phase, stop, digest"


@dataclass(frozen=True)
class Target:
    """What one part of a run works with, to see later whether it is still the same."""

    thread: str
    """The engine's thread."""
    name: str
    nodes: tuple[str, ...]
    """The nodes of its graph: its members, or its steps."""
    after: str | None = None
    """The checkpoint at which the thread stood before the run."""


@dataclass(frozen=True)
class KeptRun:
    """A run as the file has it."""

    thread: str
    asked: Asked
    targets: tuple[Target, ...]
    process: Process
    started: float
    updated: float
    turns: int
    phase: str
    """`running`, `done`, `error` or `canceled`."""
    stop: Stop | None
    digest: str
    """Of the files that it was made of."""
    row: tuple[Any, ...] = field(default=(), repr=False)
    """The same as it stands in the file."""

    @property
    def state(self) -> str:
        """The phase, or `unfinished` where the process that ran it is gone."""
        gone = self.phase == "running" and not self.process.is_alive()
        return "unfinished" if gone else self.phase


def read_run(row: tuple[Any, ...]) -> KeptRun:
    """Read what `COLUMNS` hold.

    Raises:
        ValueError: Another program or version wrote it.
    """
    try:
        return _read(row)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(row[0]) from error


def _read(row: tuple[Any, ...]) -> KeptRun:
    thread, asked, targets, process, started, updated, turns, phase, stop, digest = row
    return KeptRun(
        thread=thread,
        asked=Asked.read(json.loads(asked)),
        targets=tuple(map(_target, json.loads(targets))),
        process=Process(**json.loads(process)),
        started=float(started),
        updated=float(updated),
        turns=int(turns),
        phase=phase,
        stop=None if stop is None else Stop.model_validate_json(stop),
        digest=digest,
        row=row,
    )


def _target(kept: dict[str, Any]) -> Target:
    return Target(kept["thread"], kept["name"], tuple(kept["nodes"]), kept["after"])
