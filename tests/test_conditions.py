"""When a run ends before its cap: each condition, and what is combined of them."""

from __future__ import annotations

import asyncio
import copy
import enum
import pickle
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.messages.ai import UsageMetadata
from langgraph.checkpoint.memory import InMemorySaver

from flowcompose import (
    Context,
    DefinitionError,
    Flow,
    MemberError,
    Pattern,
    Result,
    RosterEntry,
    RunError,
    TurnInput,
    round_robin,
)
from flowcompose.core import conditions
from flowcompose.core.conditions import (
    Condition,
    External,
    as_condition,
    external,
    max_messages,
    repetition,
    source_match,
    text_mention,
    timeout,
    token_usage,
    tool_call,
)
from flowcompose.core.request import Request
from flowcompose.core.source import Outside
from flowcompose.core.testing import ScriptedModel
from flowcompose.patterns.round_robin import create_referee
from flowcompose.resources.contributions import Contribution, Entry

both_paths = pytest.mark.parametrize("use_async", [False, True])


def echo(turn: TurnInput) -> str:
    return f"{turn.agent_name}{turn.round}"


def panel(*, block: Any = echo, names: str = "ab", **options: Any) -> Pattern[Any]:
    roster = [RosterEntry(name=name, block=block) for name in names]
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    return build(
        **{"name": "panel", "roster": roster, "max_rounds": 9, "synthesizer": False, **options}
    )


async def run(
    pattern: Pattern[Any], goal: str = "go", *, use_async: bool, **options: Any
) -> Result[Any]:
    return await pattern.arun(goal, **options) if use_async else pattern.run(goal, **options)


def spent(text: str, *, sent: int, received: int) -> AIMessage:
    usage = UsageMetadata(input_tokens=sent, output_tokens=received, total_tokens=sent + received)
    return AIMessage(text, usage_metadata=usage)


# Each fires, and is named


@both_paths
@pytest.mark.parametrize(
    ("condition", "rounds", "by"),
    [
        (text_mention("b3"), 3, "text_mention('b3')"),
        (text_mention("2", sources=["b"]), 2, "text_mention('2', sources=['b'])"),
        (max_messages(5), 3, "max_messages(5)"),
        (source_match(["b", "zoe"]), 1, "source_match(['b', 'zoe'])"),
        (token_usage(35), 4, "token_usage(total=35)"),
        (token_usage(input=13), 3, "token_usage(input=13)"),
        (token_usage(output=13), 4, "token_usage(output=13)"),
        (
            token_usage(9999, input=9999, output=4),
            1,
            "token_usage(total=9999, input=9999, output=4)",
        ),
        (timeout(0.000001), 1, "timeout(1e-06)"),
    ],
    ids=repr,
)
async def test_a_condition_ends_the_run_and_is_named(
    condition: Condition, rounds: int, by: str, *, use_async: bool
) -> None:
    def speak(turn: TurnInput) -> AIMessage:
        return spent(echo(turn), sent=3, received=2)

    pattern = panel(block=speak, terminate_when=condition)
    result = await run(pattern, use_async=use_async)
    assert (result.rounds, result.stop.reason, result.stop.by) == (rounds, "terminate_when", by)


@pytest.mark.parametrize(
    "condition",
    [
        text_mention("APPROVE"),
        text_mention("1", sources=["zoe"]),
        max_messages(19),
        source_match(["zoe"]),
        tool_call("search"),
        repetition(),
        token_usage(1),
        timeout(3600),
        external(),
    ],
    ids=repr,
)
def test_a_condition_that_does_not_hold_ends_nothing(condition: Condition) -> None:
    result = panel(terminate_when=condition | condition).run("go")
    assert (result.rounds, result.stop.reason) == (9, "max_rounds")


@pytest.mark.parametrize(
    "condition", [text_mention("APPROVE"), source_match(["user"]), max_messages(7)], ids=repr
)
def test_neither_the_goal_nor_the_conversation_before_it_counts(condition: Condition) -> None:
    pattern = panel(terminate_when=condition, max_rounds=3)
    earlier = [("user", "APPROVE?"), ("ai", "APPROVE!"), ("user", "Say APPROVE. APPROVE!")]
    assert pattern.run("Say APPROVE.").stop.reason == "max_rounds"
    assert pattern.invoke({"messages": earlier})["stop"]["reason"] == "max_rounds"


