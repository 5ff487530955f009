"""Telling apart the ways in which a plain function can be written."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from flowcompose.core.errors import RunError


class AsyncOnlyError(RunError):
    """Something async under a sync run: a mistake of the program, which no policy absorbs."""


def is_async(function: Callable[..., Any]) -> bool:
    """Say whether calling `function` gives a coroutine, as far as can be seen without a call."""
    while isinstance(function, functools.partial):
        function = function.func
    call = getattr(function, "__call__", None)  # noqa: B004 - the bound method is what is wanted
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def describe(function: Callable[..., Any]) -> str:
    """Give the name by which a person knows `function`."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__


def takes_context(function: Callable[..., Any]) -> bool:
    """Say whether `function` wants the context as a second argument.

    It does if its second parameter must be given, or is named or typed as the context; a
    second parameter with a default of its own is left alone.

    Raises:
        TypeError: It cannot be called with one or two arguments.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-ins have none to read
        return False
    if _binds(signature, 1):
        return _asks_for_context(list(signature.parameters.values()))
    if _binds(signature, 2):
        return True
    msg = f"{describe(function)}{signature} must take one argument (the value) or two (and ctx)"
    raise TypeError(msg)


def with_context(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Give `function` as one of a value and a context, looked at once and not at each call."""
    if takes_context(function):
        return function

    def of_value(value: Any, _: Any) -> Any:
        return function(value)

    return of_value


def _binds(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def _asks_for_context(parameters: list[inspect.Parameter]) -> bool:
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(positional) < 2:
        return False
    return is_context(positional[1])


def is_context(parameter: inspect.Parameter) -> bool:
    """Say whether a parameter is named or typed as the context."""
    return parameter.name in ("ctx", "context") or _means_context(parameter.annotation)


def async_in_sync(what: str, awaitable: Any) -> RunError:
    """The error for something async under a sync run; it closes the coroutine unheard."""
    if inspect.iscoroutine(awaitable):
        awaitable.close()
    return AsyncOnlyError(f"{what} is async: use arun (or ainvoke, aevents) instead of run")


def _means_context(annotation: Any) -> bool:
    """Say whether an annotation, a string with postponed evaluation, means our context."""
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return name.rpartition(".")[2] == "Context" and not name.startswith("decimal.")
