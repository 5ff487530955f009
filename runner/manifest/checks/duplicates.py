"""Documents that bear the same name."""

from __future__ import annotations

from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.documents import Document


def check_duplicates(context: Context) -> None:
    """Note every document that is there already."""
    seen: dict[tuple[str, str, str], Document] = {}
    for document in context.loaded.documents:
        if not document.name:
            continue
        first = seen.setdefault((document.kind, document.namespace, document.name), document)
        if first is not document:
            message = f"{document.title} stands twice, first at {first.place}"
            context.error(document, ("metadata", "name"), message)