def test_what_was_said_in_an_earlier_round_still_counts() -> None:
    both = text_mention("a1") & max_messages(6)
    assert panel(terminate_when=both).run("go").rounds == 3


def test_what_an_earlier_run_of_the_thread_said_does_not_count() -> None:
    condition = text_mention("x:") & max_messages(2)
    pattern = panel(
        block=lambda turn: f"{turn.goal}:", terminate_when=condition, checkpointer=InMemorySaver()
    )
    assert pattern.run("x", thread_id="t").rounds == 1
    assert pattern.run("y", thread_id="t").stop.reason == "max_rounds"


def test_failed_turns_are_no_messages() -> None:
    def speak(turn: TurnInput) -> str:
        if turn.agent_name == "b":
            raise OSError("down")
        return echo(turn)

    result = panel(block=speak, on_error="skip", terminate_when=max_messages(3)).run("go")
    assert (result.rounds, result.turns) == (3, 6)


# tool_call


def search(query: str) -> str:
    """Look something up."""
    return f"found {query}"


@both_paths
async def test_tool_call_ends_after_the_turn_in_which_a_member_called_it(
    *, use_async: bool
) -> None:
    calls = [ToolCall(name="search", args={"query": "x"}, id="1")]
    model = ScriptedModel(["I guess.", "Let us search.", AIMessage("", tool_calls=calls), "Found."])
    pattern = panel(
        roster=[{"name": "a"}, {"name": "b"}],
        model=model,
        tools=[search],
        terminate_when=tool_call("search"),
        ask="turn",
    )
    result = await run(pattern, use_async=use_async)
    assert [said.tools for said in result.contributions] == [(), (), ("search",)]
    assert (result.contributions[-1].text, result.stop.by) == ("Found.", "tool_call('search')")
    model.assert_complete()


def test_naming_a_tool_is_not_calling_it() -> None:
    pattern = panel(block=lambda _: "search", terminate_when=tool_call("search"), max_rounds=2)
    assert pattern.run("search").stop.reason == "max_rounds"


# repetition


@pytest.mark.parametrize(
    ("says", "window", "rounds"),
    [
        (["x", "x", "x", "x"], 4, 2),
        (["Fine.", "fine. ", "FINE.", " fine."], 4, 2),
        (["a  b", "a\nb", "a b"], 6, 3),
        (["1", "2", "2", "2"], 4, 3),
        (["1", "2", "3", "4", "5"], 4, 9),
        (["1", "2", "1", "2", "1", "2"], 8, 4),
        (["x", "x", "x"], 2, 9),
        (["x", "x", "x"], 3, 9),
    ],
    ids=repr,
)
def test_repetition_holds_when_half_of_the_last_words_were_said_before(
    says: list[str], window: int, rounds: int
) -> None:
    def speak(turn: TurnInput) -> str:
        return says[turn.round - 1] if turn.round <= len(says) else f"new {turn.round}"

    assert panel(block=speak, terminate_when=repetition(window)).run("go").rounds == rounds


def test_repetition_of_one_member_alone_needs_two_equal_words() -> None:
    says = ["no", "yes", "maybe", "maybe", "end"]
    pattern = panel(
        names="a", block=lambda turn: says[turn.round - 1], terminate_when=repetition(2)
    )
    assert pattern.run("go").rounds == 4


def test_the_same_words_of_different_members_are_no_repetition() -> None:
    pattern = panel(names="abcd", block=lambda _: "yes", terminate_when=repetition(4), max_rounds=3)
    assert pattern.run("go").stop.reason == "max_rounds"


# token_usage


def critic(*critiques: AIMessage) -> Any:
    return create_referee(model=ScriptedModel(list(critiques)))


