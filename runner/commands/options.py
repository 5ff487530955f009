"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flowcompose.runner.texts import is_whole
from flowcompose.runner.unusable import UnusableError

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...",
        help="Documents, folders of documents, or one object of Python: module:object, "
        "file.py:object.",
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, nothing else.")
]
Plain = Annotated[
    bool, typer.Option("--plain", help="Lines without colour; the default where no terminal is.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print the answer alone, and no warnings.")
]
Events = Annotated[
    Path | None,
    typer.Option("--events", metavar="FILE.jsonl", help="Write each event as a line of JSON."),
]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", min=0, help="Leave the run then. 0: never."),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The model, whatever Model documents say."),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url", metavar="URL", help="The endpoint, in OpenAI's form, for every Model."
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key",
        metavar="KEY",
        help="Its key; other users of the machine can see it here: OPENAI_API_KEY is better.",
    ),
]
Query = Annotated[
    str | None, typer.Option("--query", metavar="NAME", help="The Query, if there are several.")
]
Team = Annotated[
    str | None,
    typer.Option("--team", metavar="NAME", help="A Team or an Agent, in place of a Query."),
]


def check_texts(**options: str | Sequence[str] | None) -> None:
    """See whether what was given is text: a shell passes on any bytes.

    Raises:
        UnusableError: It is none.
    """
    bad = [
        f"--{name.replace('_', '-')}: it is no UTF-8 text"
        for name, given in options.items()
        if not is_whole("".join(given or ()))
    ]
    if bad:
        raise UnusableError(*bad)


class Compat(StrEnum):
    """Whose behaviour documents have."""

    AUTO = "auto"
    V0_1_31 = "v0.1.31"
    V0_1_50 = "v0.1.50"
    V0_1_67 = "v0.1.67"


CompatOption = Annotated[
    Compat,
    typer.Option("--compat", help="The version of ARK whose behaviour the documents have."),
]
Checkpoint = Annotated[
    str, typer.Option("--checkpoint", metavar="sqlite:FILE", help="The file that keeps runs.")
]
