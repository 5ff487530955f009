"""Prompt texts: fixed ones, and functions that write them when they are needed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flowcompose.core.context import Context
from flowcompose.core.functions import async_in_sync, is_async, takes_context

Text = str | Callable[..., Any] | Sequence["str | Callable[..., Any]"]
"""A text, a function of the input (and ctx) that gives one or None, or several of these."""


def parts_of(text: Text | None) -> tuple[str | Callable[..., Any], ...]:
    """Give the pieces of `text`, of which there may be none."""
    if text is None:
        return ()
    return (text,) if isinstance(text, str) or callable(text) else tuple(text)


def render(text: Text | None, value: Any, ctx: Context) -> str:
    """Write `text` for one call; pieces that give nothing are left out."""
    written = (_write(part, value, ctx) for part in parts_of(text))
    return "\n\n".join(str(each) for each in written if each)


def joined(texts: Iterable[Text | None]) -> Text | None:
    """Put several texts together into one."""
    parts = tuple(part for text in texts for part in parts_of(text))
    return parts or None


def _write(part: str | Callable[..., Any], value: Any, ctx: Context) -> Any:
    if isinstance(part, str):
        return part
    written = part(value, ctx) if takes_context(part) else part(value)
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
