"""The part of the terminal that is redrawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.padding import Padding
from rich.segment import Segment
from rich.spinner import Spinner
from rich.text import Text

_MEASURE = 100
"""Longer lines are hard to read, however wide the terminal."""


# Secrets are masked as ***, also inside of bold text and beside its marks: a mask is no mark.
_BOLD = re.compile(
    r"""
    (?<!\*)\*\*(?!\s)
    ((?:
        [^*\n]
      | (?<!\*)\*(?!\*)               # one that stands alone
      | (?<=\s)\*\*(?=\s)             # two between words
      | \*{3}(?!\*)                   # a mask,
      | (?<!\*)\*{3}(?=\*\*(?!\*))    # at the end, too; but more than masks
    )+?)
    (?<!\s)\*\*(?!\*)
    """,
    re.VERBOSE,
)


def measured(content: RenderableType) -> RenderableType:
    """Bound the width for reading."""
    return Constrain(content, _MEASURE)


def titled(name: str, hue: str, *content: RenderableType) -> Iterator[RenderableType]:
    """A blank line, a name, and what it said."""
    yield Text()
    yield Text(name, f"bold {hue}")
    yield below(*content)


def below(*content: RenderableType) -> RenderableType:
    """What stands below a name."""
    return Padding(Group(*content), (0, 0, 0, 2), expand=False)


def marked(text: str) -> Text:
    """Show the one mark that models put everywhere: `**bold**`. All else stays as written."""
    drawn = Text()
    for number, part in enumerate(_BOLD.split(text)):
        drawn.append(part, "bold" if number % 2 else "")
    return drawn


class Region:
    """The texts that are being said, and what is waited for. Drawn by another thread."""

    def __init__(self, status: Callable[[], str] = str) -> None:
        self._status = status
        self.texts: dict[str, str] = {}
        self.hues: dict[str, str] = {}
        self.waiting = ""
        self.heading = ""
        """Who speaks by the last heading above the region, and is not done."""
        self._spinner = Spinner("dots", style="dim")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the end of it that fits, for what leaves the screen cannot be redrawn."""
        lines = console.render_lines(measured(Group(*self._parts())), options, pad=False)
        for line in lines[-max(options.size.height - 1, 1) :]:
            yield from line
            yield Segment.line()

    def _parts(self) -> Iterator[RenderableType]:
        texts = [(name, text) for name, text in list(self.texts.items()) if text.strip()]
        for number, (name, text) in enumerate(texts):
            said = marked(text.strip())
            goes_on = not number and name == self.heading
            yield from (below(said),) if goes_on else titled(name, self.hues[name], said)
        status = self._status() if self.waiting else ""
        if texts and status:
            yield Text()
            yield Text(status, "dim")
        elif self.waiting:
            line = " · ".join(filter(None, (self.waiting, status)))
            self._spinner.text = Text(line, "dim")
            yield Text()
            yield self._spinner
