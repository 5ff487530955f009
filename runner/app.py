"""The commands, gathered."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from flowcompose.runner.commands import export, graph, resume, run, schema, threads, validate
from flowcompose.runner.commands.frame import JsonCommand
from flowcompose.runner.demo.command import HELP as DEMO_HELP
from flowcompose.runner.demo.command import demo

HELP = """Flows in which several agents work on one goal.

\b
Examples:
  flowcompose demo                  watch three agents review an article
  flowcompose demo my-article.md    the same with a text of yours
  flowcompose run team.yaml         run the Query of a document
  flowcompose run review.py:panel --input "Draft X"
  flowcompose validate samples/     what is wrong with documents, and where
  flowcompose graph team.yaml       draw a team as Mermaid text
  flowcompose export review.py:panel > panel.yaml
  flowcompose resume --checkpoint sqlite:runs.db THREAD

\b
Shell completion: flowcompose --install-completion
"""

# Plain help: the same on a terminal and in a pipe, and examples keep their lines.
app = typer.Typer(
    name="flowcompose",
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(help=run.HELP, cls=JsonCommand)(run.run)
app.command(help=validate.HELP, cls=JsonCommand)(validate.validate)
app.command(help=graph.HELP)(graph.graph)
app.command(help=resume.HELP, cls=JsonCommand)(resume.resume)
app.command(help=threads.HELP, cls=JsonCommand)(threads.threads)
app.command(help=export.HELP)(export.export)
app.command(help=schema.HELP)(schema.schema)
app.command(help=DEMO_HELP)(demo)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"flowcompose {version('flowcompose')}")
        raise typer.Exit


@app.callback(help=HELP)
def _root(
    show_version: Annotated[  # pyright: ignore[reportUnusedParameter] - read by its callback
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command."""
