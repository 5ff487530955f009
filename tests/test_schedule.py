"""The turn loop under another schedule: what a pattern of its own has to bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from flowcompose import Context, MaxTurnsReached, Pattern, RosterEntry, RunError, TurnInput
from flowcompose.core import events
from flowcompose.core.conditions import as_condition, text_mention
from flowcompose.core.definition import Problems
from flowcompose.core.panel import Panel
from flowcompose.core.results import Stop
from flowcompose.patterns.turn_loop.build import PatternBuilder
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.roster import read_roster
from flowcompose.patterns.turn_loop.schedule import Decision, Schedule, Speak


@dataclass(frozen=True)
class FollowTheName(Schedule):
    """Who was named last in what was just said speaks next; nobody named ends it."""

    names: tuple[str, ...]
    cap: int

    def first(self, ctx: Context) -> Decision:
        return Speak((ctx.goal.split()[0],))

    def after(self, spoke: tuple[str, ...], ctx: Context, memo: Any) -> Decision:
        (speaker,) = spoke
        said = ctx.contributions[-1].text
        named = [name for name in self.names if name in said and name != speaker]
        if not named:
            return Stop(reason="no_transition", by=speaker)
        if ctx.state.turn >= self.cap:
            return Stop(reason="max_turns")
        return Speak((named[-1],))

    @property
    def turns_per_round(self) -> int | None:
        return None

    @property
    def max_turns(self) -> int:
        return self.cap

    def successors(self, speaker: str | None) -> tuple[str | None, ...]:
        others = tuple(name for name in self.names if name != speaker)
        return others if speaker is None else (*others, None)


def follow(says: dict[str, list[str]], *, cap: int = 10, **options: Any) -> Pattern[Any]:
    def speak(turn: TurnInput) -> str:
        before = sum(c.agent_name == turn.agent_name for c in turn.contributions)
        return [*says[turn.agent_name], *["the end"] * 9][before]

    problems = Problems("follow")
    entries = [RosterEntry(name=name, block=speak) for name in says]
    members = read_roster(entries, lambda entry: pytest.fail("no default here"), problems)
    problems.raise_if_any()
    plan = Plan(
        description="follow",
        panel=Panel(name="follow"),
        members=members,
        schedule=FollowTheName(tuple(says), cap),
        raw_output=lambda given: given.contributions[-1].text if given.contributions else None,
        collection_id="follow",
        **options,
    )
    return PatternBuilder(plan).compile()


SAYS = {"ann": ["ask bob", "that is all"], "bob": ["cy knows"], "cy": ["back to ann"]}


def test_the_schedule_alone_decides_who_speaks() -> None:
    result = follow(SAYS).run("ann begins")
    assert [c.agent_name for c in result.contributions] == ["ann", "bob", "cy", "ann"]
    assert (result.stop.reason, result.stop.by) == ("no_transition", "ann")
    assert result.output == "that is all"


async def test_it_works_on_the_async_path() -> None:
    result = await follow(SAYS).arun("cy begins")
    assert [c.agent_name for c in result.contributions] == ["cy", "ann", "bob", "cy"]


def test_a_cap_is_asked_only_when_somebody_would_speak_next() -> None:
    assert follow(SAYS, cap=4).run("ann").stop.reason == "no_transition"
    assert follow(SAYS, cap=3).run("ann").stop.reason == "max_turns"
    with pytest.raises(MaxTurnsReached):
        follow(SAYS, cap=3, on_limit="raise").run("ann")


def test_without_rounds_a_condition_is_asked_after_every_turn() -> None:
    result = follow(SAYS, terminate=as_condition(text_mention("cy"))).run("ann")
    assert [c.agent_name for c in result.contributions] == ["ann", "bob"]
    assert result.stop.by == "text_mention('cy')"


def test_events_tell_the_turns() -> None:
    seen = [e.agent_name for e in follow(SAYS).events("ann") if isinstance(e, events.TurnStarted)]
    assert seen == ["ann", "bob", "cy", "ann"]


def test_one_object_serves_two_runs() -> None:
    pattern = follow(SAYS)
    assert pattern.run("ann").turns == 4
    assert pattern.run("bob").turns == 4


def test_a_schedule_that_fails_at_the_start_is_a_run_error() -> None:
    with pytest.raises(
        RunError, match="'follow': the schedule failed before the first turn: IndexError"
    ):
        follow(SAYS).run("")


def test_the_drawing_follows_the_schedule() -> None:
    drawn = follow(SAYS).mermaid()
    assert "ann -.-> bob" in drawn
    assert "bob -.-> __end__" in drawn
    assert "ann -.-> ann" not in drawn
