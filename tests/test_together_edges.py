"""Corners of members that speak at once: what they write, threads, endings, events."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt
from pydantic import BaseModel

from flowcompose import (
    Context,
    MemberError,
    Pattern,
    Result,
    RosterEntry,
    TurnInput,
    graph,
    handler,
    resource,
    round_robin,
    selector,
    sequential,
)
from flowcompose.core import events
from flowcompose.core.tools import terminate

both_paths = pytest.mark.parametrize("use_async", [False, True])
all_scopes = pytest.mark.parametrize("scope", ["run", "session", "user"])
Act = Callable[[Any, Context], str]


def name_of(turn: TurnInput) -> str:
    return turn.agent_name


def panel(roster: Any, **options: Any) -> Pattern[Any]:
    """A round of members that speak at once: letters say their name."""
    entries = [RosterEntry(m, block=name_of) if isinstance(m, str) else m for m in roster]
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    given = {"name": "panel", "roster": entries, "max_rounds": 1, "synthesizer": False}
    return build(**{**given, "speak": "at_once", **options})


async def run(pattern: Pattern[Any], *, use_async: bool, **options: Any) -> Result[Any]:
    return await pattern.arun("go", **options) if use_async else pattern.run("go", **options)


async def events_of(pattern: Pattern[Any], *, use_async: bool) -> list[events.Event]:
    if use_async:
        return [event async for event in pattern.aevents("go")]
    return list(pattern.events("go"))


def speakers(result: Result[Any]) -> list[str]:
    return [each.agent_name for each in result.contributions]


# What they write


class Notes(BaseModel):
    a: str = ""
    b: str = ""
    c: str = ""
    last: str = ""


USER: Any = {"config": {"configurable": {"user_id": "u"}}}


class Far(InMemoryStore):
    """A store that takes its time, so that others can read before one has written."""

    def batch(self, ops: Any) -> Any:
        found = super().batch(ops)
        time.sleep(0.02)
        return found

    async def abatch(self, ops: Any) -> Any:
        found = super().batch(ops)
        await asyncio.sleep(0.02)
        return found


def using(notes: Any, **acts: Act) -> list[RosterEntry]:
    return [RosterEntry(name, block=handler(act, resources=[notes])) for name, act in acts.items()]


@both_paths
@all_scopes
async def test_what_three_write_at_once_is_all_kept(scope: Any, use_async: bool) -> None:
    notes = resource("notes", Notes, scope=scope)
    everyone = threading.Barrier(3)

    def write(turn: TurnInput, ctx: Context) -> str:
        if turn.round == 2:
            return str(ctx.resources[notes].state.model_dump_json())
        everyone.wait(20)  # each has read before any has written
        ctx.resources[notes].patch(**{turn.agent_name: turn.agent_name})
        everyone.wait(20)
        return "x"

    store = Far()
    pattern = panel(using(notes, a=write, b=write, c=write), max_rounds=2, store=store)
    result = await run(pattern, use_async=use_async, **USER)
    assert {said.text for said in result.contributions[3:]} == {
        Notes(a="a", b="b", c="c").model_dump_json()
    }
    if scope == "user":
        (kept,) = store.search(("flowcompose",))
        assert [kept.value[name] for name in "abc"] == ["a", "b", "c"]


@both_paths
@all_scopes
@pytest.mark.parametrize("names", [["zed", "amy"], ["amy", "zed"]])
async def test_of_two_that_write_the_same_the_later_in_the_roster_wins(
    names: list[str], scope: Any, use_async: bool
) -> None:
    notes = resource("notes", Notes, scope=scope)
    written = threading.Event()

    def write(turn: TurnInput, ctx: Context) -> str:
        if turn.round == 2:
            return ctx.resources[notes].state.last
        if turn.agent_name == names[0]:
            assert written.wait(20)  # the first in the roster is the last to be done
        ctx.resources[notes].patch(last=turn.agent_name)
        written.set()
        return "x"

    roster = using(notes, **dict.fromkeys(names, write))
    pattern = panel(roster, max_rounds=2, store=InMemoryStore())
    result = await run(pattern, use_async=use_async, **USER)
    assert [said.text for said in result.contributions[2:]] == [names[1]] * 2


@both_paths
@all_scopes
async def test_a_turn_that_is_taken_again_sees_what_the_others_saw(
    scope: Any, use_async: bool
) -> None:
    notes = resource("notes", Notes, scope=scope)
    fails = [True]
    saw: list[tuple[str, int, str]] = []

    def write(turn: TurnInput, ctx: Context) -> str:
        saw.append((turn.agent_name, turn.round, ctx.resources[notes].state.last))
        ctx.resources[notes].patch(last=turn.agent_name)
        if turn.agent_name == "a" and fails:
            raise ValueError(f"down {fails.pop()}")
        return turn.agent_name

    roster = using(notes, a=write, b=write, c=write)
    options: Any = {"checkpointer": InMemorySaver(), "store": InMemoryStore()}
    pattern = panel(roster, max_rounds=2, **options)
    with pytest.raises(MemberError, match="down"):
        await run(pattern, use_async=use_async, thread_id="t", **USER)
    resumed = await pattern.aresume("t", **USER) if use_async else pattern.resume("t", **USER)
    assert speakers(resumed) == [*"abcabc"]
    assert sorted(saw[:3]) == [("a", 1, ""), ("b", 1, ""), ("c", 1, "")]
    assert saw[3] == ("a", 1, "")
    assert sorted(saw[4:]) == [("a", 2, "c"), ("b", 2, "c"), ("c", 2, "c")]


# How many at a time


@both_paths
async def test_a_round_does_not_limit_a_larger_team_inside(use_async: bool) -> None:
    everyone = threading.Barrier(14)

    def meet(turn: TurnInput) -> str:
        everyone.wait(20)
        return "x"

    team = panel([RosterEntry(f"m{n}", block=meet) for n in range(14)], name="team")
    outer = panel([*"abcde", RosterEntry("team", block=team)])
    assert speakers(await run(outer, use_async=use_async)) == [*"abcde", "team"]


@both_paths
@pytest.mark.parametrize("nested", [False, True])
async def test_a_limit_of_the_users_own_is_kept(nested: bool, use_async: bool) -> None:
    two, third, lock = threading.Barrier(2), threading.Event(), threading.Lock()
    at_work: list[str] = []

    def work(turn: TurnInput) -> str:
        with lock:
            at_work.append(turn.agent_name)
            if len(at_work) > 2:
                third.set()
        two.wait(20)
        third.wait(0.05)  # leaves one more the time to come, if it may
        with lock:
            at_work.remove(turn.agent_name)
        return "x"

    team = panel([RosterEntry(f"m{n}", block=work) for n in range(14)], name="team")
    pattern = panel([*"abcde", RosterEntry("team", block=team)]) if nested else team
    result = await run(pattern, use_async=use_async, config={"max_concurrency": 2})
    assert result.turns == (6 if nested else 14)
    assert not third.is_set()


async def test_twelve_plain_functions_speak_at_once_on_the_async_path() -> None:
    everyone = threading.Barrier(12)

    def meet(turn: TurnInput) -> str:
        everyone.wait(20)
        return "x"

    pattern = panel([RosterEntry(f"m{n}", block=meet) for n in range(12)])
    assert (await pattern.arun("go")).turns == 12


# Endings


@both_paths
@pytest.mark.parametrize("speak", ["in_turn", "at_once"])
async def test_a_member_that_ends_the_run_and_then_fails_does_not_end_it(
    speak: str, use_async: bool
) -> None:
    def quits(turn: TurnInput, ctx: Context) -> str:
        terminate.invoke({"response": "done"}, ctx.config)
        raise ValueError("after all")

    roster = [RosterEntry("q", block=quits), "b"]
    pattern = panel(roster, speak=speak, on_error="skip", max_rounds=2)
    result = await run(pattern, use_async=use_async)
    assert (speakers(result), result.stop.reason) == (["b", "b"], "max_rounds")
    assert [each.error for each in result.tasks if each.error] == ["ValueError: after all"] * 2


# Events


@both_paths
async def test_a_round_starts_with_its_first_turn_and_the_run_stops_with_its_last(
    use_async: bool,
) -> None:
    began = {name: threading.Event() for name in "abc"}
    began["c"].set()

    def speak(turn: TurnInput) -> str:
        after = {"a": "b", "b": "c", "c": "c"}[turn.agent_name]
        assert began[after].wait(20)
        began[turn.agent_name].set()
        return "x"

    pattern = panel([RosterEntry(name, block=speak) for name in "cab"], max_rounds=2)
    seen = await events_of(pattern, use_async=use_async)
    rounds = [(e.round, e.turn) for e in seen if isinstance(e, events.RoundStarted)]
    assert rounds == [(1, 1), (2, 4)]
    assert [(e.round, e.turn) for e in seen if isinstance(e, events.RunStopped)] == [(2, 6)]


@both_paths
@pytest.mark.parametrize("speak", ["in_turn", "at_once"])
async def test_one_turn_is_completed_for_each_that_started(speak: str, use_async: bool) -> None:
    inner = sequential(name="team", roster=[RosterEntry(name, block=name_of) for name in "xyz"])
    roster = [RosterEntry("team", block=inner, transcript="all"), "b"]
    seen = await events_of(panel(roster, speak=speak, max_rounds=2), use_async=use_async)

    def turns(kind: type[events.Event]) -> list[tuple[str, int]]:
        own = (each for each in seen if isinstance(each, kind) and not each.path)
        return sorted((each.agent_name, each.turn) for each in own)

    assert turns(events.TurnStarted) == [("b", 2), ("b", 4), ("team", 1), ("team", 3)]
    assert turns(events.TurnCompleted) == turns(events.TurnStarted)


ROSTER = [RosterEntry(name, block=name_of) for name in "abc"]
WITHOUT_ROUNDS: dict[str, Callable[[], Pattern[Any]]] = {
    "graph": lambda: graph(name="p", roster=ROSTER, edges=[("a", "b"), ("a", "c")]),
    "selector": lambda: selector(name="p", roster=ROSTER, max_turns=3, selector=lambda ctx: "a"),
}


@both_paths
@pytest.mark.parametrize("kind", WITHOUT_ROUNDS)
async def test_where_there_are_no_rounds_none_is_started(kind: str, use_async: bool) -> None:
    seen = await events_of(WITHOUT_ROUNDS[kind](), use_async=use_async)
    kinds = [type(event) for event in seen]
    assert (kinds.count(events.TurnCompleted), kinds.count(events.RoundStarted)) == (3, 0)


@pytest.mark.parametrize("order", ["abq", "aqb", "qab"])
def test_a_round_that_waits_is_not_finished_and_a_failed_one_is(order: str) -> None:
    def asks(turn: TurnInput) -> str:
        return str(interrupt("go on?"))

    def fails(turn: TurnInput) -> str:
        raise ValueError(turn.agent_name)

    def panel(block: Any) -> Pattern[Any]:
        blocks = {"a": lambda turn: "a", "b": lambda turn: "b", "q": block}
        roster = [RosterEntry(name, block=blocks[name]) for name in order]
        return round_robin(
            name="panel", roster=roster, max_rounds=2, synthesizer=False, speak="at_once",
            checkpointer=InMemorySaver(),
        )  # fmt: skip

    waiting = panel(asks).run("go", thread_id="t")
    assert (waiting.stop.reason, waiting.rounds, waiting.turns) == ("interrupted", 0, 2)
    with pytest.raises(MemberError) as caught:
        panel(fails).run("go", thread_id="t")
    assert caught.value.result is not None
    assert (caught.value.result.rounds, caught.value.result.turns) == (1, 3)
