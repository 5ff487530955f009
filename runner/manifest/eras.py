"""The versions of ARK that behave differently, and which of them documents are written for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, get_args

from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.marks import at

Era = Literal["v0.1.31", "v0.1.50", "v0.1.67"]
"""The first says how all behave up to v0.1.42, the second to v0.1.53, the third those after."""

Compat = Literal["auto", "v0.1.31", "v0.1.50", "v0.1.67"]
"""An era, or `auto`: what the documents are written for."""

ERAS: Final[tuple[Era, ...]] = get_args(Era)
"""Oldest first."""

_FIELDS: Final[dict[str, dict[Era, tuple[tuple[str, ...], ...]]]] = {
    "Team": {
        "v0.1.67": (
            ("loops",),
            ("selector", "enableTerminateTool"),
            ("selector", "terminatePrompt"),
        ),
        "v0.1.50": (("selector", "agent"),),
    },
    "Query": {"v0.1.50": (("target",),)},
    "Model": {"v0.1.50": (("provider",),)},
}
"""The fields that came with an era."""


def era_of(documents: Iterable[Document], compat: Compat) -> Era:
    """Give the era of a set of documents: the newest that one of them needs."""
    if compat != "auto":
        return compat
    return _newest(_era(each) for each in documents)


def newer_fields(document: Document, era: Era) -> list[tuple[tuple[str, ...], Era]]:
    """Give the fields of a document that came after an era, and with which."""
    return [
        (("spec", *path), since)
        for since, paths in _FIELDS.get(document.kind, {}).items()
        if ERAS.index(since) > ERAS.index(era)
        for path in paths
        if _has(document, *path)
    ]


def _era(document: Document) -> Era:
    newer: list[Era] = [since for _, since in newer_fields(document, ERAS[0])]
    if _has(document, "graph") and at(document.raw, ("spec", "strategy")) == "selector":
        newer.append("v0.1.50")
    return _newest(newer)


def _newest(eras: Iterable[Era]) -> Era:
    return ERAS[max((ERAS.index(each) for each in eras), default=0)]


def _has(document: Document, *path: str) -> bool:
    return at(document.raw, ("spec", *path)) is not None
