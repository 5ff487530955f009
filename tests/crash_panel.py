"""The panel that `test_crash.py` kills: run as a script, in a process of its own.

    python crash_panel.py DATABASE SIDE_EFFECTS run|resume [KILL_AT]

Every step notes itself in the file SIDE_EFFECTS once it is done, and kills its process before
that, without any warning, where KILL_AT says so. `saveN` kills it while it saves step N: the
step's writes are stored by then, its checkpoint is not.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from flowcompose import Pattern, RosterEntry, TurnInput, round_robin


class Step:
    """A member, referee or synthesizer that leaves one line per finished call."""

    def __init__(self, label: str, effects: Path, kill_at: str) -> None:
        self.label = label
        self.effects = effects
        self.kill_at = kill_at

    def __call__(self, given: Any) -> Any:
        number = given.round if isinstance(given, TurnInput) else given.rounds
        done = f"{self.label}{number}"
        if done == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        with self.effects.open("a") as file:
            file.write(f"{done}\n")
        return {"critique": done} if self.label == "referee" else done


class Saver(SqliteSaver):
    """Dies before it has stored the checkpoint of one step."""

    kill_at = ""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if f"save{metadata.get('step')}" == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().put(config, checkpoint, metadata, new_versions)


def panel(database: str, effects: Path, kill_at: str) -> Pattern[Any]:
    """Three members, two rounds, referee, synthesizer, kept in SQLite."""
    saver = Saver(sqlite3.connect(database, check_same_thread=False))
    saver.kill_at = kill_at
    return round_robin(
        name="panel",
        roster=[RosterEntry(name=n, block=Step(n, effects, kill_at)) for n in ("a", "b", "c")],
        max_rounds=2,
        referee=Step("referee", effects, kill_at),
        synthesizer=Step("synthesizer", effects, kill_at),
        checkpointer=saver,
    )


def main() -> None:
    """Run or resume, and print the transcript."""
    database, effects, what, *rest = sys.argv[1:]
    pattern = panel(database, Path(effects), rest[0] if rest else "")
    result = pattern.run("go", thread_id="t") if what == "run" else pattern.resume("t")
    critiques = [each.critique for each in result.referee_critiques]
    print([each.text for each in result.contributions], critiques, result.output)


if __name__ == "__main__":
    main()