@both_paths
async def test_token_usage_counts_the_referee(*, use_async: bool) -> None:
    says = [spent(f"said {number}", sent=3, received=2) for number in range(8)]
    critique = spent('{"critique": "weak"}', sent=70, received=30)

    def asked(condition: Condition, *, refereed: bool) -> Pattern[Any]:
        return panel(
            roster=[{"name": "a"}, {"name": "b"}],
            model=ScriptedModel(says),
            referee=critic(critique, critique, critique) if refereed else None,
            max_rounds=4,
            terminate_when=condition,
        )

    result = await run(asked(token_usage(220), refereed=True), use_async=use_async)
    assert (result.rounds, result.usage.total_tokens) == (2, 220)
    assert (result.usage.referee.total_tokens, result.stop.reason) == (200, "terminate_when")
    result = await run(asked(token_usage(221), refereed=True), use_async=use_async)
    assert result.rounds == 3
    result = await run(asked(token_usage(40), refereed=False), use_async=use_async)
    assert (result.rounds, result.stop.reason) == (4, "max_rounds")  # the cap comes first


def test_what_the_synthesizer_spends_comes_on_top() -> None:
    model = ScriptedModel(
        by_agent={
            "a": [spent("x", sent=6, received=4)] * 2,
            "synthesizer": [spent("all", sent=500, received=500)],
        }
    )
    pattern = round_robin(
        name="p", roster=[{"name": "a"}], model=model, terminate_when=token_usage(20)
    )
    result = pattern.run("go")
    assert (result.rounds, result.usage.total_tokens) == (2, 1020)


def test_failed_turns_cost_what_they_cost() -> None:
    def speak(turn: TurnInput, ctx: Context) -> str:
        ctx.meter.add(spent("lost", sent=5, received=5))
        raise OSError("down")

    result = panel(block=speak, on_error="skip", terminate_when=token_usage(40)).run("go")
    assert (result.rounds, result.contributions) == (2, [])


def test_token_usage_counts_nested_panels() -> None:
    inner = panel(
        block=lambda turn: spent("in", sent=5, received=5), max_rounds=2, names="xy", name="inner"
    )
    result = panel(
        roster=[RosterEntry(name="team", block=inner)], terminate_when=token_usage(80)
    ).run("go")
    assert (result.rounds, result.usage.total_tokens) == (2, 80)


# timeout


def shift_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + seconds)


@both_paths
async def test_timeout_holds_once_the_run_is_that_old(
    monkeypatch: pytest.MonkeyPatch, *, use_async: bool
) -> None:
    def speak(turn: TurnInput) -> str:
        shift_clock(monkeypatch, 1000)
        return echo(turn)

    result = await run(
        panel(names="a", block=speak, terminate_when=timeout(4500)), use_async=use_async
    )
    assert (result.rounds, result.stop.by) == (5, "timeout(4500)")


@both_paths
async def test_timeout_counts_from_the_first_start_also_after_a_resume(
    monkeypatch: pytest.MonkeyPatch, *, use_async: bool
) -> None:
    down, starts = [True], list[float]()

    def speak(turn: TurnInput, ctx: Context) -> str:
        starts.append(ctx.state.started_at)
        if down and turn.turn == 2:
            raise OSError("down")
        return echo(turn)

    pattern = panel(block=speak, checkpointer=InMemorySaver(), terminate_when=timeout(3600))
    before = time.time()
    with pytest.raises(MemberError):
        await run(pattern, use_async=use_async, thread_id="t")
    after = time.time()
    down.clear()
    shift_clock(monkeypatch, 7200)
    result = await pattern.aresume("t") if use_async else pattern.resume("t")
    assert (result.rounds, result.stop.by) == (1, "timeout(3600)")
    assert len(set(starts)) == 1
    assert before <= starts[0] <= after
    again = await run(pattern, use_async=use_async, thread_id="t")  # a run of its own
    assert again.stop.reason == "max_rounds"


def age(_: Any, ctx: Context) -> float:
    started_at = ctx.state.started_at
    return time.time() - started_at


def test_a_run_that_an_older_version_began_is_as_old_as_this_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ages: list[float] = []

    def look(turn: TurnInput, ctx: Context) -> str:
        ages.append(age(turn, ctx))
        return echo(turn)

    def without_a_time(name: str, given: Any) -> Request:
        return Request(goal=given["goal"], history=[])

    monkeypatch.setattr("flowcompose.patterns.turn_loop.init.read_request", without_a_time)
    pattern = panel(names="a", block=look, max_rounds=2, terminate_when=timeout(3600))
    assert pattern.run("go").stop.reason == "max_rounds"
    assert all(0 <= each < 3600 for each in ages)


def test_a_flow_and_a_block_on_its_own_have_a_start_too() -> None:
    assert 0 <= Flow("f").map(age).run("go").output < 3600
    assert 0 <= age("go", Context.outside()) < 3600


