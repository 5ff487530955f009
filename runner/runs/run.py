"""A run from beginning to end: new, or gone on with."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from flowcompose.core.results import Stop
from flowcompose.runner.asked import Asked
from flowcompose.runner.render.words import clean, refusal_in
from flowcompose.runner.runs.ended import Ended
from flowcompose.runner.runs.event_file import EventFile
from flowcompose.runner.runs.keeping import Kept, nodes_of
from flowcompose.runner.runs.manner import Manner
from flowcompose.runner.runs.noting import Notes
from flowcompose.runner.runs.performing import Performance
from flowcompose.runner.runs.sources import Source, open_source
from flowcompose.runner.runs.telling import Told, told_of_run
from flowcompose.runner.show import say
from flowcompose.runner.teams import Answer, Job
from flowcompose.runner.threads.kept_run import KeptRun, Target
from flowcompose.runner.unusable import UnusableError
from flowcompose.runner.unwritable import UnwritableError

_CANCELED = "Query {!r} is not run: it says cancel: true"
_NOT_NOTED = "how far the run got is in its checkpoints, but `threads` may not show it"


@dataclass(frozen=True)
class Run:
    """What to run, how to show it, and where to keep it."""

    asked: Asked
    manner: Manner
    kept: Kept | None = None

    def begin(self) -> Told:
        """Run it anew.

        Raises:
            UnusableError: It cannot be run.
        """
        with self._source() as source:
            if source.canceled:
                self.manner.complain(_CANCELED.format(source.query))
                return replace(self, kept=None)._tell(source, list(map(_canceled, source.jobs)))
            if self.kept is None:
                return self._perform(source, Performance(self.manner))
            with self.kept.begun(self._known(source), source):
                return self._perform(source, Performance(self.manner))

    def go_on(self, known: KeptRun, answers: Sequence[str]) -> Told:
        """Go on with a run that is kept.

        Raises:
            UnusableError: It cannot be gone on with.
        """
        assert self.kept is not None  # it is from there
        with self._source() as source:
            self._compare(source, known)
            how = Performance(self.manner, resumed=known.targets, answers=answers)
            with self.kept.gone_on(known):
                return self._perform(source, how)

    @contextmanager
    def _source(self) -> Generator[Source]:
        opened = nullcontext() if self.kept is None else self.kept.file.saver()
        with opened as saver:
            source = open_source(self.asked, saver)
            for said in source.told:
                self.manner.tell(said)
            if source.era is not None:
                self.manner.tell(f"documents of {source.era}")
            yield source

    def _known(self, source: Source) -> Asked:
        """Give what is kept of what was asked: the Query by name, and no secret of documents."""
        shown = self.asked.input and source.jobs[0].redactor.clean(self.asked.input)
        return replace(self.asked, query=source.query, input=shown)

    def _perform(self, source: Source, how: Performance) -> Told:
        jobs = source.jobs
        if self.kept is not None:
            self.manner.tell(f"kept as thread {self.kept.thread}")
        threads = [None] * len(jobs) if self.kept is None else self.kept.threads(jobs)
        with ExitStack() as open_files:
            file = self._events(open_files, again=how.resumed is not None)
            timeout = self.asked.timeout if self.asked.timeout is not None else jobs[0].timeout
            full = replace(how, timeout=timeout, file=file)
            if self.kept is None:
                return self._tell(source, full.all(jobs, threads))
            notes = Notes(self.kept.runs, self.kept.thread)
            ended = replace(full, took=notes.took).all(jobs, threads)
            return self._tell(source, ended, notes)

    def _events(self, open_files: ExitStack, *, again: bool) -> EventFile | None:
        path = self.manner.events
        return None if path is None else open_files.enter_context(EventFile(path, append=again))

    def _tell(self, source: Source, ended: Sequence[Ended], notes: Notes | None = None) -> Told:
        thread = self.kept.thread if self.kept else _own_thread(ended)
        told = told_of_run(ended, query=source.query, era=source.era, thread=thread)
        if notes is not None:
            problem = notes.end(told.report["phase"], told.report["stop"])
            if problem is not None:
                self.manner.complain(f"warning: {problem}; {_NOT_NOTED}")
        self._say(ended, told)
        for each in ended:
            if isinstance(each.broke, UnwritableError):
                raise each.broke
        return told

    def _say(self, ended: Sequence[Ended], told: Told) -> None:
        """Tell what went wrong, and how to go on."""
        for each in ended:
            if each.answer.error:
                self.manner.complain(each.answer.error)
            for question in each.questions:
                self.manner.complain(_asks(question))
        said = [_answer_of(each.answer) for each in ended if not each.answer.error]
        if self.manner.quiet and not self.manner.json and any(said):
            say("\n".join(filter(None, said)))
        questions = sum(len(each.questions) for each in ended)
        if told.code and self.kept is not None:
            answers = " --answer TEXT" * questions
            self.manner.complain(f"to go on: {self.kept.to_resume}{answers}")
        elif questions:
            self.manner.complain("nobody can answer: it was not kept; run it with --checkpoint")

    def _compare(self, source: Source, known: KeptRun) -> None:
        """See whether it is still what was begun."""
        assert self.kept is not None  # see `go_on`
        threads = self.kept.threads(source.jobs)
        before: dict[str, Target] = {target.thread: target for target in known.targets}
        if set(threads) != set(before):
            raise UnusableError(f"thread {known.thread!r}: the targets of the Query have changed")
        for job, thread in zip(source.jobs, threads, strict=True):
            gone = set(before[thread].nodes) - set(nodes_of(job))
            if gone or job.target != before[thread].name:
                raise UnusableError(_changed(known, before[thread], job.target, sorted(gone)))
        if source.digest != known.digest:
            self.manner.tell("warning: the files have changed since the run began")


def _changed(known: KeptRun, before: Target, name: str, gone: Sequence[str]) -> str:
    what = f"{', '.join(gone)} of {name!r} is gone" if gone else f"{before.name!r} is now {name!r}"
    return f"thread {known.thread!r}: it is not what was begun: {what}; run it anew"


def _asks(question: Any) -> str:
    said = question if isinstance(question, str) else json.dumps(question, ensure_ascii=False)
    return f"the run waits for an answer: {clean(said)}"


def _answer_of(answer: Answer) -> str:
    """The answer alone; of a model that refused to give one, the refusal."""
    return answer.content or clean(refusal_in(answer.raw))


def _own_thread(ended: Sequence[Ended]) -> str | None:
    """The thread of a pattern that brings its own checkpointer."""
    found = (each.result.thread_id for each in ended if each.result)
    return next(found, None)


def _canceled(job: Job) -> Ended:
    stop = Stop(reason="cancelled", detail="the Query says: cancel: true")
    return Ended(Answer(job.target_type, job.target, "canceled", stop=stop))
