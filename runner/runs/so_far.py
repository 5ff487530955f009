"""What there is of a run that has not come to its end."""

from __future__ import annotations

from typing import Any

from flowcompose.core import events
from flowcompose.core.events import Event
from flowcompose.core.results import Result, Stop
from flowcompose.resources.contributions import Contribution
from flowcompose.resources.critiques import RefereeCritique
from flowcompose.resources.usage import Tokens, Usage

_AFTER_ROUNDS = ("completed", "max_rounds")
"""Why it is at the end of a round that nobody speaks any more."""


class SoFar:
    """Gathers from events what the result would hold; feed it every event.

    Args:
        before: What a resumed run had before.
    """

    def __init__(self, before: Result[Any] | None = None) -> None:
        usage = before.usage if before else Usage()
        self.turns = before.turns if before else 0
        self._rounds = before.rounds if before else 0
        self._round = 0
        self._said: list[Contribution] = list(before.contributions) if before else []
        self._critiques: list[RefereeCritique] = list(before.referee_critiques) if before else []
        self._by_member = dict(usage.by_member)
        self._inside: list[tuple[tuple[str, ...], Tokens]] = []
        """What was spent inside of members that are not done, and where."""
        self._asking: list[tuple[str, ...]] = []
        """Who waits for a tool: what is said in there is an answer to them, and no message."""
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
            case events.ToolCalled():
                self._asking.append((*event.path, event.agent_name))
            case events.ToolReturned():
                self._answered((*event.path, event.agent_name))
            case events.TurnFailed():
                self._failed(event)
            case events.RoundStarted() if not event.path:
                self._rounds, self._round = event.round - 1, event.round
            case events.RunStopped() if not event.path and event.stop.reason in _AFTER_ROUNDS:
                self._rounds = max(self._rounds, self._round)
            case events.CritiqueAdded() if not event.path:
                self._rounds = event.critique.round
                self._critiques.append(event.critique)
                self._referee += event.usage
            case events.CritiqueAdded():
                self._inside.append((event.path, event.usage))
            case _:
                pass

    def _turn(self, event: events.TurnCompleted) -> None:
        """What was said and spent inside of a member stands until the member itself is done."""
        within = (*event.path, event.agent_name)
        self._said = [each for each in self._said if not _is_in(each.path, within)]
        if not any(_is_in(event.path, asking) for asking in self._asking):
            self._said.append(event.contribution.model_copy(update={"path": event.path}))
        self._over(within)
        self._spend(event, event.usage)
        if not event.path:
            self.turns = max(self.turns, event.turn)

    def _over(self, within: tuple[str, ...]) -> None:
        self._inside = [each for each in self._inside if not _is_in(each[0], within)]
        self._asking = [each for each in self._asking if not _is_in(each, within)]

    def _answered(self, asking: tuple[str, ...]) -> None:
        if asking in self._asking:
            self._asking.remove(asking)

    def _failed(self, event: events.TurnFailed) -> None:
        """What was spent inside stays spent: what the member does next begins anew."""
        within = (*event.path, event.agent_name)
        lost = [spent for path, spent in self._inside if _is_in(path, within)]
        self._over(within)
        self._spend(event, sum(lost, Tokens()))
        if not event.path:
            self.turns = max(self.turns, event.turn)

    def _spend(self, event: Event, spent: Tokens) -> None:
        if event.path:
            self._inside.append((event.path, spent))
        else:
            member = event.agent_name
            self._by_member[member] = self._by_member.get(member, Tokens()) + spent

    def _usage(self) -> Usage:
        """Count what was spent inside for the members of the run itself."""
        by_member = dict(self._by_member)
        for path, spent in self._inside:
            by_member[path[0]] = by_member.get(path[0], Tokens()) + spent
        return Usage.of_parts(by_member, selector=self._selector, referee=self._referee)

    def result(self, stop: Stop) -> Result[Any]:
        """Give it as the result of a run that ended so."""
        return Result(
            output=None,
            contributions=self._said,
            rounds=self._rounds,
            turns=self.turns,
            referee_critiques=self._critiques,
            stop=stop,
            usage=self._usage(),
            thread_id=self.thread,
        )


def _is_in(path: tuple[str, ...], within: tuple[str, ...]) -> bool:
    return path[: len(within)] == within
