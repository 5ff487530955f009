"""Checking Secrets."""

from __future__ import annotations

from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.kinds.stored import SecretSpec
from flowcompose.runner.manifest.marks import at
from flowcompose.runner.manifest.templates import is_placeholder


def check_secret(context: Context, document: Document, spec: SecretSpec) -> None:
    """Note the values that were never put in."""
    for key, value in spec.values.items():
        if is_placeholder(value):
            held = "stringData" if at(document.raw, ("stringData", key)) is not None else "data"
            context.warning(document, (held, key), f"the value of {key!r} is only a placeholder")
