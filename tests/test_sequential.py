"""Members one after the other: one pass, or in a circle up to a cap."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

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
    sequential,
)
from flowcompose.core import events
from flowcompose.core.conditions import max_messages, text_mention
from flowcompose.core.testing import ScriptedModel

both_paths = pytest.mark.parametrize("use_async", [False, True])


def echo(turn: TurnInput) -> str:
    return f"{turn.agent_name}{turn.turn}"


def line(names: str = "abc", *, block: Any = echo, **options: Any) -> Pattern[Any]:
    roster = [RosterEntry(name=name, block=block) for name in names]
    build: Callable[..., Pattern[Any]] = sequential  # the options vary
    return build(**{"name": "line", "roster": roster, **options})


async def run(pattern: Pattern[Any], *, use_async: bool, **options: Any) -> Result[Any]:
    return await pattern.arun("go", **options) if use_async else pattern.run("go", **options)


def texts(result: Result[Any]) -> list[str]:
    return [each.text for each in result.contributions]


class Verdict(BaseModel):
    approved: bool


# One pass


@both_paths
async def test_each_member_speaks_once_in_order(use_async: bool) -> None:
    result = await run(line(), use_async=use_async)
    assert texts(result) == ["a1", "b2", "c3"]
    assert (result.stop.reason, result.turns, result.rounds) == ("completed", 3, 1)
    assert [task.assignee for task in result.tasks] == ["a", "b", "c"]


@both_paths
async def test_a_member_sees_all_that_was_said_before(use_async: bool) -> None:
    def look(turn: TurnInput) -> str:
        return f"{turn.goal}:" + "".join(each.agent_name for each in turn.contributions)

    assert texts(await run(line(block=look), use_async=use_async)) == ["go:", "go:a", "go:ab"]


def test_a_line_of_one_is_a_line() -> None:
    assert texts(line("a").run("go")) == ["a1"]


def test_events_tell_each_turn_of_the_one_round() -> None:
    seen = [type(event).__name__ for event in line("ab").events("go")]
    turn = ["SpeakerSelected", "TurnStarted", "TurnCompleted"]
    assert seen == ["RunStarted", "RoundStarted", *turn, *turn, "RunStopped", "RunCompleted"]


def test_the_order_is_a_fixed_one() -> None:
    chosen = [e for e in line().events("go") if isinstance(e, events.SpeakerSelected)]
    assert [(e.agent_name, e.reason) for e in chosen] == [(name, "schedule") for name in "abc"]


def test_the_drawing_goes_in_a_circle_only_where_the_run_may() -> None:
    once, around = line("ab").mermaid(), line("ab", loops=True, max_turns=4).mermaid()
    assert "a -.-> b" in once
    assert "b -.-> a" not in once
    assert "b -.-> a" in around


def test_repr_shows_the_definition_on_one_line() -> None:
    shown = repr(line("ab", loops=True, max_turns=4))
    for part in ("sequential(name='line'", "roster=['a', 'b']", "loops=True", "max_turns=4"):
        assert part in shown


# Loops and caps


@both_paths
@pytest.mark.parametrize(("cap", "rounds"), [(1, 0), (2, 0), (3, 1), (7, 2), (9, 3)])
async def test_a_circle_ends_at_its_cap_even_in_the_middle(
    cap: int, rounds: int, use_async: bool
) -> None:
    result = await run(line(loops=True, max_turns=cap), use_async=use_async)
    assert texts(result) == [f"{'abc'[turn % 3]}{turn + 1}" for turn in range(cap)]
    assert [each.round for each in result.contributions] == [turn // 3 + 1 for turn in range(cap)]
    assert (result.stop.reason, result.turns, result.rounds) == ("max_turns", cap, rounds)


@pytest.mark.parametrize(
    ("cap", "reason", "said"),
    [(1, "max_turns", 1), (2, "max_turns", 2), (3, "completed", 3), (9, "completed", 3)],
)
def test_a_pass_that_just_fits_its_cap_is_complete(cap: int, reason: str, said: int) -> None:
    result = line(max_turns=cap).run("go")
    assert (result.stop.reason, result.turns) == (reason, said)


@both_paths
async def test_a_cap_can_be_an_error_that_keeps_the_result(use_async: bool) -> None:
    with pytest.raises(MaxTurnsReached) as caught:
        await run(line(max_turns=2, on_limit="raise"), use_async=use_async)
    assert caught.value.result is not None
    assert texts(caught.value.result) == ["a1", "b2"]
    fits = await run(line(max_turns=3, on_limit="raise"), use_async=use_async)
    assert fits.stop.reason == "completed"


def test_more_turns_than_the_engine_allows_by_itself() -> None:
    assert line(loops=True, max_turns=200).run("go").turns == 200


# Output


def test_default_members_ask_the_model_and_nobody_sums_up() -> None:
    model = ScriptedModel(by_agent={"a": ["first"], "b": ["second"]})
    result = sequential(name="p", roster=[{"name": "a"}, {"name": "b"}], model=model).run("go")
    assert (texts(result), result.output) == (["first", "second"], "second")
    model.assert_complete()


@pytest.mark.parametrize("synthesizer", [None, False])
def test_the_output_is_the_text_of_the_last_contribution(synthesizer: Any) -> None:
    assert line("ab", synthesizer=synthesizer).run("go").output == "b2"


def test_the_output_is_the_last_contributions_data_if_it_has_any() -> None:
    roster: list[Any] = [
        RosterEntry("a", block=echo),
        RosterEntry("b", block=lambda turn: Verdict(approved=True)),
    ]
    assert sequential(name="p", roster=roster).run("go").output == Verdict(approved=True)
    assert sequential(name="p", roster=roster[::-1]).run("go").output == "a2"


def broken(turn: TurnInput) -> str:
    raise ValueError("no idea")


def test_without_a_word_there_is_no_output() -> None:
    result = line("ab", block=broken, on_error="skip").run("go")
    assert (result.output, result.contributions, result.turns) == (None, [], 2)
    assert result.stop.reason == "completed"


def test_a_schema_brings_the_default_synthesizer() -> None:
    model = ScriptedModel(by_agent={"synthesizer": [Verdict(approved=False)]})
    result = line("ab", model=model, output_schema=Verdict).run("go")
    assert (result.output, texts(result)) == (Verdict(approved=False), ["a1", "b2"])
    model.assert_complete()


@both_paths
async def test_a_synthesizer_block_gets_the_goal_and_what_was_said(use_async: bool) -> None:
    def sum_up(given: Any) -> str:
        return f"{given.goal}: " + ",".join(each.text for each in given.contributions)

    result = await run(line("ab", synthesizer=sum_up), use_async=use_async)
    assert result.output == "go: a1,b2"


def test_what_a_synthesizer_block_gives_is_validated_by_the_schema() -> None:
    result = line(synthesizer=lambda _: {"approved": "yes"}, output_schema=Verdict).run("go")
    assert result.output == Verdict(approved=True)


@both_paths
async def test_a_parent_with_messages_gets_the_output_as_one_message(use_async: bool) -> None:
    builder: Any = StateGraph(MessagesState)
    builder.add_node("node", line("ab", name="my line"))
    builder.add_edge(START, "node")
    parent, given = builder.compile(), {"messages": [HumanMessage("go")]}
    out = await parent.ainvoke(given) if use_async else parent.invoke(given)
    assert [(m.text, m.name) for m in out["messages"]] == [("go", None), ("b2", "my-line")]


# Definition


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"loops": True}, "max_turns"),
        ({"max_turns": 0}, "max_turns must be > 0 and a whole number, got 0"),
        ({"max_turns": -1}, "max_turns must be > 0 and a whole number, got -1"),
        ({"max_turns": True}, "max_turns must be > 0 and a whole number, got True"),
        ({"max_turns": 2.5}, "max_turns must be > 0 and a whole number, got 2.5"),
        ({"max_turns": "3"}, "max_turns must be > 0 and a whole number, got '3'"),
        ({"roster": []}, "roster must contain at least 1 entry, got []"),
        ({"roster": [{"name": "a"}, {"name": "a"}]}, "duplicate roster name 'a'"),
        (
            {"synthesizer": False, "output_schema": Verdict},
            "cannot set output_schema when synthesizer is False",
        ),
        ({"on_error": "ignore"}, "on_error must be one of 'raise', 'skip', 'stop', got 'ignore'"),
    ],
)
def test_a_mistake_is_told_with_its_value(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        line(**options)
    assert problem in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(DefinitionError) as caught:
        line(name="", roster=[{"name": "x"}, {"name": "x"}], max_turns=0, on_limit="never")
    told = "\n".join(caught.value.problems)
    for part in ("name must be", "duplicate roster name 'x'", "max_turns must be", "'never'"):
        assert part in told


@pytest.mark.parametrize("argument", ["referee", "max_rounds", "ask", "speak"])
def test_what_belongs_to_round_robin_is_not_taken(argument: str) -> None:
    options: dict[str, Any] = {argument: None}
    with pytest.raises(TypeError, match=argument):
        line(**options)


# Conditions


@both_paths
async def test_a_condition_is_asked_after_every_turn(use_async: bool) -> None:
    asked: list[int] = []

    def never(ctx: Context) -> bool:
        asked.append(len(ctx.contributions))
        return False

    await run(line(terminate_when=never), use_async=use_async)
    assert asked == [1, 2, 3]


@both_paths
async def test_a_condition_ends_the_pass_where_it_holds(use_async: bool) -> None:
    pattern = line(terminate_when=text_mention("b2") | max_messages(9))
    result = await run(pattern, use_async=use_async)
    assert texts(result) == ["a1", "b2"]
    assert (result.stop.reason, result.stop.by) == ("terminate_when", "text_mention('b2')")


def test_a_condition_comes_before_the_cap_and_the_end() -> None:
    assert line(terminate_when=max_messages(3)).run("go").stop.reason == "terminate_when"
    capped = line(terminate_when=max_messages(2), max_turns=2)
    assert capped.run("go").stop.reason == "terminate_when"


def test_the_goal_fires_no_condition() -> None:
    assert line(terminate_when=text_mention("STOP")).run("STOP now").stop.reason == "completed"


async def test_an_async_condition_needs_the_async_path() -> None:
    async def enough(ctx: Context) -> bool:
        await asyncio.sleep(0)
        return len(ctx.contributions) == 2

    pattern = line(terminate_when=enough)
    assert texts(await pattern.arun("go")) == ["a1", "b2"]
    with pytest.raises(RunError, match="arun"):
        pattern.run("go")


# Failures, and several runs


class Flaky:
    """Member b fails until it is mended."""

    def __init__(self) -> None:
        self.mended = False
        self.taken: list[str] = []

    def __call__(self, turn: TurnInput) -> str:
        if turn.agent_name == "b" and not self.mended:
            raise ValueError("no idea")
        self.taken.append(turn.agent_name)
        return echo(turn)


@both_paths
@pytest.mark.parametrize("policy", ["raise", "skip", "stop"])
async def test_after_a_failure_the_same_object_runs_again(policy: str, use_async: bool) -> None:
    member = Flaky()
    pattern = line(block=member, on_error=policy)
    if policy == "raise":
        with pytest.raises(MemberError, match="member 'b' failed") as caught:
            await run(pattern, use_async=use_async)
        assert caught.value.result is not None
        assert texts(caught.value.result) == ["a1"]
    else:
        result = await run(pattern, use_async=use_async)
        assert texts(result) == (["a1", "c3"] if policy == "skip" else ["a1"])
        assert result.stop.reason == ("completed" if policy == "skip" else "member_failed")
        assert [t.status for t in result.tasks if t.assignee == "b"] == ["errored"]
    member.mended = True
    assert texts(await run(pattern, use_async=use_async)) == ["a1", "b2", "c3"]


@both_paths
async def test_a_failed_run_goes_on_where_it_failed(use_async: bool) -> None:
    member = Flaky()
    pattern = line(block=member, checkpointer=InMemorySaver())
    with pytest.raises(MemberError):
        await run(pattern, use_async=use_async, thread_id="t")
    assert pattern.get_state({"configurable": {"thread_id": "t"}}).next == ("b",)
    member.mended = True
    result = await pattern.aresume("t") if use_async else pattern.resume("t")
    assert texts(result) == ["a1", "b2", "c3"]
    assert member.taken == ["a", "b", "c"]


def test_two_runs_of_one_object_in_two_threads_do_not_mix() -> None:
    both = threading.Barrier(2)

    def meet(turn: TurnInput) -> str:
        both.wait(20)
        return f"{turn.goal}{turn.turn}"

    pattern, said = line(block=meet), dict[str, list[str]]()

    def work(goal: str) -> None:
        said[goal] = texts(pattern.run(goal))

    threads = [threading.Thread(target=work, args=(goal,)) for goal in "xy"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert said == {"x": ["x1", "x2", "x3"], "y": ["y1", "y2", "y3"]}


async def test_two_runs_of_one_object_in_two_tasks_do_not_mix() -> None:
    both = asyncio.Barrier(2)

    async def meet(turn: TurnInput) -> str:
        await asyncio.wait_for(both.wait(), 20)
        return f"{turn.goal}{turn.turn}"

    pattern = line(block=meet)
    x, y = await asyncio.gather(pattern.arun("x"), pattern.arun("y"))
    assert (texts(x), texts(y)) == (["x1", "x2", "x3"], ["y1", "y2", "y3"])
