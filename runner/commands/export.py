"""The command `flowcompose export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowcompose.core.errors import DefinitionError
from flowcompose.runner.commands.concluding import alone_on_stdout, conclude
from flowcompose.runner.export import Export, export_pattern
from flowcompose.runner.export.files import write_files
from flowcompose.runner.objects import find_object, reference_in
from flowcompose.runner.runs.telling import Told
from flowcompose.runner.show import complain, say
from flowcompose.runner.unusable import UnusableError

HELP = """Write a pattern that was built in Python as documents.

\b
Examples:
  flowcompose export review.py:panel > panel.yaml
  flowcompose export my.module:panel --output documents/
  flowcompose export my.module:panel --strict > panel.yaml
  flowcompose run panel.yaml --team panel --input "Is it safe?"

The documents are those of v0.1.50. What they cannot express is said on standard error, a line
for each: what is lost, and what happens in its place. No key is written: put it into the Secret.

Exit codes: 0 written, 2 an unusable argument, or something is lost and --strict was given.
"""


def export(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:OBJECT", help="A pattern in Python; file.py:object names one too."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Write a file for each document, to here."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing if anything would be lost.")
    ] = False,
) -> None:
    """Write documents."""

    def work() -> Told:
        with alone_on_stdout(True) as free:
            made = _exported(target)
            for finding in made.findings:
                complain(str(finding))
            if strict and made.lost:
                raise UnusableError(f"--strict: {len(made.lost)} lost, nothing is written")
            if output is None:
                say(made.yaml.removesuffix("\n"), free)
            else:
                say("\n".join(map(str, write_files(made.documents, output, force=force))), free)
        return Told(0, {})

    raise typer.Exit(conclude(work, wants_json=False))


def _exported(target: str) -> Export:
    reference = reference_in(target)
    if reference is None:
        problem = f"{target!r} is no object of Python"
        raise UnusableError(f"{problem}: give one as module:object or file.py:object")
    try:
        return export_pattern(find_object(reference))
    except DefinitionError as error:
        raise UnusableError.of(error) from None