# external


def test_external_stops_a_run_from_another_thread() -> None:
    stop, going, stopped = external(), threading.Event(), threading.Event()

    def speak(turn: TurnInput) -> str:
        if turn.turn == 3:
            going.set()
            assert stopped.wait(30)
        return echo(turn)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(panel(block=speak, terminate_when=stop).run, "go")
        assert going.wait(30)
        stop.set()
        stopped.set()
        result = running.result(30)
    assert (result.rounds, result.stop.by) == (2, "external()")


async def test_external_stops_a_run_from_another_task() -> None:
    stop, going, stopped = external(), asyncio.Event(), asyncio.Event()

    async def speak(turn: TurnInput) -> str:
        if turn.turn == 3:
            going.set()
            await stopped.wait()
        return echo(turn)

    async def press() -> None:
        await going.wait()
        stop.set()
        stopped.set()

    pattern = panel(block=speak, terminate_when=max_messages(17) | stop)
    result, _ = await asyncio.wait_for(asyncio.gather(pattern.arun("go"), press()), 30)
    assert (result.rounds, result.stop.by) == (2, "external()")


def test_external_stays_set_until_it_is_cleared() -> None:
    stop = external()
    pattern = panel(terminate_when=stop, max_rounds=3)
    assert not stop.is_set
    stop.set()
    stop.set()
    assert stop.is_set
    assert [pattern.run("go").rounds for _ in range(2)] == [1, 1]
    stop.clear()
    assert not stop.is_set
    assert pattern.run("go").rounds == 3


def test_every_external_is_its_own() -> None:
    one, other = external(), external()
    assert isinstance(one, External)
    assert one != other
    assert (one | other) == (one | other) != (other | one)
    assert len({one, other, one}) == 2
    one.set()
    assert not other.is_set


@pytest.mark.parametrize("act", [pickle.dumps, copy.copy, copy.deepcopy])
def test_an_external_that_is_copied_says_that_the_copy_would_stop_nothing(
    act: Callable[[Any], Any],
) -> None:
    with pytest.raises(TypeError, match="setting the copy would stop nothing"):
        act(max_messages(3) | external() if act is not copy.copy else external())


# One object in several runs


async def test_one_condition_serves_two_runs_at_once() -> None:
    condition = text_mention("done") & max_messages(2) & ~repetition(8)
    turn_of = asyncio.Condition()
    order: list[str] = []

    async def speak(turn: TurnInput) -> str:
        async with turn_of:  # the two runs take turns strictly one by one
            await turn_of.wait_for(lambda: not order or order[-1] != turn.goal or finished)
            order.append(turn.goal)
            turn_of.notify_all()
        return "done" if turn.round == int(turn.goal) else f"{turn.round}"

    finished: list[str] = []
    pattern = panel(names="a", block=speak, terminate_when=condition)

    async def finish(goal: str) -> Result[Any]:
        result = await pattern.arun(goal)
        async with turn_of:
            finished.append(goal)
            turn_of.notify_all()
        return result

    results = await asyncio.wait_for(asyncio.gather(finish("3"), finish("5")), 30)
    assert [result.rounds for result in results] == [3, 5]
    assert order[:6] in (["3", "5"] * 3, ["5", "3"] * 3)


def test_one_condition_serves_two_patterns_and_both_levels_of_a_nested_one() -> None:
    condition = max_messages(4)
    inner = panel(names="xy", name="inner", terminate_when=condition)
    outer = panel(
        roster=[RosterEntry(name="team", block=inner), RosterEntry(name="b", block=echo)],
        terminate_when=condition,
    )
    result = outer.run("go")
    assert (result.rounds, result.stop.by) == (2, "max_messages(4)")
    assert inner.run("go").rounds == 2
    assert panel(names="abcd", terminate_when=condition).run("go").rounds == 1


# Nested teams whose words are in the transcript


def entry(turn: int, agent_name: str, text: str, *path: str, tools: tuple[str, ...] = ()) -> Entry:
    made = Entry(round=1, turn=turn, agent_name=agent_name, text=text, started_at=0, completed_at=0)
    if path:
        made["path"] = list(path)
    if tools:
        made["tools"] = list(tools)
    return made


