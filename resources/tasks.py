"""Audit records: one task per turn, the failed turns included."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, Literal, NotRequired

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from flowcompose.resources.contributions import Entry
from flowcompose.resources.usage import Tokens

TaskStatus = Literal["completed", "errored"]


class Failure(TypedDict):
    """A turn that failed, as graph state holds it."""

    round: int
    turn: int
    agent_name: str
    error: str
    started_at: float
    completed_at: float
    usage: NotRequired[dict[str, int]]
    next: NotRequired[str]
    """How the next speaker was chosen."""


class Task(BaseModel):
    """The audit record of one turn: who had to speak, when, at what cost, with what outcome."""

    model_config = ConfigDict(frozen=True)

    collection_id: str
    """Which run's records these are: the pattern's name, unless `collection_id=` says else."""
    goal: str
    """What was to be done, as `member (round n)`."""
    assignee: str
    """The member."""
    status: TaskStatus
    """Whether the turn ended in a contribution or in an error."""
    round: int
    """Counted from 1."""
    turn: int
    """Counted from 1."""
    started_at: datetime
    """When the turn began, in UTC."""
    completed_at: datetime
    """When it ended, in UTC."""
    output: str | None = None
    """The contribution's text, None after an error."""
    usage: Tokens = Tokens()
    """What the turn cost."""
    error: str | None = None
    """Type and text of the error, None after a contribution."""


def tasks_of(
    collection_id: str, entries: Sequence[Entry], failures: Sequence[Failure]
) -> list[dict[str, Any]]:
    """Give the audit records of a run in their state form, in order of turns."""
    began: dict[int, float] = {}  # a turn may add several
    for entry in entries:
        began.setdefault(entry["turn"], entry["started_at"])
    last = {entry["turn"]: entry for entry in entries}
    tasks = [
        _task(collection_id, entry, "completed", output=entry["text"]) for entry in last.values()
    ]
    for task in tasks:
        task["started_at"] = began[task["turn"]]
    tasks += [_task(collection_id, failed, "errored", error=failed["error"]) for failed in failures]
    return sorted(tasks, key=itemgetter("turn"))


def _task(
    collection_id: str,
    record: Entry | Failure,
    status: TaskStatus,
    *,
    output: str | None = None,
    error: str | None = None,
) -> dict[str, Any]:
    """The fields of a `Task`; plain, because a run of 3000 turns makes as many at its end."""
    path: Any = record.get("path")
    assignee: str = path[0] if path else record["agent_name"]
    return {
        "collection_id": collection_id,
        "goal": f"{assignee} (round {record['round']})",
        "assignee": assignee,
        "status": status,
        "round": record["round"],
        "turn": record["turn"],
        "started_at": record["started_at"],
        "completed_at": record["completed_at"],
        "output": output,
        "usage": record.get("usage", {}),
        "error": error,
    }
