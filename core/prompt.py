"""Prompt texts: fixed ones, and functions that write them when they are needed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from flowcompose.core.context import Context
from flowcompose.core.functions import async_in_sync, is_async, takes_context, with_context

Text = str | Callable[..., Any] | Sequence["str | Callable[..., Any]"]
"""A text, a function of the input (and ctx) that gives one or None, or several of these."""


class Prompt:
    """Texts, ready to be written for one call after another."""

    def __init__(self, *texts: Text | None) -> None:
        self.parts = tuple(part for text in texts for part in _parts_of(text))
        """The texts and functions as they were given."""
        self._parts = [p if isinstance(p, str) else with_context(p) for p in self.parts]

    def write(self, value: Any, ctx: Context) -> str:
        """Write the text for one call; pieces that give nothing are left out."""
        written = [p if isinstance(p, str) else _plain(p(value, ctx)) for p in self._parts]
        return "\n\n".join(str(each) for each in written if each)


def _parts_of(text: Text | None) -> Sequence[str | Callable[..., Any]]:
    if text is None:
        return ()
    return (text,) if isinstance(text, str) or callable(text) else text


def _plain(written: Any) -> Any:
    if inspect.isawaitable(written):
        raise async_in_sync("a prompt function", written)
    return written


def problems_of_text(argument: str, text: object) -> list[str]:
    """Say what is wrong with a text argument."""
    if text is None or isinstance(text, str):
        return []
    if isinstance(text, Sequence) and not isinstance(text, (bytes, bytearray)):
        return [problem for part in text for problem in problems_of_text(argument, part)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - checked one by one
    if not callable(text):
        allowed = "a string, a function (input) or (input, ctx), or a list of these"
        return [f"{argument} must be {allowed}, got {text!r}"]
    if is_async(text):
        return [f"{argument} must be a plain function, got the async {text!r}"]
    try:
        takes_context(text)
    except TypeError as error:
        return [f"{argument}: {error}"]
    return []
