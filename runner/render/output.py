"""A deliverable on the terminal: a panel with its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from flowcompose.runner.render.region import marked
from flowcompose.runner.render.words import as_data, clean, label, title_of

_NARROW = 76
"""Below this, a field's value stands under its name and not beside it."""

_SHORT = 40
"""A name and value of this length share a line, however narrow the terminal."""


def deliverable(output: Any) -> RenderableType:
    """Draw what a run gave."""
    return Panel(_Value(as_data(output)), title=f"[bold]{title_of(output)}[/bold]", padding=(1, 2))


class _Value:
    """Some JSON, drawn for the width that there is."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        yield _drawn(self._value, _beside if width >= _NARROW else _below, spaced=True)


_Layout = Callable[[Text, RenderableType, int], RenderableType]
"""How a field's name, its value and the width of the names are put together."""


def _drawn(value: Any, layout: _Layout, *, spaced: bool = False) -> RenderableType:
    if isinstance(value, Mapping) and value:
        return Group(*_fields(value, layout, spaced=spaced))  # pyright: ignore[reportUnknownArgumentType] - JSON
    if isinstance(value, list) and value:
        return Group(*_items(value, layout))  # pyright: ignore[reportUnknownArgumentType] - JSON
    return _leaf(value)  # pyright: ignore[reportUnknownArgumentType] - JSON


def _fields(value: Mapping[str, Any], layout: _Layout, *, spaced: bool) -> Iterator[RenderableType]:
    width = max(len(label(key)) for key in value)
    for number, (key, each) in enumerate(value.items()):
        if number and spaced:
            yield Text()
        yield layout(Text(label(key), "bold cyan"), _drawn(each, layout), width)


def _items(values: Sequence[Any], layout: _Layout) -> Iterator[RenderableType]:
    for number, each in enumerate(values, 1):
        row = Table.grid(padding=(0, 1), expand=True)
        row.add_column(style="bold")
        row.add_column(ratio=1)
        row.add_row(f"{number}.", _drawn(each, layout))
        yield row


def _beside(name: Text, drawn: RenderableType, width: int) -> RenderableType:
    row = Table.grid(padding=(0, 2), expand=True)
    row.add_column(width=width)
    row.add_column(ratio=1)
    row.add_row(name, drawn)
    return row


def _below(name: Text, drawn: RenderableType, width: int) -> RenderableType:
    if isinstance(drawn, Text) and len(drawn) + len(name) < _SHORT:
        return Text.assemble(name, "  ", drawn)
    return Group(name, Padding(drawn, (0, 0, 0, 2)))


def _leaf(value: object) -> Text:
    return Text("—") if value in (None, "", [], {}) else marked(clean(str(value)))
