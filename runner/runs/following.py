"""Beginning a job, or going on with it; and where it stands before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.types import StateSnapshot

from flowcompose.core.results import Result
from flowcompose.runner.render.words import clean, count
from flowcompose.runner.runs.followed import Events, Followed
from flowcompose.runner.teams import Job
from flowcompose.runner.unusable import UnusableError


@dataclass(frozen=True)
class Following:
    """A run that is to be followed."""

    events: Events
    """What happens; async where the pattern only works so."""
    before: Result[Any] | None = None
    """What a resumed run had before."""


def begin(job: Job, thread: str | None, *, tokens: bool) -> Following:
    """Run a job anew.

    Args:
        job: What to run.
        thread: Where it is kept; None without a file, or where the pattern has its own.
        tokens: Whether models are asked to stream: a server may not be able to.
    """
    return Following(Followed.of(job.pattern, tokens=tokens).begun(job.goal, thread))


def go_on(
    job: Job, thread: str, answers: Sequence[str], *, after: str | None, tokens: bool
) -> Following:
    """Go on with a job; one that had not begun begins.

    Args:
        job: What to run.
        thread: Where it is kept.
        answers: What it waits for.
        after: The checkpoint at which the thread stood before the run.
        tokens: Whether models are asked to stream.

    Raises:
        UnusableError: It waits for nothing, and there is an answer.
    """
    followed = Followed.of(job.pattern, tokens=tokens)
    kept = followed.kept(thread)
    if kept is None or _number(kept) == after:
        return Following(followed.begun(job.goal, thread))
    if answers and len(answers) != len(kept.interrupts):
        raise _other_answers(thread, [each.value for each in kept.interrupts], len(answers))
    answer = list(answers) if len(answers) > 1 else next(iter(answers), None)
    events = followed.resumed(thread, kept, answer)
    return Following(events, followed.read(kept, thread))


def _other_answers(thread: str, questions: Sequence[Any], given: int) -> UnusableError:
    if not questions:
        return UnusableError(f"thread {thread!r} waits for no answer: leave out --answer")
    asked = ", ".join(clean(str(each)) for each in questions)
    told = f"thread {thread!r} waits for {count(len(questions), 'answer')} ({asked})"
    return UnusableError(f"{told}, and got {given}: give --answer once for each question")


@dataclass(frozen=True)
class Standing:
    """Where a thread stands."""

    checkpoint: str | None = None
    """The last one; None where there is no such thread."""
    unfinished: bool = False
    """Whether it was left in the middle of a run."""


def standing_of(job: Job, thread: str) -> Standing:
    """Say where a thread stands before a run."""
    followed = Followed.of(job.pattern, tokens=False)
    kept = followed.kept(thread)
    return Standing() if kept is None else Standing(_number(kept), followed.stands(kept, thread))


def _number(snapshot: StateSnapshot) -> str:
    return str((snapshot.config.get("configurable") or {}).get("checkpoint_id"))
