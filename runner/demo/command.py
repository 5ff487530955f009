"""The command `flowcompose demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flowcompose.core.errors import DefinitionError
from flowcompose.runner.commands.options import Plain
from flowcompose.runner.demo.editorial import editorial_review, goal_for, shipped_draft
from flowcompose.runner.demo.model import chosen_model
from flowcompose.runner.render import make_renderer
from flowcompose.runner.show import complain, show
from flowcompose.runner.texts import TextError, read_text

HELP = """Watch a writer, a fact-checker and a copy-editor review an article.

\b
Examples:
  flowcompose demo                  the article that comes with flowcompose
  flowcompose demo my-article.md    a text of yours
  flowcompose demo --rounds 1 --plain | grep fact-checker
  OPENAI_API_KEY=... OPENAI_MODEL=gpt-4o flowcompose demo

Without OPENAI_API_KEY (or FLOWCOMPOSE_MODEL) the built-in offline model answers: it shows how a
run goes, and thinks nothing.
"""


def demo(
    text: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A text of yours, in UTF-8.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often each member speaks.")] = 2,
    plain: Plain = False,
) -> None:
    """Run the demo."""
    try:
        draft = shipped_draft() if text is None else read_text(text)
        choice = chosen_model()
        pattern = editorial_review(choice.model, rounds=rounds)
    except (TextError, DefinitionError) as error:
        complain(str(error))
        raise typer.Exit(2) from None
    renderer = make_renderer(sys.stdout, plain=plain)
    renderer.note("model", choice.said)
    renderer.note("text", f"{text or 'the draft that comes along'} ({len(draft.split())} words)")
    raise typer.Exit(show(pattern, goal_for(draft), renderer))
