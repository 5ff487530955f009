"""The flow that `test_flow_crash.py` kills: run as a script, in a process of its own.

    python crash_flow.py DATABASE SIDE_EFFECTS run|resume|arun|aresume [KILL_AT]

Every step and every member notes itself in the file SIDE_EFFECTS once it is done, and kills its
process before that, without any warning, where KILL_AT says so. `saveN` kills it while it saves
step N of the outermost flow.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import BaseModel

from flowcompose import Flow, Pattern, RosterEntry, TurnInput, round_robin


class Outline(BaseModel):
    """What goes from step to step, and must come back as what it was."""

    text: str
    due: date


@dataclass
class Draft:
    """The same, as a dataclass."""

    outline: Outline
    text: str


class Effects:
    """One line per finished call."""

    def __init__(self, path: Path, kill_at: str) -> None:
        self.path = path
        self.kill_at = kill_at

    def note(self, label: str, *, crowded: bool = False) -> None:
        """Note a call, or die in it; among others, only once these had time to end."""
        if label == self.kill_at:
            if crowded:
                time.sleep(1)
            os.kill(os.getpid(), signal.SIGKILL)
        with self.path.open("a") as file:
            file.write(f"{label}\n")


class Saver(SqliteSaver):
    """Dies before it has stored the checkpoint of one step."""

    kill_at = ""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        outermost = not config["configurable"].get("checkpoint_ns")
        if outermost and f"save{metadata.get('step')}" == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().put(config, checkpoint, metadata, new_versions)


def panel(name: str, effects: Effects, rounds: int = 1, *, crowded: bool = False) -> Pattern[Any]:
    """Two members that tell the goal which they saw."""

    def member(turn: TurnInput) -> str:
        goal = turn.goal if crowded else ""
        effects.note(f"{name}{goal}-{turn.agent_name}{turn.round}", crowded=crowded)
        return f"{turn.agent_name}{turn.round}"

    def close(given: Any) -> str:
        return "".join(each.text for each in given.contributions)

    roster = [RosterEntry(name=each, block=member) for each in "ab"]
    return round_robin(
        name=name, roster=roster, max_rounds=rounds, synthesizer=close, accessor_key=name
    )


def flow(effects: Effects) -> Flow[Any]:
    """Steps before, between and after patterns: in a row, nested, side by side, per item."""

    def noted(label: str, give: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def step(value: Any) -> Any:
            effects.note(label)
            return give(value)

        return step

    inner = (
        Flow("inner")
        .step(noted("note", lambda draft: draft.outline), name="note")
        .step(panel("deep", effects), input=lambda outline: f"deep {outline.text}")
    )
    return (
        Flow("f")
        .step(
            noted("outline", lambda text: Outline(text=text, due=date(2026, 1, 2))), name="outline"
        )
        .step(
            noted("draft", lambda outline: Draft(outline=outline, text=outline.text)), name="draft"
        )
        .tap(noted("log", lambda draft: None), name="log")
        .tap(panel("first", effects, 2), input=lambda draft: draft.outline.text, name="first")
        .step(inner)
        .parallel(
            {
                "left": panel("left", effects, crowded=True),
                "right": panel("right", effects, crowded=True),
            },
            input=lambda text: f"-{text[0]}",
            name="both",
        )
        .for_each(
            panel("item", effects, crowded=True),
            input=lambda both: ["-x", "-y"],
            max_concurrency=2,
            name="all",
        )
        .step(noted("publish", lambda texts: texts), name="publish")
    )


@asynccontextmanager
async def async_app(database: str, effects: Effects) -> AsyncGenerator[Pattern[Any]]:
    """The flow on the async path, kept in the same file."""
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        yield flow(effects).compile(checkpointer=saver)


async def on_the_async_path(database: str, effects: Effects, what: str) -> Any:
    """Run or resume."""
    async with async_app(database, effects) as app:
        return await (app.arun("go", thread_id="t") if what == "arun" else app.aresume("t"))


def main() -> None:
    """Run or resume, and print the output."""
    database, path, what, *rest = sys.argv[1:]
    kill_at = rest[0] if rest else ""
    effects = Effects(Path(path), kill_at)
    if what in ("arun", "aresume"):
        result = asyncio.run(on_the_async_path(database, effects, what))
    else:
        saver = Saver(sqlite3.connect(database, check_same_thread=False))
        saver.kill_at = kill_at
        app = flow(effects).compile(checkpointer=saver)
        result = app.run("go", thread_id="t") if what == "run" else app.resume("t")
    print(result.output, result.stop.reason)


if __name__ == "__main__":
    main()
