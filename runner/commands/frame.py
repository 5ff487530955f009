"""A command whose `--json` holds even where its arguments cannot be read."""

from __future__ import annotations

import json
from typing import Any

from typer.core import TyperCommand

from flowcompose.runner.runs.telling import told_of_unusable
from flowcompose.runner.show import say
from flowcompose.runner.signals import all_is_said
from flowcompose.runner.unusable import UnusableError


class JsonCommand(TyperCommand):
    """Prints the object of `validate` where it is used wrongly and was asked for JSON."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        given = args[: args.index("--")] if "--" in args else list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # The class of usage errors is click's, which newer versions of typer have inside.
            said = getattr(error, "format_message", None)
            if said is not None and "--json" in given:
                told = told_of_unusable(UnusableError(str(said())))
                say(json.dumps(told.report))
                all_is_said(told.code)
            raise
