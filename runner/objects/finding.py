"""From a reference to the pattern or flow that it names."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any, TypeGuard

from flowcompose.core.errors import ManifestProblem
from flowcompose.core.flow.flow import Flow
from flowcompose.core.pattern import Pattern
from flowcompose.runner.objects.importing import import_module, told_in_one_line
from flowcompose.runner.objects.reference import Reference
from flowcompose.runner.unusable import UnusableError

Runnable = Pattern[Any] | Flow[Any]
"""What can be run: a flow is compiled first."""


def find_object(reference: Reference) -> Runnable:
    """Import a pattern or flow; a function without parameters is called for one.

    Raises:
        UnusableError: The module fails, or has no such pattern or flow; then it says which.
    """
    module = import_module(reference)
    if not reference.name:
        raise _unfit(reference, module, "name an object in it")
    found: Any = module
    for name in reference.name.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise _unfit(reference, module, f"there is no {reference.name!r} in it") from None
    made = _made(reference, found)
    if is_runnable(made):
        return made
    raise _unfit(reference, module, _no_pattern(reference.name, found, made))


def _made(reference: Reference, found: Any) -> Any:
    if not inspect.isfunction(found):
        return found
    needed = [
        each
        for each in inspect.signature(found).parameters.values()
        if each.default is each.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    ]
    if needed or inspect.iscoroutinefunction(found):
        return found
    with told_in_one_line(f"{reference.name}() failed"):
        return found()


def _no_pattern(name: str, found: Any, made: Any) -> str:
    if made is not found:
        return f"{name}() gave {_with_article(type(made).__name__)}, not a Pattern or Flow"
    if inspect.isfunction(found):
        return f"{name!r} is a function that cannot be called without arguments, or is async"
    return f"{name!r} is {_with_article(_kind(found))}, not a Pattern or Flow"


def _kind(found: Any) -> str:
    return "class" if isinstance(found, type) else type(found).__name__


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"


def _unfit(reference: Reference, module: ModuleType, problem: str) -> UnusableError:
    place = Reference(reference.module, reference.file, "")
    return UnusableError(ManifestProblem(f"{problem}; {_offer(place, module)}", str(place)))


def _offer(place: Reference, module: ModuleType) -> str:
    """Say what could be named."""
    kinds = [
        f"{place}:{name} ({kind_of(value)})"
        for name, value in vars(module).items()
        if is_runnable(value) and not name.startswith("_")
    ]
    return f"it has {', '.join(kinds)}" if kinds else "it has no Pattern and no Flow"


def is_runnable(value: object) -> TypeGuard[Runnable]:
    """Say whether a value can be run."""
    return isinstance(value, (Pattern, Flow))


def kind_of(value: Runnable) -> str:
    """Give the name of what it is."""
    return "Flow" if isinstance(value, Flow) else "Pattern"
