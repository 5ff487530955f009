"""What a kept run was made of, and is not where it was."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from pathlib import Path

from flowcompose.runner.asked import Asked
from flowcompose.runner.unusable import UnusableError


def check_there(asked: Asked) -> None:
    """See whether what is run is still where it was when the run was begun.

    Raises:
        UnusableError: It is not; it says where it was expected.
    """
    reference = asked.reference
    if reference is not None and reference.file is None:
        top = reference.module.partition(".")[0]
        if top not in sys.modules and PathFinder.find_spec(top, [asked.folder, *sys.path]) is None:
            said = f"module {top!r} is not there: the run was begun in {asked.folder!r}"
            raise UnusableError(f"{said}; put it back, or run it anew")
        return
    paths = map(Path, asked.paths) if reference is None else filter(None, [reference.file])
    problems = [
        f"{str(path)!r} is not there, with which the run was begun; put it back, or run it anew"
        for path in paths
        if not path.exists()
    ]
    if problems:
        raise UnusableError(*problems)
