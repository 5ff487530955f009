"""What both renderers do: tell the events apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from flowcompose.core import events
from flowcompose.core.events import Event
from flowcompose.core.results import Result
from flowcompose.resources.usage import Usage
from flowcompose.runner.render.counter import Counter
from flowcompose.runner.render.words import clean, is_new, place, words_of


class Renderer(ABC):
    """Shows a run to a person. Feed it every event; use it as a context manager meanwhile.

    A failed turn is shown with the next event, if there is one: where the run ends with the
    failure, who runs it tells the error, and it would stand there twice.
    """

    def __init__(self, cap: int | None = None) -> None:
        self._counter = Counter(cap)
        self._failure: tuple[str, str] | None = None

    def __enter__(self) -> Self:
        return self

    @property
    def progress(self) -> tuple[str, ...]:
        """How far the run is; nothing before its first turn."""
        return self._counter.progress

    @property
    def seconds(self) -> float:
        """Since the renderer was made."""
        return self._counter.seconds

    def feed(self, event: Event) -> None:
        """Show what happened."""
        self._counter.feed(event)
        if self._failure is not None and not isinstance(event, events.TurnFailed):
            self.remark(f"{self._failure[0]} could not speak: {self._failure[1]}")
            self._failure = None
        name = place(event.path, event.agent_name)
        match event:
            case events.RunStarted():
                self.begin(clean(event.pattern))
            case events.RoundStarted():
                self.round(event.round, place(event.path))
            case events.TurnStarted():
                self.open(name)
            case events.Token():
                self.say(name, event.message_id, clean(event.text))
            case events.ToolCalled() | events.ToolReturned():
                self.tool(name, event)
            case events.TurnRetried():
                wait = f"trying again in {event.wait:.1f} s"
                self.drop(name, f"{name}: {wait}: {clean(event.reason)}")
            case events.TurnCompleted():
                self.close(name, clean(words_of(event.contribution)))
            case events.TurnFailed():
                self.abandon(name)
                self._failure = name, clean(event.error)
            case events.CritiqueAdded():
                self.critique(name, event.critique.round, clean(event.critique.critique))
            case events.RunStopped():
                self.conclude(place(event.path))
            case events.RunCompleted():
                self.finish(event.result)
            case _:  # a decision without a wait, or what a block sends to its own program
                pass

    def broke_off(self, how: str, left: Result[Any], usage: Usage | None = None) -> None:
        """Tell what there is of a run that did not come to its end.

        Args:
            how: `interrupted` or `failed`.
            left: What was seen of it.
            usage: What an error knows of the cost: that of failed turns, too.
        """
        counted = left if usage is None else left.model_copy(update={"usage": usage})
        self.end(how, self._counter.so_far(counted))

    def is_new(self, result: Result[Any]) -> bool:
        """Say whether the deliverable is yet to be shown."""
        return is_new(result, heard=self._counter.contributions > 0)

    def spent(self, result: Result[Any]) -> tuple[str, ...]:
        """What a run took."""
        return self._counter.spent(result)

    @abstractmethod
    def __exit__(self, *error: object) -> None:
        """Give the terminal back; texts that are not finished stay, and say so."""

    @abstractmethod
    def note(self, about: str, said: str) -> None:
        """Show a fact about the run, before it begins."""

    @abstractmethod
    def begin(self, pattern: str) -> None:
        """Show that a run begins."""

    @abstractmethod
    def round(self, number: int, where: str) -> None:
        """Show that a round begins."""

    @abstractmethod
    def open(self, name: str) -> None:
        """Show that somebody is about to speak."""

    @abstractmethod
    def say(self, name: str, message_id: str, piece: str) -> None:
        """Show a piece of a text; another message begins the text anew."""

    @abstractmethod
    def tool(self, name: str, event: events.ToolCalled | events.ToolReturned) -> None:
        """Show a tool's call or answer."""

    @abstractmethod
    def drop(self, name: str, reason: str) -> None:
        """Take back what was said in this turn, for it will be said again."""

    @abstractmethod
    def close(self, name: str, text: str) -> None:
        """Show a finished contribution, however much of it was shown before."""

    @abstractmethod
    def abandon(self, name: str) -> None:
        """Show that a text will not be finished."""

    @abstractmethod
    def critique(self, name: str, number: int, text: str) -> None:
        """Show what the referee said."""

    @abstractmethod
    def remark(self, said: str) -> None:
        """Show something that went wrong and did not end the run."""

    @abstractmethod
    def conclude(self, where: str) -> None:
        """Show that nobody speaks any more, and the deliverable is being made."""

    @abstractmethod
    def finish(self, result: Result[Any]) -> None:
        """Show the deliverable, and why the run ended."""

    @abstractmethod
    def end(self, how: str, facts: tuple[str, ...]) -> None:
        """Show the last line of a run."""
