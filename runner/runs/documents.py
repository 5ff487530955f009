"""Loading documents for a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from flowcompose.core.errors import DefinitionError, ManifestProblem
from flowcompose.runner.manifest import Compat, Manifest, load
from flowcompose.runner.unusable import UnusableError


def load_documents(paths: Sequence[str], compat: str) -> Manifest:
    """Load documents that can be used.

    Raises:
        UnusableError: They cannot; it tells of all that was loaded.
    """
    manifest = read_documents(paths, compat)
    if manifest.errors:
        raise unusable_documents(manifest)
    return manifest


def unusable_documents(manifest: Manifest, error: DefinitionError | None = None) -> UnusableError:
    """Tell of all that was loaded and what is wrong with it.

    Args:
        manifest: What was loaded.
        error: What turned out only when they were to be run.
    """
    found = UnusableError.of(error).found if error is not None else ()
    known = [each for each in manifest.problems if each not in found]
    broken = {holder for each in found if (holder := _holder(manifest, each)) is not None}
    documents = [
        each if index not in broken else {**each, "ok": False}
        for index, each in enumerate(documents_json(manifest))
    ]
    return UnusableError(*found, *known, era=manifest.era, documents=documents)


def _holder(manifest: Manifest, problem: ManifestProblem) -> int | None:
    """Say which document a problem is of: the last one that begins before it."""
    before = [
        (each.line, index)
        for index, each in enumerate(manifest.documents)
        if each.file == problem.file and problem.line is not None and each.line <= problem.line
    ]
    return max(before)[1] if before else None


def read_documents(paths: Sequence[str], compat: str) -> Manifest:
    """Load documents, whatever is wrong with them."""
    return load(paths, compat=cast(Compat, compat))  # typer has checked the word


def documents_json(manifest: Manifest, *, strict: bool = False) -> list[dict[str, Any]]:
    """Name what was loaded, and say what of it can be used."""
    return [
        {
            "file": each.file,
            "kind": each.kind,
            "name": each.name,
            "ok": each.ok_strictly if strict else each.ok,
        }
        for each in manifest.documents
    ]
