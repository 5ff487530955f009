"""The command `flowcompose run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowcompose.runner.asked import Asked
from flowcompose.runner.commands.concluding import conclude
from flowcompose.runner.commands.options import (
    ApiKey,
    BaseUrl,
    Compat,
    CompatOption,
    Events,
    Json,
    Model,
    Paths,
    Plain,
    Query,
    Quiet,
    Team,
    Timeout,
    check_texts,
)
from flowcompose.runner.runs.keeping import Kept
from flowcompose.runner.runs.manner import Manner
from flowcompose.runner.runs.run import Run
from flowcompose.runner.runs.telling import Told
from flowcompose.runner.texts import TextError, read_standard_input, read_text
from flowcompose.runner.threads.file import RunFile
from flowcompose.runner.unusable import UnusableError

HELP = """Run a Query, a team, or a pattern in Python.

\b
Examples:
  flowcompose run team.yaml                        the only Query in it
  flowcompose run samples/ --query review --json
  flowcompose run team.yaml --team panel --input "Is it safe?"
  flowcompose run team.yaml --base-url http://localhost:11434/v1 --model llama3
  flowcompose run review.py:panel --input-file draft.md
  flowcompose run my.module:flow --input go --checkpoint sqlite:runs.db

Without --base-url, --model and --api-key, the Model documents say whom to ask. A run with
--checkpoint that is interrupted or fails can be gone on with: flowcompose resume.

Exit codes: 0 done, 1 the run ended in error, 2 unusable arguments or documents, 130 interrupted.
"""


def run(
    paths: Paths,
    query: Query = None,
    team: Team = None,
    text: Annotated[
        str | None, typer.Option("--input", metavar="TEXT", help="What to work on.")
    ] = None,
    input_file: Annotated[
        str | None,
        typer.Option("--input-file", metavar="FILE", help="The same from a file; - for stdin."),
    ] = None,
    model: Model = None,
    base_url: BaseUrl = None,
    api_key: ApiKey = None,
    compat: CompatOption = Compat.AUTO,
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", metavar="sqlite:FILE", help="Keep the run in a file."),
    ] = None,
    thread: Annotated[
        str | None,
        typer.Option("--thread", metavar="ID", help="Its name there; by default a new one."),
    ] = None,
    timeout: Timeout = None,
    events: Events = None,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Run what the paths name."""
    manner = Manner(json=json, plain=plain, quiet=quiet, events=events)

    def work() -> Told:
        texts = {"query": query, "team": team, "input": text, "thread": thread}
        check_texts(**texts, model=model, base_url=base_url, api_key=api_key)
        asked = Asked(
            paths=tuple(paths),
            query=query,
            team=team,
            input=_input(text, input_file),
            model=model,
            base_url=base_url,
            api_key=api_key,
            compat=compat.value,
            timeout=timeout,
        )
        return Run(asked, manner, _kept(checkpoint, thread)).begin()

    known = {"query": query, "api_key": api_key, "base_url": base_url}
    raise typer.Exit(conclude(work, wants_json=json, quiet=quiet, **known))


def _input(text: str | None, file: str | None) -> str | None:
    if text is not None and file is not None:
        raise UnusableError("--input and --input-file exclude each other")
    if file is None:
        return text
    try:
        return read_standard_input() if file == "-" else read_text(Path(file))
    except TextError as error:
        raise UnusableError(f"--input-file: {error}") from None


def _kept(checkpoint: str | None, thread: str | None) -> Kept | None:
    if checkpoint is not None and thread != "":
        return Kept.in_file(RunFile.named(checkpoint), thread)
    if thread is not None:
        need = "--thread needs --checkpoint sqlite:FILE"
        raise UnusableError("--thread must not be empty" if thread == "" else need)
    return None
