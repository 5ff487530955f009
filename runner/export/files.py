"""Documents as files, one for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flowcompose.runner.export.documents import Draft
from flowcompose.runner.unusable import UnusableError


def write_files(drafts: Sequence[Draft], folder: Path, *, force: bool) -> list[Path]:
    """Write a file for each document, and give the files.

    Args:
        drafts: The documents.
        folder: Where to; it is made if need be.
        force: Whether files that are there may be overwritten.

    Raises:
        UnusableError: A file is there, or cannot be written; in the first case nothing was.
    """
    files = [folder / draft.file for draft in drafts]
    there = [str(file) for file in files if file.exists()]
    if there and not force:
        raise UnusableError(f"already there: {', '.join(there)}; --force overwrites them")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for draft, file in zip(drafts, files, strict=True):
            file.write_text(draft.yaml, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UnusableError(f"cannot write to {str(folder)!r}: {error.strerror or error}") from None
    return files