def after(*entries: Entry) -> Context:
    return Context(Outside({}, entries=entries))


TEAM_SPOKE = after(
    entry(1, "a", "begin"),
    entry(2, "x", "inner word", "team", tools=("search",)),
    entry(2, "y", "inner word", "team", "deep"),
    entry(2, "y", "inner word", "team", "deep"),
    entry(3, "b", "end", tools=("look", "note")),
)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (text_mention("begin"), True),
        (text_mention("inner"), False),
        (text_mention("inner", nested=True), True),
        (text_mention("inner", sources=["x"]), True),
        (text_mention("inner", sources=["a", "b"]), False),
        (text_mention("inner", sources=["team"]), False),
        (text_mention("inner", sources=["deep"], nested=True), True),
        (text_mention("inner", sources=["a"], nested=True), False),
        (source_match(["y"]), True),
        (source_match(["team"]), False),
        (source_match(["team"], nested=True), True),
        (source_match(["zoe"], nested=True), False),
        (max_messages(2), True),
        (max_messages(3), False),
        (max_messages(5, nested=True), True),
        (max_messages(6, nested=True), False),
        (repetition(2), False),
        (repetition(4), False),
        (tool_call("note"), True),
        (tool_call("search"), False),
    ],
    ids=repr,
)
def test_what_nested_teams_say_counts_where_it_is_asked_for(
    condition: Condition, holds: bool
) -> None:
    assert condition(TEAM_SPOKE) is holds
    assert asyncio.run(condition.afired(TEAM_SPOKE)) == (condition if holds else None)


@both_paths
@pytest.mark.parametrize(
    ("condition", "rounds"),
    [
        (text_mention("x2"), None),
        (text_mention("x2", nested=True), 1),
        (text_mention("x2", sources=["x"]), 1),
        (source_match(["team"]), None),
        (source_match(["team"], nested=True), 1),
        (max_messages(2), 2),
        (max_messages(6, nested=True), 2),
    ],
    ids=repr,
)
async def test_a_team_that_hands_on_all_its_words_speaks_for_itself(
    condition: Condition, rounds: int | None, *, use_async: bool
) -> None:
    inner = panel(names="xy", name="team", max_rounds=2)
    roster = [
        RosterEntry(name="team", block=inner, transcript="all"),
        RosterEntry(name="b", block=echo),
    ]
    result = await run(panel(roster=roster, terminate_when=condition), use_async=use_async)
    assert (result.rounds if result.stop.by else None) == rounds


def test_a_contribution_tells_where_it_was_made_and_with_which_tools() -> None:
    own, inner = entry(1, "a", "x"), entry(2, "y", "x", "team", "deep", tools=("search", "note"))
    assert (Contribution.of_entry(own).path, Contribution.of_entry(own).tools) == ((), ())
    made = Contribution.of_entry(inner)
    assert (made.path, made.tools) == (("team", "deep"), ("search", "note"))


# Combinations

LEAVES: list[Condition] = [
    text_mention("x"),
    text_mention("it's", sources=["a", "b"]),
    text_mention("x", nested=True),
    max_messages(1),
    max_messages(3, nested=True),
    source_match(["b"]),
    source_match(["team"], nested=True),
    tool_call("search"),
    repetition(2),
    repetition(),
    token_usage(1, output=2),
    timeout(0.5),
]

leaves = st.sampled_from(LEAVES)
Tree = Condition | tuple[Any, ...]
trees: st.SearchStrategy[Tree] = st.recursive(
    leaves,
    lambda part: st.one_of(
        st.tuples(st.just("not"), part), st.tuples(st.sampled_from(["or", "and"]), part, part)
    ),
    max_leaves=12,
)
contexts = st.builds(
    lambda entries: after(*entries),
    st.lists(
        st.builds(
            lambda name, text, path, tools: entry(1, name, text, *path, tools=tools),
            st.sampled_from("abc"),
            st.sampled_from(["x", "it's", "other"]),
            st.sampled_from([(), (), ("team",)]),
            st.sampled_from([(), (), ("search",)]),
        ),
        max_size=8,
    ),
)


def combined(tree: Tree) -> Condition:
    match tree:
        case ("not", part):
            return ~combined(part)
        case ("or", left, right):
            return combined(left) | combined(right)
        case ("and", left, right):
            return combined(left) & combined(right)
        case Condition():
            return tree
        case _:
            raise AssertionError(tree)


