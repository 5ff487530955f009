"""The transcript as lines, for pipes and logs: every line says whose it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from flowcompose.core import events
from flowcompose.core.results import Result
from flowcompose.runner.render.base import Renderer
from flowcompose.runner.render.words import as_data, call, clean, title_of, why
from flowcompose.runner.unwritable import UnwritableError, writing

_OFTEN = 30.0
"""Seconds after which a long run says again how far it is."""


@dataclass
class _Said:
    """What somebody has said in this turn, and how much of it stands in the output."""

    message_id: str = ""
    text: str = ""
    shown: int = 0


class PlainRenderer(Renderer):
    """Writes `name: line` as soon as a line is complete, and nothing but text."""

    def __init__(self, stream: TextIO, *, cap: int | None = None) -> None:
        super().__init__(cap)
        self._told = 0.0
        self._stream = stream
        self._saying: dict[str, _Said] = {}

    def __exit__(self, *error: object) -> None:
        """Write out the lines that somebody was in the middle of."""
        if error and isinstance(error[1], UnwritableError):
            return
        for name in list(self._saying):
            self.abandon(name)

    def note(self, about: str, said: str) -> None:
        """Show a fact about the run."""
        self._lines(about, said)

    def begin(self, pattern: str) -> None:
        """Show that a run begins."""
        self._write(f"== {pattern}")

    def round(self, number: int, where: str) -> None:
        """Show that a round begins."""
        self._write(f"== {f'{where}: ' if where else ''}round {number}")

    def open(self, name: str) -> None:
        """Begin a text."""
        self._saying[name] = _Said()

    def say(self, name: str, message_id: str, piece: str) -> None:
        """Write the lines that are complete."""
        said = self._saying.setdefault(name, _Said())
        if message_id != said.message_id:
            self._rest(name)
            said = self._saying[name] = _Said(message_id)
        said.text += piece
        complete = said.text.rfind("\n") + 1
        if complete > said.shown:
            self._lines(name, said.text[said.shown : complete])
            said.shown = complete

    def tool(self, name: str, event: events.ToolCalled | events.ToolReturned) -> None:
        """Show a tool's call or answer."""
        self._rest(name)
        if isinstance(event, events.ToolCalled):
            self._lines(name, f"-> {call(event)}")
        else:
            self._lines(name, f"<- {event.tool} {event.status}: {clean(event.text)}")

    def drop(self, name: str, reason: str) -> None:
        """Say that the lines of this turn are void; they cannot be taken back."""
        said = self._saying.pop(name, _Said())
        self._lines("!", reason + ("; its lines of this turn are void" if said.shown else ""))

    def close(self, name: str, text: str) -> None:
        """Write what is missing of a contribution; all of it if it was not streamed."""
        said = self._saying.get(name, _Said())
        if said.text.strip() == text.strip():
            self._rest(name)
        else:
            self._lines(name, text)
        self._saying.pop(name, None)
        if self.seconds - self._told >= _OFTEN:
            self._told = self.seconds
            self._write(f"== {'; '.join(self.progress)}")

    def abandon(self, name: str) -> None:
        """Write out the unfinished line, marked as such."""
        said = self._saying.pop(name, _Said())
        if said.text:
            self._lines(name, f"{said.text[said.shown :]} [broken off]".lstrip())

    def critique(self, name: str, number: int, text: str) -> None:
        """Show what the referee said."""
        self._lines(name, text)

    def remark(self, said: str) -> None:
        """Show something that went wrong."""
        self._lines("!", said)

    def conclude(self, where: str) -> None:
        """Nothing: the next line will be the deliverable's."""

    def finish(self, result: Result[Any]) -> None:
        """Show the deliverable field by field, and why the run ended."""
        self._saying.clear()
        if self.is_new(result):
            self._write(f"== {title_of(result.output)}")
            for path, value in _leaves("", as_data(result.output)):
                self._lines(path or "output", value)
        self.end(f"stopped: {why(result)}", self.spent(result))

    def end(self, how: str, facts: tuple[str, ...]) -> None:
        """Show the last line."""
        self._write(f"== {'; '.join((how, *facts))}")

    def _rest(self, name: str) -> None:
        said = self._saying.get(name, _Said())
        if said.text[said.shown :]:
            self._lines(name, said.text[said.shown :])
            said.shown = len(said.text)

    def _lines(self, name: str, text: str) -> None:
        for line in text.strip("\n").split("\n"):
            self._write(f"{name}: {line}".rstrip())

    def _write(self, line: str) -> None:
        # Flushed line by line: who reads the other end of a pipe wants to follow.
        with writing():
            self._stream.write(f"{line}\n")
            self._stream.flush()


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Give each value of a deliverable with the path to it."""
    if isinstance(value, dict):
        for key, each in value.items():  # pyright: ignore[reportUnknownVariableType] - JSON
            yield from _leaves(f"{path}.{key}" if path else str(key), each)  # pyright: ignore[reportUnknownArgumentType] - JSON
    elif isinstance(value, list):
        for number, each in enumerate(value, 1):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
            yield from _leaves(f"{path}[{number}]", each)
    else:
        yield path, clean(str(value))
