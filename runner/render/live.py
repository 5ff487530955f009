"""The transcript on a terminal: who speaks is redrawn while the text arrives."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.rule import Rule
from rich.text import Text

from flowcompose.core import events
from flowcompose.core.results import Result
from flowcompose.runner.render.base import Renderer
from flowcompose.runner.render.output import deliverable
from flowcompose.runner.render.region import Region, below, marked, measured, titled
from flowcompose.runner.render.words import call, clean, why
from flowcompose.runner.unwritable import UnwritableError, writing

_HUES = ("cyan", "magenta", "green", "yellow", "blue", "bright_red", "bright_cyan")


class LiveRenderer(Renderer):
    """Prints what is finished, and redraws below it what is being said.

    A text that is being said may yet be taken back, so it is not printed before it is
    complete. While it is longer than the screen, its end is shown.
    """

    def __init__(self, console: Console, *, cap: int | None = None) -> None:
        super().__init__(cap)
        self._console = console
        self._hues: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._region = Region(lambda: " · ".join(self.progress))
        self._live = Live(self._region, console=console, refresh_per_second=12, transient=True)

    def __exit__(self, *error: object) -> None:
        """Print the texts that somebody was in the middle of, and give the terminal back."""
        self._region.waiting = ""
        if error and isinstance(error[1], UnwritableError):
            self._region.texts.clear()
        for name in list(self._region.texts):
            self.abandon(name)
        with writing():
            self._live.stop()

    def note(self, about: str, said: str) -> None:
        """Show a fact about the run."""
        self._print(Text.assemble((f"{about}  ", "bold"), said))

    def begin(self, pattern: str) -> None:
        """Show that a run begins."""
        self._print(Text.assemble(("flow  ", "bold"), pattern))
        with writing():
            self._live.start()

    def round(self, number: int, where: str) -> None:
        """Show that a round begins."""
        title = f"{where}: round {number}" if where else f"Round {number}"
        self._print(Text(), Rule(Text(title, "bold"), align="left", style="dim"))

    def open(self, name: str) -> None:
        """Show who is about to speak."""
        self._region.waiting = f"{name} …"
        self._region.hues[name] = self._hue(name)

    def say(self, name: str, message_id: str, piece: str) -> None:
        """Show a piece of a text."""
        if self._ids.get(name) != message_id:
            self._ids[name] = message_id
            self._region.texts[name] = ""
            self._region.hues[name] = self._hue(name)
        self._region.texts[name] = self._region.texts.get(name, "") + piece

    def tool(self, name: str, event: events.ToolCalled | events.ToolReturned) -> None:
        """Show a tool's call or answer, below what was said before it."""
        if said := self._region.texts.pop(name, "").strip():
            self._print_below(name, marked(said))
        if isinstance(event, events.ToolCalled):
            told = f"→ {call(event)}"
        else:
            mark = "←" if event.status == "success" else "✗"
            told = f"{mark} {event.tool}: {clean(event.text)}"
        self._print_below(name, self._line(name, told))

    def drop(self, name: str, reason: str) -> None:
        """Take back what was said in this turn."""
        self._region.texts.pop(name, None)
        self._print(Text(f"\n↻ {reason}", "yellow"))

    def close(self, name: str, text: str) -> None:
        """Print a contribution."""
        self._region.texts.pop(name, None)
        self._region.waiting = "…"
        self._print_below(name, marked(text.strip()))
        self._region.heading = ""

    def abandon(self, name: str) -> None:
        """Print what there is of a text."""
        if said := self._region.texts.pop(name, "").strip():
            self._print_below(name, marked(said), Text("[broken off]", "dim"))

    def critique(self, name: str, number: int, text: str) -> None:
        """Show what the referee said."""
        self._print(*titled(f"{name} on round {number}", "red", Text(text.strip(), "italic")))

    def remark(self, said: str) -> None:
        """Show something that went wrong."""
        self._print(Text(f"\n✗ {said}", "red"))

    def conclude(self, where: str) -> None:
        """Show that the deliverable is being made."""
        self._region.waiting = f"{f'{where}: ' if where else ''}putting the result together …"

    def finish(self, result: Result[Any]) -> None:
        """Show the deliverable, and why the run ended."""
        self._region.texts.clear()
        if self.is_new(result):
            self._print(Text(), deliverable(result.output))
        self.end("stopped", (why(result), *self.spent(result)))

    def end(self, how: str, facts: tuple[str, ...]) -> None:
        """Show the last line."""
        self._region.waiting = ""
        self._print(Text(), Text.assemble((f"{how}  ", "bold"), " · ".join(facts)))

    def _hue(self, name: str) -> str:
        return self._hues.setdefault(name, _HUES[len(self._hues) % len(_HUES)])

    def _line(self, name: str, said: str) -> RenderableType:
        return Text(said.replace("\n", " "), self._hue(name), no_wrap=True, overflow="ellipsis")

    def _print_below(self, name: str, *said: RenderableType) -> None:
        """Print below the name of who speaks, which need not stand there twice."""
        if self._region.heading == name:
            self._print(below(*said), heading=name)
        else:
            self._print(*titled(name, self._hue(name), *said), heading=name)

    def _print(self, *parts: RenderableType, heading: str = "") -> None:
        """Print above the region. In one piece, so that nothing flickers."""
        self._region.heading = heading
        with writing():
            self._console.print(measured(Group(*parts)))