def truth(tree: Tree, ctx: Context) -> bool:
    match tree:
        case ("not", part):
            return not truth(part, ctx)
        case ("or", left, right):
            return truth(left, ctx) or truth(right, ctx)
        case ("and", left, right):
            return truth(left, ctx) and truth(right, ctx)
        case Condition():
            return tree(ctx)
        case _:
            raise AssertionError(tree)


@given(trees, contexts)
def test_combinations_agree_with_or_and_not(tree: Tree, ctx: Context) -> None:
    condition, expected = combined(tree), truth(tree, ctx)
    assert condition(ctx) is expected
    fired = condition.fired(ctx)
    assert (fired is not None) is expected
    assert asyncio.run(condition.afired(ctx)) == fired
    if fired is not None:
        assert repr(fired) in repr(condition)
        assert fired(ctx)


@given(trees)
def test_a_repr_evaluates_to_what_it_shows(tree: Tree) -> None:
    condition = combined(tree)
    again: Condition = eval(repr(condition), dict(vars(conditions)))
    assert again == condition
    assert repr(again) == repr(condition)
    assert hash(again) == hash(condition)


@given(trees)
def test_a_condition_can_be_pickled(tree: Tree) -> None:
    condition = combined(tree)
    again = pickle.loads(pickle.dumps(condition))
    assert again == condition
    assert repr(again) == repr(condition)


A, B, C = max_messages(1), max_messages(2), max_messages(3)


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ((A | B) & C, "(a | b) & c"),
        (A | B & C, "a | b & c"),
        (A & B | C, "a & b | c"),
        (A & (B | C), "a & (b | c)"),
        (A & (B & C), "a & (b & c)"),
        (A & B & C, "a & b & c"),
        (A | (B | C), "a | (b | c)"),
        (A | B | C, "a | b | c"),
        (~(A | B), "~(a | b)"),
        (~(A & B), "~(a & b)"),
        (~A & ~~B, "~a & ~~b"),
    ],
)
def test_a_repr_keeps_the_brackets_that_matter(condition: Condition, shown: str) -> None:
    for name, part in zip("abc", (A, B, C), strict=True):
        shown = shown.replace(name, repr(part))
    assert repr(condition) == shown


def test_conditions_are_equal_by_content_and_cannot_be_changed() -> None:
    assert text_mention("x", ["a"]) == text_mention("x", sources=("a",))
    assert len({max_messages(3), max_messages(3), A | B, A | B, B | A, A & B, ~A}) == 5
    for condition in (text_mention("x"), A | B, ~A):
        with pytest.raises(AttributeError, match="cannot assign"):
            setattr(condition, next(iter(vars(condition))), "other")


def test_the_part_that_fired_is_named_the_first_one_if_several_did() -> None:
    ctx = after(entry(1, "a", "x"))
    yes, also, no = text_mention("x"), source_match(["a"]), text_mention("zzz")
    for condition, fired in [
        (no | yes | also, yes),
        (no | (also & yes), also & yes),
        (~no | yes, ~no),
        ((no | yes) & also, (no | yes) & also),
    ]:
        assert condition.fired(ctx) == fired


def long_enough(ctx: Context) -> bool:
    return len(ctx.contributions) >= 4


async def long_enough_in_time(ctx: Context) -> bool:
    await asyncio.sleep(0)
    return len(ctx.contributions) >= 4


@both_paths
@pytest.mark.parametrize(
    ("condition", "by"),
    [
        (long_enough | text_mention("zzz"), "long_enough"),
        (text_mention("zzz") | as_condition(long_enough), "long_enough"),
        (long_enough & text_mention("a1"), "long_enough & text_mention('a1')"),
        (text_mention("a1") & long_enough, "text_mention('a1') & long_enough"),
        (~~as_condition(long_enough), "~~long_enough"),
    ],
)
async def test_functions_combine_with_conditions(
    condition: Condition, by: str, *, use_async: bool
) -> None:
    result = await run(panel(terminate_when=condition), use_async=use_async)
    assert (result.rounds, result.stop.by) == (2, by)


