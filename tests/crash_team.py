"""Teams in teams, for `test_nesting.py`, and the ones that tests kill, in a process of their own.

    python crash_team.py DATABASE SIDE_EFFECTS run|arun|resume|aresume WHAT [KILL_AT]

WHAT is `at_once` or `graph`, in which others speak beside b; `selector`, whose selector is a step
of its own; or two kinds such as `graph/flow`: a team of the second kind inside one of the first.
Who is asked notes itself in the file SIDE_EFFECTS once it is done, and kills its process before
that where KILL_AT says so; b in the first two once the turns beside it are stored. `saveN` kills
the process while it saves step N: what the step wrote is stored by then, its checkpoint is not.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from flowcompose import (
    Context,
    Flow,
    Pattern,
    Result,
    RosterEntry,
    graph,
    handler,
    round_robin,
    selector,
    sequential,
)

PATTERNS = ("round_robin", "sequential", "selector", "graph")
KINDS = (*PATTERNS, "flow")


def says(name: str) -> Callable[[Any, Context], str]:
    """A member, or the step of a flow, that says its name and the goal."""
    return lambda given, ctx: f"{name} on {ctx.goal}"


def built(kind: str, name: str, members: Mapping[str, Any], **options: Any) -> Any:
    """A team of any kind in which each member speaks once, in this order."""
    if kind == "flow":
        flow = Flow(name)
        for each, block in members.items():
            inside = isinstance(block, Pattern)
            given = (lambda value, ctx: ctx.goal) if inside else None
            flow = flow.step(block, name=each, input=given)
        return flow.compile(**options) if options else flow
    roster = [
        block if isinstance(block, RosterEntry) else RosterEntry(each, block=block)
        for each, block in members.items()
    ]
    return _MAKERS[kind](name, roster, options)


def _round_robin(name: str, roster: Sequence[RosterEntry], options: dict[str, Any]) -> Any:
    given: dict[str, Any] = {
        "max_rounds": 1,
        "synthesizer": lambda given: given.contributions[-1].text,
    }
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    return build(name=name, roster=roster, **{**given, **options})


def _sequential(name: str, roster: Sequence[RosterEntry], options: dict[str, Any]) -> Any:
    return sequential(name=name, roster=roster, **options)


def _selector(name: str, roster: Sequence[RosterEntry], options: dict[str, Any]) -> Any:
    def first_unheard(ctx: Context) -> str:
        heard = {each.path[0] if each.path else each.agent_name for each in ctx.contributions}
        return next(entry.name for entry in roster if entry.name not in heard)

    given: dict[str, Any] = {"selector": first_unheard, "max_turns": len(roster)}
    build: Callable[..., Pattern[Any]] = selector
    return build(name=name, roster=roster, **{**given, **options})


def _graph(name: str, roster: Sequence[RosterEntry], options: dict[str, Any]) -> Any:
    names = [entry.name for entry in roster]
    edges = list(pairwise(names))
    build: Callable[..., Pattern[Any]] = graph
    return build(name=name, roster=roster, **{"edges": edges, **options})


_MAKERS = {
    "round_robin": _round_robin,
    "sequential": _sequential,
    "selector": _selector,
    "graph": _graph,
}


class Saver(SqliteSaver):
    """Tells when all turns that were taken beside b are stored, and may die before a checkpoint."""

    kill_at = ""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if f"save{metadata.get('step')}" == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, task_path)
        note_stored(writes)


class AsyncSaver(AsyncSqliteSaver):
    """The same on the async path."""

    async def aput_writes(
        self, config: Any, writes: Any, task_id: str, task_path: str = ""
    ) -> None:
        await super().aput_writes(config, writes, task_id, task_path)
        note_stored(writes)


awaited: set[str] = set()
stored = Event()


def note_stored(writes: Any) -> None:
    """Strike off what these writes hold."""
    awaited.difference_update({text for text in awaited if text in repr(writes)})
    if not awaited:
        stored.set()


class Step:
    """A member that leaves one line per finished turn."""

    def __init__(self, label: str, effects: Path, kill_at: str) -> None:
        self.label = label
        self.effects = effects
        self.kill_at = kill_at

    def __call__(self, given: Any) -> str:
        if self.label == self.kill_at:
            stored.wait(60)
            os.kill(os.getpid(), signal.SIGKILL)
        self.note(self.label)
        return f"said by {self.label}"

    def note(self, label: str) -> None:
        with self.effects.open("a") as file:
            file.write(f"{label}\n")


class Chooser(Step):
    """A selector that goes through the members, and notes each choice."""

    def __call__(self, turn: Any) -> str:
        name = "abc"[len(turn.contributions)]
        if self.kill_at == f"to-{name}":
            os.kill(os.getpid(), signal.SIGKILL)
        self.note(f"to-{name}")
        return name


def team(what: str, effects: Path, kill_at: str, saver: Any) -> Any:
    """The team that is to be killed, or to go on."""

    def steps(*labels: str) -> dict[str, Any]:
        return {label: Step(label, effects, kill_at) for label in labels}

    if what == "at_once":
        awaited.update({"said by a", "said by c", "said by d"})
        options: dict[str, Any] = {"speak": "at_once", "checkpointer": saver}
        return built("round_robin", "panel", steps("a", "b", "c", "d"), **options)
    if what == "graph":
        awaited.update({"said by a", "said by c"})
        edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
        members = steps("a", "b", "c", "d")
        return built("graph", "panel", members, edges=edges, checkpointer=saver)
    stored.set()
    if what == "selector":
        chooser = handler(Chooser("", effects, kill_at))
        options = {"selector": chooser, "checkpointer": saver}
        return built("selector", "team", steps("a", "b", "c"), **options)
    outer, inner = what.split("/")
    team = built(inner, "team", steps("x", "y"))
    members = {**steps("first"), "team": team, **steps("last")}
    return built(outer, "outer", members, checkpointer=saver)


async def on_the_async_path(
    database: str, how: str, what: str, effects: Path, kill_at: str
) -> Result[Any]:
    """Run or resume."""
    async with AsyncSaver.from_conn_string(database) as saver:
        pattern: Pattern[Any] = team(what, effects, kill_at, saver)
        return await (pattern.arun("go", thread_id="t") if how == "arun" else pattern.aresume("t"))


def main() -> None:
    """Run or resume, and print the transcript, or of a flow the output."""
    database, effects, how, what, *rest = sys.argv[1:]
    given = what, Path(effects), rest[0] if rest else ""
    if how in ("arun", "aresume"):
        result = asyncio.run(on_the_async_path(database, how, *given))
    else:
        saver = Saver(sqlite3.connect(database, check_same_thread=False))
        saver.kill_at = given[-1]
        pattern = team(*given, saver)
        result = pattern.run("go", thread_id="t") if how == "run" else pattern.resume("t")
    print(", ".join(each.text for each in result.contributions) or result.output)


if __name__ == "__main__":
    main()
