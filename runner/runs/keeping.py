"""Where a run is kept, if it is: its threads, and what is noted of it beside them."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

from flowcompose.core.results import Stop
from flowcompose.runner.asked import Asked
from flowcompose.runner.runs.following import standing_of
from flowcompose.runner.runs.sources import Source
from flowcompose.runner.teams import Job
from flowcompose.runner.threads.file import RunFile
from flowcompose.runner.threads.kept_run import KeptRun, Target
from flowcompose.runner.threads.runs import Runs
from flowcompose.runner.unusable import UnusableError


@dataclass(frozen=True)
class Kept:
    """A run in a file."""

    file: RunFile
    runs: Runs
    thread: str

    @classmethod
    def in_file(cls, file: RunFile, thread: str | None) -> Kept:
        """Keep a run in a thread, or in a new one."""
        return cls(file, Runs(file), thread or uuid4().hex[:12])

    def threads(self, jobs: Sequence[Job]) -> list[str]:
        """Give the engine's threads: of one job the run's own, of several one for each."""
        if len(jobs) == 1:
            return [self.thread]
        return [f"{self.thread}/{number}" for number, _ in enumerate(jobs, 1)]

    @contextmanager
    def begun(self, asked: Asked, source: Source) -> Generator[None]:
        """Note a new run; not if it turns out that nothing can be run.

        Raises:
            UnusableError: The thread is in the middle of another one.
        """
        known = self.runs.find(self.thread)
        if known is not None:
            self.check_idle(known)
        targets: list[Target] = []
        for job, thread in zip(source.jobs, self.threads(source.jobs), strict=True):
            standing = standing_of(job, thread)
            if standing.unfinished:
                raise self._unfinished() if known else self._of_program()
            targets.append(_target(job, thread, standing.checkpoint))
        if known is not None and known.state in ("unfinished", "running"):
            raise self._unfinished()  # it was left before its first checkpoint
        self._claimed(self.runs.begin(self.thread, asked, targets, source.digest, known))
        with self._put_back_if_unusable(known, targets, source.jobs):
            yield

    @contextmanager
    def gone_on(self, known: KeptRun) -> Generator[None]:
        """Note that a run is gone on with; not if it turns out that it cannot be.

        Raises:
            UnusableError: Another process has begun to, since it was looked at.
        """
        self._claimed(self.runs.go_on(known))
        with self._put_back_if_unusable(known):
            yield

    @contextmanager
    def _put_back_if_unusable(
        self, known: KeptRun | None, targets: Sequence[Target] = (), jobs: Sequence[Job] = ()
    ) -> Generator[None]:
        """Forget the attempt; but not one that left checkpoints in the threads of a new run."""
        try:
            yield
        except UnusableError:
            with suppress(UnusableError):  # the first error says more
                if all(_is_untouched(*each) for each in zip(targets, jobs, strict=True)):
                    self.runs.put_back(self.thread, known)
                else:
                    self.runs.end(self.thread, "error", _REFUSED)
            raise

    def check_idle(self, known: KeptRun) -> None:
        """Let two processes not work on one run.

        Raises:
            UnusableError: Another one does.
        """
        process = known.process
        if known.phase == "running" and process.is_alive() and not process.is_this():
            raise UnusableError(f"thread {self.thread!r}: process {process.pid} is at work on it")

    @property
    def to_resume(self) -> str:
        """The line that goes on with it."""
        option = shlex.quote(self.file.option)
        return f"flowcompose resume --checkpoint {option} {shlex.quote(self.thread)}"

    def _claimed(self, granted: bool) -> None:
        if not granted:
            raise UnusableError(f"thread {self.thread!r}: another process has just begun with it")

    def _unfinished(self) -> UnusableError:
        said = f"thread {self.thread!r} holds a run that is not finished"
        return UnusableError(f"{said}; go on with it: {self.to_resume}; or take another --thread")

    def _of_program(self) -> UnusableError:
        said = f"thread {self.thread!r} holds a run of a program that is not finished"
        return UnusableError(f"{said}; go on with it there, or take another --thread")


_REFUSED = Stop(reason="failed", detail="it could not be run as it was given").model_dump()


def _is_untouched(target: Target, job: Job) -> bool:
    return standing_of(job, target.thread).checkpoint == target.after


def _target(job: Job, thread: str, after: str | None) -> Target:
    return Target(thread, job.target, nodes_of(job), after)


def nodes_of(job: Job) -> tuple[str, ...]:
    """Name what a job's graph is made of."""
    return tuple(sorted(job.pattern.nodes))
