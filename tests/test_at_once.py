"""Rounds in which all members speak at once, from the same snapshot."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from flowcompose import (
    Context,
    DefinitionError,
    MaxTurnsReached,
    MemberError,
    Pattern,
    Result,
    RosterEntry,
    RunError,
    TurnInput,
    round_robin,
)
from flowcompose.core import events
from flowcompose.core.conditions import max_messages, text_mention
from flowcompose.core.testing import ScriptedModel

both_paths = pytest.mark.parametrize("use_async", [False, True])


def echo(turn: TurnInput) -> str:
    return f"{turn.agent_name}{turn.round}-{turn.turn}"


def panel(names: str = "abc", *, block: Any = echo, **options: Any) -> Pattern[Any]:
    roster = [RosterEntry(name=name, block=block) for name in names]
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    given = {"name": "panel", "roster": roster, "max_rounds": 2, "synthesizer": False}
    return build(**{**given, "speak": "at_once", **options})


async def run(pattern: Pattern[Any], *, use_async: bool, **options: Any) -> Result[Any]:
    return await pattern.arun("go", **options) if use_async else pattern.run("go", **options)


def texts(result: Result[Any]) -> list[str]:
    return [each.text for each in result.contributions]


# A round


@both_paths
async def test_all_members_of_a_round_see_the_earlier_rounds_only(use_async: bool) -> None:
    def look(turn: TurnInput) -> str:
        seen = "".join(each.agent_name for each in turn.contributions)
        return f"{turn.agent_name} in turn {turn.turn} of round {turn.round} saw {seen}"

    result = await run(panel(block=look), use_async=use_async)
    assert texts(result) == [
        "a in turn 1 of round 1 saw ",
        "b in turn 2 of round 1 saw ",
        "c in turn 3 of round 1 saw ",
        "a in turn 4 of round 2 saw abc",
        "b in turn 5 of round 2 saw abc",
        "c in turn 6 of round 2 saw abc",
    ]
    assert [(c.round, c.turn) for c in result.contributions] == [
        *((1, turn) for turn in (1, 2, 3)),
        *((2, turn) for turn in (4, 5, 6)),
    ]
    assert (result.rounds, result.turns, result.stop.reason) == (2, 6, "max_rounds")


@pytest.mark.parametrize("size", [1, 2, 8])
def test_all_members_of_a_round_speak_at_the_same_time(size: int) -> None:
    everyone = threading.Barrier(size)

    def meet(turn: TurnInput) -> str:
        everyone.wait(20)
        return "x"

    assert panel("abcdefgh"[:size], block=meet).run("go").turns == 2 * size


@pytest.mark.parametrize("size", [1, 2, 8])
async def test_all_async_members_of_a_round_speak_at_the_same_time(size: int) -> None:
    everyone = asyncio.Barrier(size)

    async def meet(turn: TurnInput) -> str:
        await asyncio.wait_for(everyone.wait(), 20)
        return "x"

    assert (await panel("abcdefgh"[:size], block=meet).arun("go")).turns == 2 * size


@pytest.mark.parametrize("size", [2, 8])
async def test_plain_functions_speak_at_the_same_time_on_the_async_path_too(size: int) -> None:
    everyone = threading.Barrier(size)

    def meet(turn: TurnInput) -> str:
        everyone.wait(20)
        return "x"

    assert (await panel("abcdefgh"[:size], block=meet).arun("go")).turns == 2 * size


@both_paths
async def test_a_round_is_recorded_in_roster_order_whoever_is_first(use_async: bool) -> None:
    finished: list[str] = []
    done = {name: threading.Event() for name in "abcd"}
    done["d"].set()

    def wait(turn: TurnInput) -> str:
        after = chr(ord(turn.agent_name) + 1)
        assert done[after].wait(20)
        finished.append(turn.agent_name)
        done[turn.agent_name].set()
        return turn.agent_name

    result = await run(panel(block=wait, max_rounds=1), use_async=use_async)
    assert (texts(result), finished) == (["a", "b", "c"], ["c", "b", "a"])
    assert [task.assignee for task in result.tasks] == ["a", "b", "c"]


def test_a_request_of_a_default_member_holds_no_word_of_its_own_round() -> None:
    model = ScriptedModel(
        by_agent={name: [f"one of {name}", f"two of {name}"] for name in ("ann", "bob")}
    )
    roster = [{"name": "ann"}, {"name": "bob"}]
    panel(roster=roster, model=model).run("go")
    for call in model.calls:
        request = "\n".join(str(message.text) for message in call.messages)
        other = "bob" if call.agent_name == "ann" else "ann"
        assert f"two of {other}" not in request
        assert (f"one of {other}" in request) == (f"one of {call.agent_name}" in request)
    model.assert_complete()


def test_what_each_spent_is_told() -> None:
    def spend(turn: TurnInput) -> AIMessage:
        return AIMessage(
            "x", usage_metadata=UsageMetadata(input_tokens=3, output_tokens=4, total_tokens=7)
        )

    usage = panel(block=spend).run("go").usage
    assert usage.total_tokens == 42
    assert [usage.by_member[name].total_tokens for name in "abc"] == [14, 14, 14]


def test_how_members_speak_is_one_of_two() -> None:
    with pytest.raises(DefinitionError, match="speak must be one of 'in_turn', 'at_once', got 'x'"):
        panel(speak="x")
    assert "speak='at_once'" in repr(panel())


def test_in_turn_is_the_default() -> None:
    def look(turn: TurnInput) -> str:
        return str(len(turn.contributions))

    roster = [RosterEntry(name=name, block=look) for name in "ab"]
    for options in ({}, {"speak": "in_turn"}):
        build: Callable[..., Pattern[Any]] = round_robin
        result = build(name="p", roster=roster, max_rounds=1, synthesizer=False, **options)
        assert texts(result.run("go")) == ["0", "1"]


# After the round


@both_paths
async def test_the_referee_hears_the_whole_round(use_async: bool) -> None:
    heard: list[list[str]] = []

    def audit(turn: TurnInput) -> dict[str, str]:
        heard.append([each.text for each in turn.contributions])
        return {"critique": f"of round {turn.round}"}

    def look(turn: TurnInput) -> str:
        return f"{turn.agent_name}{len(turn.referee_critiques)}"

    result = await run(panel("ab", block=look, referee=audit), use_async=use_async)
    assert heard == [["a0", "b0"], ["a0", "b0", "a1", "b1"]]
    assert [each.critique for each in result.referee_critiques] == ["of round 1", "of round 2"]


@both_paths
async def test_a_condition_is_asked_once_a_round_and_sees_all_of_it(use_async: bool) -> None:
    asked: list[tuple[int, int]] = []

    def look(ctx: Context) -> bool:
        asked.append((ctx.state.round, len(ctx.contributions)))
        return False

    stop = look | (text_mention("a2-4") & max_messages(6))
    result = await run(panel(terminate_when=stop, max_rounds=9), use_async=use_async)
    assert asked == [(1, 3), (2, 6)]
    assert (result.rounds, result.turns, result.stop.reason) == (2, 6, "terminate_when")


@both_paths
async def test_the_synthesizer_gets_all_rounds(use_async: bool) -> None:
    pattern = panel("ab", synthesizer=lambda given: [each.text for each in given.contributions])
    result = await run(pattern, use_async=use_async)
    assert result.output == ["a1-1", "b1-2", "a2-3", "b2-4"]


def test_the_cap_of_rounds_can_be_an_error() -> None:
    with pytest.raises(MaxTurnsReached) as caught:
        panel(on_limit="raise", max_rounds=1).run("go")
    assert caught.value.result is not None
    assert texts(caught.value.result) == ["a1-1", "b1-2", "c1-3"]


def test_more_rounds_than_the_engine_allows_by_itself() -> None:
    assert panel("ab", max_rounds=60).run("go").turns == 120


# Failures and questions


class Flaky:
    """Some members fail until they are mended."""

    def __init__(self, *bad: str) -> None:
        self.bad = list(bad)
        self.taken: list[str] = []

    def __call__(self, turn: TurnInput) -> str:
        if turn.agent_name in self.bad:
            raise ValueError(f"{turn.agent_name} is down")
        self.taken.append(f"{turn.agent_name}{turn.round}")
        return echo(turn)


@both_paths
async def test_a_failure_is_raised_when_the_others_of_the_round_are_done(use_async: bool) -> None:
    failed = threading.Event()

    def speak(turn: TurnInput) -> str:
        if turn.agent_name == "b":
            failed.set()
            raise ValueError("b is down")
        assert failed.wait(20)
        return echo(turn)

    with pytest.raises(MemberError, match="member 'b' failed in round 1, turn 2") as caught:
        await run(panel(block=speak), use_async=use_async)
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.result is not None
    assert texts(caught.value.result) == ["a1-1", "c1-3"]
    assert [t.status for t in caught.value.result.tasks if t.assignee == "b"] == ["errored"]


@both_paths
@pytest.mark.parametrize("bad", ["b", "ac", "abc"])
@pytest.mark.parametrize("policy", ["raise", "skip", "stop"])
async def test_after_failures_the_same_object_runs_again(
    policy: str, bad: str, use_async: bool
) -> None:
    member = Flaky(*bad)
    pattern = panel(block=member, on_error=policy)
    well = [name for name in "abc" if name not in bad]
    if policy == "raise":
        with pytest.raises(MemberError, match=f"member '{bad[0]}' failed"):
            await run(pattern, use_async=use_async)
    else:
        result = await run(pattern, use_async=use_async)
        rounds = 2 if policy == "skip" else 1
        assert [each.agent_name for each in result.contributions] == well * rounds
        assert [t.assignee for t in result.tasks if t.status == "errored"] == [*bad] * rounds
        assert result.stop.reason == ("max_rounds" if policy == "skip" else "member_failed")
        assert result.stop.by == (None if policy == "skip" else bad[0])
        assert result.turns == 3 * rounds
    member.bad = []
    assert len((await run(pattern, use_async=use_async)).contributions) == 6


@both_paths
async def test_only_the_failed_turn_is_taken_again(use_async: bool) -> None:
    member = Flaky("b")
    pattern = panel(block=member, checkpointer=InMemorySaver())
    with pytest.raises(MemberError):
        await run(pattern, use_async=use_async, thread_id="t")
    assert sorted(member.taken) == ["a1", "c1"]
    member.bad = []
    result = await pattern.aresume("t") if use_async else pattern.resume("t")
    assert texts(result) == ["a1-1", "b1-2", "c1-3", "a2-4", "b2-5", "c2-6"]
    assert sorted(member.taken) == ["a1", "a2", "b1", "b2", "c1", "c2"]


@both_paths
async def test_a_turn_that_takes_too_long_fails_alone(use_async: bool) -> None:
    release = threading.Event()

    def speak(turn: TurnInput) -> str:
        return str(release.wait(20)) if turn.agent_name == "b" else echo(turn)

    pattern = panel(block=speak, turn_timeout=0.2, on_error="skip", max_rounds=1)
    result = await run(pattern, use_async=use_async)
    release.set()
    assert texts(result) == ["a1-1", "c1-3"]
    assert "no answer within 0.2 s" in str(result.tasks[1].error)


@both_paths
async def test_all_members_may_ask_at_once(use_async: bool) -> None:
    def ask(turn: TurnInput) -> str:
        return f"{turn.agent_name}: {interrupt(turn.agent_name)}"

    pattern = panel(block=ask, max_rounds=1, checkpointer=InMemorySaver())
    waiting = await run(pattern, use_async=use_async, thread_id="t")
    assert (waiting.stop.reason, sorted(waiting.interrupts)) == ("interrupted", ["a", "b", "c"])
    answers = [f"yes {name}" for name in waiting.interrupts]
    result = await pattern.aresume("t", answers) if use_async else pattern.resume("t", answers)
    assert texts(result) == ["a: yes a", "b: yes b", "c: yes c"]


def test_async_members_need_the_async_path() -> None:
    async def speak(turn: TurnInput) -> str:
        await asyncio.sleep(0)
        return "x"

    with pytest.raises(RunError, match="arun"):
        panel(block=speak).run("go")


SCRIPT = Path(__file__).with_name("crash_team.py")


def start(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(folder / "runs.db"), str(folder / "effects")]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("what", ["at_once", "graph"])
@pytest.mark.parametrize("way", ["", "a"])
def test_a_process_killed_in_one_turn_of_a_step_resumes_with_that_turn_only(
    tmp_path: Path, what: str, way: str
) -> None:
    killed = start(tmp_path, f"{way}run", what, "b")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    effects = tmp_path / "effects"
    before = {"at_once": ["a", "c", "d"], "graph": ["a", "c"]}[what]
    assert sorted(effects.read_text().split()) == before
    resumed = start(tmp_path, f"{way}resume", what)
    assert resumed.stderr == ""
    assert sorted(effects.read_text().split()) == ["a", "b", "c", "d"]
    assert resumed.stdout.strip() == "said by a, said by b, said by c, said by d"


@pytest.mark.parametrize("what", ["at_once", "graph"])
@pytest.mark.parametrize("step", range(1, 6))
def test_a_process_killed_while_it_saves_a_step_loses_and_repeats_no_turn(
    tmp_path: Path, what: str, step: int
) -> None:
    killed = start(tmp_path, "run", what, f"save{step}")
    assert killed.returncode in (-signal.SIGKILL, 0), killed.stderr
    assert killed.returncode or step > {"at_once": 2, "graph": 4}[what]
    resumed = start(tmp_path, "resume", what)
    assert resumed.stderr == ""
    assert sorted((tmp_path / "effects").read_text().split()) == ["a", "b", "c", "d"]
    assert resumed.stdout.strip() == "said by a, said by b, said by c, said by d"


# Events


@both_paths
async def test_events_of_a_round_tell_who_and_when(use_async: bool) -> None:
    everyone = threading.Barrier(3)

    def meet(turn: TurnInput) -> str:
        everyone.wait(20)
        return echo(turn)

    pattern = panel(block=meet, referee=lambda turn: {"critique": "c"})
    if use_async:
        seen = [event async for event in pattern.aevents("go")]
    else:
        seen = list(pattern.events("go"))
    names = [type(event).__name__ for event in seen]
    assert names[0] == "RunStarted"
    assert names[-2:] == ["RunStopped", "RunCompleted"]
    for number, at in ((1, 1), (2, 12)):
        one_round = seen[at : at + 11]
        assert {event.round for event in one_round} == {number}
        kinds = [type(event).__name__ for event in one_round]
        assert kinds[0] == "RoundStarted"
        assert sorted(kinds[1:7]) == ["SpeakerSelected"] * 3 + ["TurnStarted"] * 3
        assert kinds[7:] == ["TurnCompleted"] * 3 + ["CritiqueAdded"]
        for kind in (events.SpeakerSelected, events.TurnStarted, events.TurnCompleted):
            turns = {e.agent_name: e.turn for e in one_round if isinstance(e, kind)}
            assert turns == {name: (number - 1) * 3 + "abc".index(name) + 1 for name in "abc"}
        said = [e.contribution.text for e in one_round if isinstance(e, events.TurnCompleted)]
        assert sorted(said) == [f"{name}{number}-{turns[name]}" for name in "abc"]


@both_paths
async def test_tokens_of_members_that_speak_at_once_tell_their_speaker(use_async: bool) -> None:
    model = ScriptedModel(by_agent={n: [f"{n} says one", f"{n} says two"] for n in ("ann", "bob")})
    pattern = panel(roster=[{"name": "ann"}, {"name": "bob"}], model=model)
    if use_async:
        seen = [event async for event in pattern.aevents("go")]
    else:
        seen = list(pattern.events("go"))
    said: dict[tuple[str, int, int], str] = {}
    for event in seen:
        if isinstance(event, events.Token):
            key = event.agent_name, event.round, event.turn
            said[key] = said.get(key, "") + event.text
    assert said == {
        ("ann", 1, 1): "ann says one",
        ("bob", 1, 2): "bob says one",
        ("ann", 2, 3): "ann says two",
        ("bob", 2, 4): "bob says two",
    }


def test_a_failed_turn_of_a_round_is_told_as_failed() -> None:
    pattern = panel(block=Flaky("b"), on_error="skip", max_rounds=1)
    seen = list(pattern.events("go"))
    failed = [e for e in seen if isinstance(e, events.TurnFailed)]
    assert [(e.agent_name, e.round, e.turn) for e in failed] == [("b", 1, 2)]
    done = [e.agent_name for e in seen if isinstance(e, events.TurnCompleted)]
    assert sorted(done) == ["a", "c"]


# Fairness


@settings(max_examples=80, deadline=None)
@given(
    speak=st.sampled_from(["in_turn", "at_once"]),
    size=st.integers(1, 8),
    cap=st.integers(1, 6),
    stop_after=st.integers(1, 60),
    use_async=st.booleans(),
)
def test_every_window_of_n_turns_holds_each_of_n_members_once(
    speak: str, size: int, cap: int, stop_after: int, use_async: bool
) -> None:
    names = "abcdefgh"[:size]
    pattern = panel(names, speak=speak, max_rounds=cap, terminate_when=max_messages(stop_after))
    result = asyncio.run(pattern.arun("go")) if use_async else pattern.run("go")
    said = [each.agent_name for each in result.contributions]
    assert len(said) == size * min(cap, -(-stop_after // size))
    assert [each.turn for each in result.contributions] == list(range(1, len(said) + 1))
    windows = (said[at : at + size] for at in range(len(said) - size + 1))
    assert all(sorted(window) == sorted(names) for window in windows)
