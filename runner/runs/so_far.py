"""What there is of a run that has not come to its end."""

from __future__ import annotations

from typing import Any

from flowcompose.core import events
from flowcompose.core.events import Event
from flowcompose.core.results import Result, Stop
from flowcompose.resources.contributions import Contribution
from flowcompose.resources.critiques import RefereeCritique
from flowcompose.resources.usage import Tokens, Usage


class SoFar:
    """Gathers from events what the result would hold; feed it every event.

    Args:
        before: What a resumed run had before.
    """

    def __init__(self, before: Result[Any] | None = None) -> None:
        usage = before.usage if before else Usage()
        self.turns = before.turns if before else 0
        self._rounds = before.rounds if before else 0
        self._said: list[Contribution] = list(before.contributions) if before else []
        self._critiques: list[RefereeCritique] = list(before.referee_critiques) if before else []
        self._by_member = dict(usage.by_member)
        self._referee = usage.referee
        self._selector = usage.selector
        self.thread: str | None = None

    def feed(self, event: Event) -> None:
        """Take in what happened."""
        match event:
            case events.RunStarted():
                self.thread = event.thread_id
            case events.TurnCompleted():
                self._turn(event)
            case events.TurnFailed() if not event.path:
                self.turns = max(self.turns, event.turn)
            case events.RoundStarted() if not event.path:
                self._rounds = event.round - 1
            case events.CritiqueAdded() if not event.path:
                self._rounds = event.critique.round
                self._critiques.append(event.critique)
                self._referee += event.usage
            case _:
                pass

    def _turn(self, event: events.TurnCompleted) -> None:
        """What was said inside of a member stands until the member itself has spoken."""
        within = (*event.path, event.agent_name)
        self._said = [each for each in self._said if each.path[: len(within)] != within]
        self._said.append(event.contribution.model_copy(update={"path": event.path}))
        if not event.path:
            self.turns = max(self.turns, event.turn)
            spent = self._by_member.get(event.agent_name, Tokens())
            self._by_member[event.agent_name] = spent + event.usage

    def result(self, stop: Stop) -> Result[Any]:
        """Give it as the result of a run that ended so."""
        return Result(
            output=None,
            contributions=self._said,
            rounds=self._rounds,
            turns=self.turns,
            referee_critiques=self._critiques,
            stop=stop,
            usage=Usage.of_parts(self._by_member, selector=self._selector, referee=self._referee),
            thread_id=self.thread,
        )
