"""Importing a user's module, so that what is wrong with it is one line with its place."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from flowcompose.core.errors import ManifestProblem
from flowcompose.runner.objects.reference import Reference
from flowcompose.runner.unusable import UnusableError

_OURS = str(Path(__file__).resolve().parents[2])
_INSTALLED = ("site-packages", "dist-packages", "<frozen")


def import_module(reference: Reference) -> ModuleType:
    """Import the module of a reference, as Python itself would from here.

    Raises:
        UnusableError: There is no such module, or it fails.
    """
    _look_in(Path.cwd())
    if reference.file is not None:
        return _of_file(reference.file)
    with told_in_one_line(f"module {reference.module!r} cannot be imported"):
        return importlib.import_module(reference.module)


def _of_file(file: Path) -> ModuleType:
    if not file.is_file():
        problem = "is a folder" if file.exists() else "no such file"
        raise UnusableError(ManifestProblem(problem, str(file)))
    _look_in(file.resolve().parent)
    name = _name_for(file)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None  # it ends in .py
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        with told_in_one_line(f"{file} cannot be imported"):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _name_for(file: Path) -> str:
    """Its own name, by which a checkpoint finds its classes again, unless that is another's."""
    name = file.stem
    try:
        found = importlib.util.find_spec(name) if name.isidentifier() else None
    except (ImportError, ValueError):
        found = None
    free = name.isidentifier() and (
        found is None or (found.origin and Path(found.origin).resolve() == file.resolve())
    )
    return name if free else f"flowcompose_file_{''.join(c if c.isalnum() else '_' for c in name)}"


def _look_in(folder: Path) -> None:
    """Put a folder first on the path of imports, as Python does with that of a script."""
    if str(folder) in sys.path:
        sys.path.remove(str(folder))
    sys.path.insert(0, str(folder))


@contextmanager
def told_in_one_line(what: str) -> Generator[None]:
    """Raise what a user's code raises as a problem, at the user's own line.

    Raises:
        UnusableError: The code failed.
    """
    try:
        yield
    except (Exception, SystemExit, GeneratorExit) as error:
        raise UnusableError(_problem(what, error)) from None


def _problem(what: str, error: BaseException) -> ManifestProblem:
    said = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
    if isinstance(error, SyntaxError) and error.filename:
        told = f"{type(error).__name__}: {error.msg}"
        return ManifestProblem(f"{what}: {told}", error.filename, error.lineno)
    if isinstance(error, SystemExit):
        said += " (it ends the program while it is imported)"
    if "no known parent package" in said:
        said += "; name its module, not its file: package.module:object"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_users(f.filename)]
    if not frames:
        return ManifestProblem(f"{what}: {said}", "")
    return ManifestProblem(f"{what}: {said}", frames[-1].filename, frames[-1].lineno)


def _is_users(file: str) -> bool:
    if file.startswith((_OURS, sys.base_prefix, "<")):
        return False
    return not any(part in file for part in _INSTALLED)