@pytest.mark.parametrize(
    "condition",
    [
        long_enough_in_time | text_mention("zzz"),
        text_mention("zzz") | long_enough_in_time | max_messages(17),
        long_enough_in_time & text_mention("a1"),
        text_mention("a1") & ~~as_condition(long_enough_in_time),
    ],
    ids=repr,
)
async def test_async_functions_are_awaited_and_run_says_so(condition: Condition) -> None:
    pattern = panel(terminate_when=condition)
    assert (await pattern.arun("go")).rounds == 2
    with pytest.raises(RunError, match="async parts .*long_enough_in_time.*: use arun"):
        pattern.run("go")


# Bad arguments

BAD: Any = object


@pytest.mark.parametrize(
    ("make", "problems"),
    [
        (
            lambda: text_mention("", "writer", BAD),
            [
                "text must be a text that is not empty, got ''",
                "sources must be a list of member names, at least one, got 'writer'",
                "nested must be True or False, got <class 'object'>",
            ],
        ),
        (
            lambda: text_mention(BAD, []),
            [
                "text must be a text that is not empty, got <class 'object'>",
                "sources must be a list of member names, at least one, got []",
            ],
        ),
        (
            lambda: max_messages(0, nested=BAD),
            [
                "n must be a whole number > 0, got 0",
                "nested must be True or False, got <class 'object'>",
            ],
        ),
        (
            lambda: source_match(["a", ""], nested=BAD),
            [
                "names must be a list of member names, at least one, got ['a', '']",
                "nested must be True or False, got <class 'object'>",
            ],
        ),
        (
            lambda: source_match("writer"),
            ["names must be a list of member names, at least one, got 'writer'"],
        ),
        (lambda: tool_call(BAD), ["name must be a text that is not empty, got <class 'object'>"]),
        (lambda: repetition(1), ["window must be a whole number > 1, got 1"]),
        (lambda: repetition(True), ["window must be a whole number > 1, got True"]),
        (
            lambda: token_usage(0, input=True, output=-1),
            [
                "total must be a whole number > 0, got 0",
                "input must be a whole number > 0, got True",
                "output must be a whole number > 0, got -1",
            ],
        ),
        (token_usage, ["give at least one of total, input and output, got none"]),
    ],
)
def test_bad_arguments_are_all_listed(make: Callable[[], object], problems: list[str]) -> None:
    with pytest.raises(DefinitionError) as caught:
        make()
    assert list(caught.value.problems) == problems


@pytest.mark.parametrize("seconds", [0, -1, True, "3", None, float("nan"), float("inf")])
def test_timeout_takes_a_finite_number_above_0(seconds: Any) -> None:
    with pytest.raises(DefinitionError, match="seconds must be a finite number of seconds > 0"):
        timeout(seconds)


@pytest.mark.parametrize("seconds", [1, 0.25, 1e-9, 10**9])
def test_timeout_shows_its_seconds_as_they_were_written(seconds: float) -> None:
    assert repr(timeout(seconds)) == f"timeout({seconds!r})"


def test_members_of_enums_become_what_they_stand_for() -> None:
    class Word(enum.StrEnum):
        DONE = "done"

    class Count(enum.IntEnum):
        MOST = 3

    assert text_mention(Word.DONE, [Word.DONE]) == text_mention("done", ["done"])
    assert repr(text_mention(Word.DONE, [Word.DONE])) == "text_mention('done', sources=['done'])"
    assert repr(max_messages(Count.MOST)) == "max_messages(3)"


@pytest.mark.parametrize("function", [lambda: True, lambda ctx, more: True, "APPROVE"])
def test_a_function_that_cannot_take_the_context_is_refused_where_it_is_combined(
    function: Any,
) -> None:
    with pytest.raises(DefinitionError, match=r"must be a condition or a function \(ctx\) -> bool"):
        _ = max_messages(3) | function


def test_the_page_lists_every_condition_by_an_example_that_works() -> None:
    page = (Path(__file__).parent.parent / "docs" / "conditions.md").read_text()
    rows = re.findall(r"^\| `(\w+)(\(.*?\))` \|", page, flags=re.MULTILINE)
    made = [eval(name + call, dict(vars(conditions))) for name, call in rows]
    assert all(isinstance(each, Condition) for each in made)
    general = {"Condition", "External", "Predicate", "as_condition"}
    assert {name for name, _ in rows} == set(conditions.__all__) - general
