"""Checking the properties of models, which are all text in a document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.checks.sources import check_source
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.kinds.values import ValueSource
from flowcompose.runner.manifest.marks import Path
from flowcompose.runner.manifest.resolving import value_of

_NUMBERS: Final = ("temperature", "top_p", "frequency_penalty", "presence_penalty")
_WHOLE: Final = ("max_tokens", "max_completion_tokens", "seed", "top_logprobs")
_SWITCHES: Final = ("logprobs",)

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,15})(?:\.\d{1,30})?(?:[eE][-+]?\d{1,2})?", re.ASCII)
_WHOLE_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})", re.ASCII)


def check_properties(
    context: Context, model: Document, base: Path, properties: Mapping[str, ValueSource]
) -> None:
    """Note what is wrong with properties, and numbers that are none."""
    for name, source in properties.items():
        path = (*base, name)
        check_source(context, model, path, source)
        value = value_of(context.loaded, source, {}, model.namespace)
        if value is None:
            continue
        # The value may come of a Secret, and so is not quoted.
        if name in _NUMBERS and not _NUMBER.fullmatch(value.strip()):
            context.error(model, path, f"{name} must be a number, such as '0.5'")
        elif name in _WHOLE and not _WHOLE_NUMBER.fullmatch(value.strip()):
            context.error(model, path, f"{name} must be a whole number, such as '100'")
        elif name in _SWITCHES and value.strip().lower() not in ("true", "false"):
            context.error(model, path, f"{name} must be 'true' or 'false'")
