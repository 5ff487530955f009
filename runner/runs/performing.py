"""Running one job after the other, before a user's eyes, to the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from flowcompose.core.errors import DefinitionError
from flowcompose.runner.runs.ended import Ended
from flowcompose.runner.runs.event_file import EventFile
from flowcompose.runner.runs.following import Following, begin, go_on
from flowcompose.runner.runs.manner import Manner
from flowcompose.runner.runs.noting import noting_turns
from flowcompose.runner.runs.watching import Watch
from flowcompose.runner.teams import Job
from flowcompose.runner.threads.kept_run import Target
from flowcompose.runner.unusable import UnusableError


@dataclass(frozen=True)
class Performance:
    """How jobs are run."""

    manner: Manner
    timeout: float | None = None
    """Seconds for each of them; None or 0 for any time."""
    file: EventFile | None = None
    took: Callable[[str | None, int], None] = lambda thread, turns: None
    """Is told each time that turns were taken: in which thread, and how many in all."""
    resumed: Sequence[Target] | None = None
    """What is gone on with; None where it is a new run."""
    answers: Sequence[str] = ()
    """What the run that is resumed waits for."""

    def all(self, jobs: Sequence[Job], threads: Sequence[str | None]) -> list[Ended]:
        """Run them; an interruption of one of them ends those after it, too.

        Raises:
            UnusableError: Nothing could be run as it was given.
        """
        ended: list[Ended] = []
        for job, thread in zip(jobs, threads, strict=True):
            broke = ended[-1].broke if ended else None
            if broke is None:
                ended.append(self._one(job, thread, first=not ended))
            else:
                self.manner.tell(f"{job.target_type} {job.target} was not asked")
                ended.append(Ended(job.failure(KeyboardInterrupt()), broke=broke))
        return ended

    def _one(self, job: Job, thread: str | None, *, first: bool) -> Ended:
        watch = Watch(job, self.manner, self.file)
        try:
            following = noting_turns(self._following(job, thread), partial(self.took, thread))
            return watch.to_the_end(following, self.timeout or None)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if first and not watch.has_begun:
                _raise_if_unusable(error)
            return watch.failed(error)

    def _following(self, job: Job, thread: str | None) -> Following:
        tokens = self.manner.needs_tokens
        for target in self.resumed or ():
            if target.thread == thread:
                after = target.after
                return go_on(job, target.thread, self.answers, after=after, tokens=tokens)
        return begin(job, thread, tokens=tokens)


def _raise_if_unusable(error: BaseException) -> None:
    """Where nothing was run, an error of a definition is none of a run."""
    if isinstance(error, DefinitionError):
        raise UnusableError.of(error) from None
    if isinstance(error, UnusableError):
        raise error
