"""Showing a run as it happens: fed with events, on a terminal or as lines."""

from __future__ import annotations

import os
from typing import TextIO

from flowcompose.runner.render.base import Renderer
from flowcompose.runner.render.plain import PlainRenderer

__all__ = ["PlainRenderer", "Renderer", "make_renderer"]


def make_renderer(stream: TextIO, *, plain: bool = False, cap: int | None = None) -> Renderer:
    """Give the live form for a terminal that can redraw, else the plain one.

    Args:
        stream: Where to write.
        plain: Whether to take the plain form in any case.
        cap: The turns that the run takes at most, if that is known.

    We ask the stream, not rich: rich takes a pipe for a terminal where FORCE_COLOR is set.
    """
    if plain or not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        return PlainRenderer(stream, cap=cap)
    from rich.console import Console

    from flowcompose.runner.render.live import LiveRenderer

    return LiveRenderer(Console(file=stream), cap=cap)
