"""The command `flowcompose resume`."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import Annotated

import typer

from flowcompose.runner.asked import Asked
from flowcompose.runner.commands.concluding import conclude
from flowcompose.runner.commands.options import (
    ApiKey,
    BaseUrl,
    Checkpoint,
    Events,
    Json,
    Model,
    Plain,
    Quiet,
    Timeout,
    check_texts,
)
from flowcompose.runner.runs.keeping import Kept
from flowcompose.runner.runs.manner import Manner
from flowcompose.runner.runs.moved import check_there
from flowcompose.runner.runs.run import Run
from flowcompose.runner.runs.telling import Told
from flowcompose.runner.threads.file import RunFile
from flowcompose.runner.threads.kept_run import KeptRun
from flowcompose.runner.threads.listing import known_threads
from flowcompose.runner.threads.runs import Runs
from flowcompose.runner.unusable import UnusableError

HELP = """Go on with a run that was interrupted, killed, failed, or waits for an answer.

\b
Examples:
  flowcompose threads --checkpoint sqlite:runs.db         what is there
  flowcompose resume --checkpoint sqlite:runs.db THREAD
  flowcompose resume --checkpoint sqlite:runs.db THREAD --answer yes

Turns that were finished are not taken again. Keys are not kept: give --api-key again, or set
OPENAI_API_KEY. Of a finished run it prints the result.
"""


def resume(
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The run.")],
    checkpoint: Checkpoint,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            "--answer", metavar="TEXT", help="What the run waits for; once for each question."
        ),
    ] = None,
    model: Model = None,
    base_url: BaseUrl = None,
    api_key: ApiKey = None,
    timeout: Timeout = None,
    events: Events = None,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a run."""
    target = None if events is None else events.absolute()
    manner = Manner(json=json, plain=plain, quiet=quiet, events=target)

    def work() -> Told:
        check_texts(answer=answer, model=model, base_url=base_url, api_key=api_key)
        file = RunFile.named(checkpoint, must_exist=True)
        known = _find(file, thread)
        kept = Kept(file, Runs(file), thread)
        kept.check_idle(known)
        options = {"model": model, "base_url": base_url, "api_key": api_key}
        asked = known.asked.again(**options, timeout=timeout)
        check_there(asked)
        with chdir(_folder(known.asked)):
            return Run(asked, manner, kept).go_on(known, answer or ())

    known = {"api_key": api_key, "base_url": base_url}
    raise typer.Exit(conclude(work, wants_json=json, quiet=quiet, **known))


def _find(file: RunFile, thread: str) -> KeptRun:
    known = known_threads(file)
    found = Runs(file).find(thread)
    if found is not None:
        return found
    if thread in known:
        say = "resume it there: pattern.resume(...)"
        raise UnusableError(f"thread {thread!r} was written by a program, not by run; {say}")
    there = ", ".join(map(repr, known[-9:])) or "none"
    raise UnusableError(f"no thread {thread!r} in {str(file.path)!r}; there are: {there}")


def _folder(asked: Asked) -> str:
    """Where the run was begun: the user's code may read files there."""
    return asked.folder if Path(asked.folder).is_dir() else "."
