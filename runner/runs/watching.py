"""One run, from its first event to the answer."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import Any

from flowcompose.core import events
from flowcompose.core.errors import FlowComposeError, RunError
from flowcompose.core.events import Event
from flowcompose.core.results import Result, Stop
from flowcompose.runner.explain import explain
from flowcompose.runner.follow import OverdueError, follow
from flowcompose.runner.render.words import refusal_in
from flowcompose.runner.runs.ended import Ended
from flowcompose.runner.runs.event_file import EventFile, plain
from flowcompose.runner.runs.following import Following
from flowcompose.runner.runs.manner import Manner
from flowcompose.runner.runs.redacting import RedactedEvents
from flowcompose.runner.runs.so_far import SoFar
from flowcompose.runner.teams import Job
from flowcompose.runner.unwritable import UnwritableError


class Watch:
    """Shows and writes what happens in the run of a job, and knows what there is of it.

    Args:
        job: What is run.
        manner: How it is shown.
        file: Where its events are written, if anywhere.
    """

    def __init__(self, job: Job, manner: Manner, file: EventFile | None) -> None:
        self._job = job
        self._file = file
        self._redacted = RedactedEvents(job.redactor)
        self._renderer = manner.renderer(job.cap)
        self.so_far = SoFar()
        self.has_begun = False
        """Whether anything has happened but that the run was started, now or before."""

    def to_the_end(self, following: Following, seconds: float | None) -> Ended:
        """Follow a run.

        Args:
            following: The run.
            seconds: How long it may take.
        """
        self.so_far = SoFar(following.before)
        self.has_begun = self.so_far.turns > 0
        try:
            until = time.monotonic() + seconds if seconds else None
            result = self._follow(following, until)
        except KeyboardInterrupt as error:
            left = self._broke_off("interrupted", Stop(reason="cancelled"))
            return Ended(self._job.failure(error, left), broke=error)
        except OverdueError:
            said = self._overdue(seconds or 0)
            stop = Stop(reason="cancelled", by="timeout", detail=said)
            left = self._broke_off("timed out", stop)
            return Ended(self._job.failure(RunError(said, result=left)))
        except UnwritableError as error:
            left = self.so_far.result(Stop(reason="cancelled"))
            return Ended(self._job.failure(KeyboardInterrupt(), left), broke=error)
        asked = plain(list(result.interrupts))
        questions = tuple(self._job.redactor.clean_json(asked))
        return Ended(self._job.answer(result), result, questions)

    def failed(self, error: BaseException) -> Ended:
        """Tell what is left of a run that raised."""
        told = self._told(error)
        left = self.so_far.result(Stop(reason="failed"))
        self._renderer.broke_off("failed", left, told.result.usage if told.result else None)
        return Ended(self._job.failure(told, told.result))

    def _follow(self, following: Following, until: float | None) -> Result[Any]:
        result: Result[Any] | None = None
        # It is closed here: an error that is kept would keep it, and its handlers of signals.
        with self._renderer, closing(follow(following.events, until=until)) as followed:
            for event in followed:
                self._see(event)
                if isinstance(event, events.RunCompleted):
                    result = event.result
        assert result is not None  # the last event carries it
        return result

    def _see(self, event: Event) -> None:
        self.has_begun = self.has_begun or not isinstance(event, events.RunStarted)
        self.so_far.feed(event)
        for each in self._redacted.read(event):
            if self._file is not None:
                self._file.write(each, self._job.redactor)
            self._renderer.feed(self._readable(each))

    def _readable(self, event: Event) -> Event:
        """Of a team the answer is what it says; its output are all of its messages."""
        if not isinstance(event, events.RunCompleted) or self._job.era is None:
            return event
        answer = self._job.answer(event.result)
        output = answer.content or refusal_in(answer.raw)
        return replace(event, result=event.result.model_copy(update={"output": output}))

    def _broke_off(self, how: str, stop: Stop) -> Result[Any]:
        left = self.so_far.result(stop)
        self._renderer.broke_off(how, left)
        return left

    def _overdue(self, seconds: float) -> str:
        """Say whose time was too short: a Query has one, too."""
        job = self._job
        of_query = seconds == job.timeout
        whose = "the timeout of the Query; --timeout overrides it" if of_query else "--timeout"
        return f"{job.target_type} {job.target!r} timed out after {seconds:g} s ({whose})"

    def _told(self, error: BaseException) -> RunError:
        """Documents have words of their own for what failed; of Python we tell the person."""
        left = error.result if isinstance(error, RunError) else None
        if isinstance(error, RunError) and left is not None and self._job.era is not None:
            return error
        known = isinstance(error, FlowComposeError)
        said = explain(error) if known else f"{type(error).__name__}: {error}"
        stop = Stop(reason="failed", detail=said)
        return RunError(said, result=left or self.so_far.result(stop))
