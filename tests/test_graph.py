"""A graph pattern: edges say who speaks next, also several at the same time."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from flowcompose import (
    Context,
    DefinitionError,
    Edge,
    MaxTurnsReached,
    MemberError,
    Pattern,
    Result,
    RosterEntry,
    RunError,
    TurnInput,
    graph,
)
from flowcompose.core import events
from flowcompose.core.conditions import max_messages, text_mention

both_paths = pytest.mark.parametrize("use_async", [False, True])


def echo(turn: TurnInput) -> str:
    return f"{turn.agent_name}{turn.turn}"


def edges_of(written: str) -> list[Edge]:
    """Edges written as `ab ac`: each from one member to another."""
    return [Edge(each[0], each[1]) for each in written.split()]


def team(names: str, edges: Any, *, block: Any = echo, **options: Any) -> Pattern[Any]:
    """A member for each letter; `block` may be one for all, or a mapping by name."""
    blocks = block if isinstance(block, Mapping) else {}
    shared = echo if blocks else block
    roster = [RosterEntry(name=name, block=blocks.get(name, shared)) for name in names]
    build: Callable[..., Pattern[Any]] = graph  # the options vary
    edges = edges_of(edges) if isinstance(edges, str) else edges
    return build(**{"name": "team", "roster": roster, "edges": edges, **options})


async def run(pattern: Pattern[Any], *, use_async: bool, **options: Any) -> Result[Any]:
    return await pattern.arun("go", **options) if use_async else pattern.run("go", **options)


def said(result: Result[Any]) -> str:
    """Who spoke, in order."""
    return "".join(each.agent_name for each in result.contributions)


def no(ctx: Context) -> bool:
    return False


def yes(ctx: Context) -> bool:
    return True


def times(name: str, count: int) -> Callable[[Context], bool]:
    """True as long as `name` has spoken at most so often."""
    return lambda ctx: [each.agent_name for each in ctx.contributions].count(name) <= count


# One after the other


@both_paths
async def test_a_chain_follows_its_edges_and_is_complete(use_async: bool) -> None:
    result = await run(team("abc", "ac cb"), use_async=use_async)
    assert [each.text for each in result.contributions] == ["a1", "c2", "b3"]
    assert (result.stop.reason, result.turns, result.output) == ("completed", 3, "b3")


def test_edges_may_be_tuples() -> None:
    assert said(team("abc", [("a", "b", yes), ("b", "c")]).run("go")) == "abc"


def test_start_says_who_opens() -> None:
    assert said(team("abc", "ca ab", start="c").run("go")) == "cab"


@both_paths
async def test_the_first_edge_whose_condition_holds_is_taken(use_async: bool) -> None:
    async def later(ctx: Context) -> bool:
        await asyncio.sleep(0)
        return True

    edges = [("a", "b", no), ("a", "c", later if use_async else yes), ("a", "d", yes)]
    assert said(await run(team("abcd", edges), use_async=use_async)) == "ac"


def test_the_fallback_is_taken_when_no_condition_holds() -> None:
    edges = [("a", "b", no), ("a", "c", no), ("a", "d")]
    assert said(team("abcd", edges).run("go")) == "ad"


def test_without_a_condition_that_holds_the_branch_ends() -> None:
    result = team("abc", [("a", "b", no), ("a", "c", no)]).run("go")
    assert (said(result), result.stop.reason) == ("a", "completed")


def test_a_condition_of_an_edge_sees_what_its_member_said() -> None:
    edges = [("a", "b", lambda ctx: ctx.contributions[-1].text == "a1"), ("a", "c")]
    assert said(team("abc", edges).run("go")) == "ab"


def test_a_single_member_needs_no_edges() -> None:
    assert said(team("a", []).run("go")) == "a"


@both_paths
async def test_a_rework_loop_goes_back_until_it_is_good(use_async: bool) -> None:
    edges = [("w", "r"), ("r", "w", times("r", 2)), ("r", "p")]
    result = await run(team("wrp", edges, max_turns=20), use_async=use_async)
    assert (said(result), result.stop.reason) == ("wrwrwrp", "completed")


def test_a_member_may_follow_itself() -> None:
    edges = [("a", "a", times("a", 2)), ("a", "b")]
    assert said(team("ab", edges, max_turns=9).run("go")) == "aaab"


@pytest.mark.parametrize(("cap", "reason"), [(1, "max_turns"), (2, "max_turns"), (3, "completed")])
def test_a_chain_that_just_fits_its_cap_is_complete(cap: int, reason: str) -> None:
    result = team("abc", "ab bc", max_turns=cap).run("go")
    assert (said(result), result.stop.reason) == ("abc"[:cap], reason)


def test_a_circle_ends_at_its_cap() -> None:
    edges = [("a", "b"), ("b", "a", yes), ("b", "c")]
    result = team("abc", edges, max_turns=61).run("go")
    assert (result.turns, result.stop.reason) == (61, "max_turns")
    with pytest.raises(MaxTurnsReached) as caught:
        team("abc", edges, max_turns=3, on_limit="raise").run("go")
    assert caught.value.result is not None
    assert said(caught.value.result) == "aba"


# Several at the same time


@both_paths
async def test_branches_see_one_snapshot_and_a_join_sees_all(use_async: bool) -> None:
    def look(turn: TurnInput) -> str:
        return "".join(each.agent_name for each in turn.contributions) + f">{turn.turn}"

    result = await run(team("abcd", "ab ac bd cd", block=look), use_async=use_async)
    assert [each.text for each in result.contributions] == [">1", "a>2", "a>3", "abc>4"]
    assert [each.turn for each in result.contributions] == [1, 2, 3, 4]
    assert [task.assignee for task in result.tasks] == list("abcd")
    assert (result.stop.reason, result.turns) == ("completed", 4)


def test_branches_run_at_the_same_time_and_are_recorded_in_roster_order() -> None:
    finished: list[str] = []
    turns = {name: threading.Event() for name in "bcd"}
    turns["d"].set()
    before = {"d": "c", "c": "b"}

    def wait(turn: TurnInput) -> str:
        assert turns[turn.agent_name].wait(20)
        finished.append(turn.agent_name)
        if turn.agent_name in before:
            turns[before[turn.agent_name]].set()
        return "x"

    result = team("abcd", "ab ad ac", block=dict.fromkeys("bcd", wait)).run("go")
    assert (said(result), finished) == ("abcd", ["d", "c", "b"])


async def test_the_same_on_the_async_path() -> None:
    finished: list[str] = []
    turns = {name: asyncio.Event() for name in "bcd"}
    turns["d"].set()
    before = {"d": "c", "c": "b"}

    async def wait(turn: TurnInput) -> str:
        await asyncio.wait_for(turns[turn.agent_name].wait(), 20)
        finished.append(turn.agent_name)
        if turn.agent_name in before:
            turns[before[turn.agent_name]].set()
        return "x"

    result = await team("abcd", "ab ad ac", block=dict.fromkeys("bcd", wait)).arun("go")
    assert (said(result), finished) == ("abcd", ["d", "c", "b"])


SHAPES = {
    "a join of branches of different length": ("abcde", "ab ac cd be de", "abcde"),
    "a fan-out inside a branch": ("abcdefg", "ab ac bd be df ef fg cg", "abcdefg"),
    "two joins": ("abcdef", "ab ac bd cd be ce df ef", "abcdef"),
    "an edge past the join": ("abcd", "ab ad bc cd", "abcd"),
    "branches that never meet": ("abcde", "ab ac bd ce", "abcde"),
    "a branch that ends before the others": ("abcd", "ab ac cd", "abcd"),
}


@both_paths
@pytest.mark.parametrize("shape", SHAPES)
async def test_every_branch_runs_once_and_a_join_waits_for_all(shape: str, use_async: bool) -> None:
    names, edges, expected = SHAPES[shape]
    result = await run(team(names, edges), use_async=use_async)
    assert (said(result), result.stop.reason) == (expected, "completed")


@both_paths
@pytest.mark.parametrize("join", ["any", {"e": "any"}])
async def test_join_any_goes_on_with_the_first_and_only_once(join: Any, use_async: bool) -> None:
    result = await run(team("abcde", "ab ac cd be de", join=join), use_async=use_async)
    assert (said(result), result.stop.reason) == ("abcde", "completed")
    seen = dict[str, list[str]]()

    def look(turn: TurnInput) -> str:
        seen[turn.agent_name] = [each.agent_name for each in turn.contributions]
        return "x"

    await run(team("abcde", "ab ac cd be de", join=join, block=look), use_async=use_async)
    assert seen["e"] == ["a", "b", "c"]
    assert seen["d"] == ["a", "b", "c"]


def test_a_join_does_not_wait_for_a_branch_that_was_never_started() -> None:
    edges = [("a", "b", yes), ("a", "c", yes), ("b", "d"), ("c", "d")]
    result = team("abcd", edges).run("go")
    assert (said(result), result.stop.reason) == ("abd", "completed")


@both_paths
async def test_a_join_whose_branch_ended_stalls_and_names_both(use_async: bool) -> None:
    edges = [*edges_of("ab ac bd"), Edge("c", "d", no)]
    result = await run(team("abcd", edges), use_async=use_async)
    assert said(result) == "abc"
    assert (result.stop.reason, result.stop.by) == ("stalled", "d")
    assert "'c'" in str(result.stop.detail)


def test_a_join_whose_branch_ended_elsewhere_stalls_once_all_else_is_done() -> None:
    edges = [*edges_of("ab ac bd ef"), Edge("c", "d", no), Edge("c", "e")]
    result = team("abcdef", edges).run("go")
    assert said(result) == "abcef"
    assert (result.stop.reason, result.stop.by) == ("stalled", "d")


def test_join_any_does_not_stall() -> None:
    edges = [*edges_of("ab ac bd"), Edge("c", "d", no)]
    result = team("abcd", edges, join="any").run("go")
    assert (said(result), result.stop.reason) == ("abcd", "completed")


def test_where_no_branch_comes_to_the_join_nobody_waits() -> None:
    edges = [*edges_of("ab ac"), Edge("b", "d", no), Edge("c", "d", no)]
    assert team("abcd", edges).run("go").stop.reason == "completed"


@both_paths
async def test_a_loop_back_to_the_fork_starts_all_branches_again(use_async: bool) -> None:
    edges = [*edges_of("ab ac bd cd"), Edge("d", "a", times("d", 1)), Edge("d", "e")]
    result = await run(team("abcde", edges, max_turns=30), use_async=use_async)
    assert (said(result), result.stop.reason) == ("abcdabcde", "completed")


@both_paths
async def test_a_loop_back_into_one_branch_does_not_wait_for_the_other(use_async: bool) -> None:
    edges = [*edges_of("ab ac bd cd"), Edge("d", "b", times("d", 2)), Edge("d", "e")]
    result = await run(team("abcde", edges, max_turns=30), use_async=use_async)
    assert (said(result), result.stop.reason) == ("abcdbdbde", "completed")


def test_a_loop_inside_a_branch_is_waited_for() -> None:
    edges = [*edges_of("ab ac bd"), Edge("c", "c", times("c", 2)), Edge("c", "d")]
    result = team("abcd", edges, max_turns=30).run("go")
    assert (said(result), result.stop.reason) == ("abcccd", "completed")


@pytest.mark.parametrize(("cap", "expected"), [(1, "a"), (2, "a"), (3, "abc"), (4, "abcd")])
def test_a_step_that_does_not_fit_the_cap_is_not_begun(cap: int, expected: str) -> None:
    result = team("abcd", "ab ac bd cd", max_turns=cap).run("go")
    assert said(result) == expected
    assert result.stop.reason == ("completed" if cap == 4 else "max_turns")


@both_paths
async def test_conditions_are_asked_after_the_whole_step_and_see_all_of_it(
    use_async: bool,
) -> None:
    asked: list[int] = []

    def look(ctx: Context) -> bool:
        asked.append(len(ctx.contributions))
        return False

    mention = text_mention("b2")
    pattern = team("abcd", "ab ac bd cd", terminate_when=look | (mention & max_messages(3)))
    result = await run(pattern, use_async=use_async)
    assert (said(result), asked) == ("abc", [1, 3])
    assert result.stop.reason == "terminate_when"


@both_paths
async def test_events_of_a_step_tell_who_and_when(use_async: bool) -> None:
    pattern = team("abcd", "ab ac bd cd")
    if use_async:
        seen = [event async for event in pattern.aevents("go")]
    else:
        seen = list(pattern.events("go"))
    done = [e for e in seen if isinstance(e, events.TurnCompleted)]
    assert sorted((e.agent_name, e.turn) for e in done) == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]
    assert sorted(e.contribution.text for e in done) == ["a1", "b2", "c3", "d4"]
    started = [e.agent_name for e in seen if isinstance(e, events.TurnStarted)]
    assert sorted(started) == list("abcd")
    stops = [e.stop.reason for e in seen if isinstance(e, events.RunStopped)]
    assert stops == ["completed"]
    assert isinstance(seen[-1], events.RunCompleted)
    assert said(seen[-1].result) == "abcd"


# Failures and questions


class Flaky:
    """Some members fail until they are mended."""

    def __init__(self, *bad: str) -> None:
        self.bad = list(bad)
        self.taken: list[str] = []

    def __call__(self, turn: TurnInput) -> str:
        if turn.agent_name in self.bad:
            raise ValueError(f"{turn.agent_name} is down")
        self.taken.append(turn.agent_name)
        return echo(turn)


@both_paths
async def test_a_failure_in_a_step_raises_when_the_others_are_done(use_async: bool) -> None:
    member = Flaky("b")
    pattern = team("abcd", "ab ac bd cd", block=member)
    with pytest.raises(MemberError, match="member 'b' failed") as caught:
        await run(pattern, use_async=use_async)
    assert caught.value.result is not None
    assert said(caught.value.result) == "ac"
    member.bad = []
    assert said(await run(pattern, use_async=use_async)) == "abcd"


@both_paths
@pytest.mark.parametrize(
    ("policy", "spoke", "reason"), [("skip", "acd", "completed"), ("stop", "ac", "member_failed")]
)
async def test_a_failure_in_a_step_is_passed_over_or_ends_the_run(
    policy: str, spoke: str, reason: str, use_async: bool
) -> None:
    member = Flaky("b")
    pattern = team("abcd", "ab ac bd cd", block=member, on_error=policy)
    result = await run(pattern, use_async=use_async)
    assert (said(result), result.stop.reason) == (spoke, reason)
    assert result.stop.by == (None if policy == "skip" else "b")
    assert [t.error for t in result.tasks if t.status == "errored"] == ["ValueError: b is down"]
    member.bad = []
    assert said(await run(pattern, use_async=use_async)) == "abcd"


@pytest.mark.parametrize("policy", ["raise", "skip", "stop"])
def test_two_failures_of_one_step_are_both_kept(policy: str) -> None:
    member = Flaky("b", "c")
    pattern = team("abcd", "ab ac bd cd", block=member, on_error=policy)
    if policy == "raise":
        with pytest.raises(MemberError, match="member 'b' failed"):
            pattern.run("go")
    else:
        result = pattern.run("go")
        assert said(result) == ("ad" if policy == "skip" else "a")
        assert [t.assignee for t in result.tasks if t.status == "errored"] == ["b", "c"]
    member.bad = []
    assert said(pattern.run("go")) == "abcd"


@both_paths
async def test_a_failed_step_is_resumed_with_what_is_missing(use_async: bool) -> None:
    member = Flaky("b")
    saver = InMemorySaver()
    pattern = team("abcd", "ab ac bd cd", block=member, checkpointer=saver)
    with pytest.raises(MemberError):
        await run(pattern, use_async=use_async, thread_id="t")
    member.bad = []
    result = await pattern.aresume("t") if use_async else pattern.resume("t")
    assert [each.text for each in result.contributions] == ["a1", "b2", "c3", "d4"]
    assert sorted(member.taken) == list("abcd")


@both_paths
async def test_two_branches_may_ask_at_once(use_async: bool) -> None:
    def ask(turn: TurnInput) -> str:
        return f"{turn.agent_name} heard {interrupt(turn.agent_name)}"

    block = {"b": ask, "c": ask}
    pattern = team("abcd", "ab ac bd cd", block=block, checkpointer=InMemorySaver())
    waiting = await run(pattern, use_async=use_async, thread_id="t")
    assert (waiting.stop.reason, sorted(waiting.interrupts)) == ("interrupted", ["b", "c"])
    answers = [f"yes {name}" for name in waiting.interrupts]
    result = await pattern.aresume("t", answers) if use_async else pattern.resume("t", answers)
    heard = [each.text for each in result.contributions]
    assert heard == ["a1", "b heard yes b", "c heard yes c", "d4"]


def test_a_question_in_one_branch_leaves_the_other_its_turn() -> None:
    member = Flaky()

    def ask(turn: TurnInput) -> str:
        return str(interrupt("b?"))

    block = {"a": member, "b": ask, "c": member, "d": member}
    pattern = team("abcd", "ab ac bd cd", block=block, checkpointer=InMemorySaver())
    assert pattern.run("go", thread_id="t").interrupts == ["b?"]
    assert said(pattern.resume("t", "yes")) == "abcd"
    assert member.taken == ["a", "c", "d"]


@both_paths
@pytest.mark.parametrize("targets", ["b", "bc"])
async def test_a_condition_that_throws_names_its_edge(targets: str, use_async: bool) -> None:
    fails = [True]

    def down(ctx: Context) -> bool:
        if fails:
            fails.clear()
            raise LookupError("no connection")
        return True

    member = Flaky()
    edges = [Edge("x", target) for target in targets] + [Edge("b", "d", down)]
    pattern = team(f"x{targets}d", edges, block=member, checkpointer=InMemorySaver())
    with pytest.raises(RunError, match="'b' -> 'd'") as caught:
        await run(pattern, use_async=use_async, thread_id="t")
    assert "no connection" in str(caught.value)
    assert isinstance(caught.value.__cause__, LookupError)
    assert caught.value.result is not None
    assert said(caught.value.result) == f"x{targets}"
    result = await pattern.aresume("t") if use_async else pattern.resume("t")
    assert said(result) == f"x{targets}d"
    assert sorted(member.taken) == sorted(f"x{targets}d")


async def test_an_async_condition_of_an_edge_needs_the_async_path() -> None:
    async def later(ctx: Context) -> bool:
        await asyncio.sleep(0)
        return True

    with pytest.raises(RunError, match="arun"):
        team("ab", [("a", "b", later)]).run("go")


# Definition


@pytest.mark.parametrize(
    ("edges", "options", "parts"),
    [
        ("ab az", {}, ["'z'", "edge"]),
        ("ab za", {}, ["'z'", "edge"]),
        ("ab", {"start": "z"}, ["start", "'z'"]),
        ("ab", {"join": {"z": "any"}}, ["join", "'z'"]),
        ("ab", {"join": "most"}, ["join", "'most'", "'all'", "'any'"]),
        ("ab", {"join": {"b": "most"}}, ["join", "'most'"]),
        ("ab ab", {}, ["duplicate", "'a'", "'b'"]),
        ("ab", {"max_turns": 0}, ["max_turns must be > 0 and a whole number, got 0"]),
        ("ab", {"max_turns": True}, ["max_turns must be > 0 and a whole number, got True"]),
        ("ab", {"max_turns": "3"}, ["max_turns must be > 0 and a whole number, got '3'"]),
        ([("a", "b"), 7], {}, ["7"]),
        ([("a", "b"), ("a",)], {}, ["('a',)"]),
        ([("a", "b", "if good")], {}, ["'if good'"]),
        (None, {}, ["edges", "None"]),
        ([("a", "b", no), ("a", "a"), ("a", "b")], {"max_turns": 5}, ["condition", "'a'"]),
        ([("a", "b"), ("a", "a", no)], {"max_turns": 5}, ["condition", "'a'"]),
    ],
)
def test_a_mistake_is_told_with_its_value(
    edges: Any, options: dict[str, Any], parts: list[str]
) -> None:
    with pytest.raises(DefinitionError) as caught:
        team("ab", edges, **options)
    for part in parts:
        assert part in str(caught.value)


def test_a_cycle_without_a_cap_is_named() -> None:
    with pytest.raises(DefinitionError, match="max_turns") as caught:
        team("abc", "ab bc cb")
    told = str(caught.value).replace("'", "")
    assert "b -> c -> b" in told or "c -> b -> c" in told


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(DefinitionError) as caught:
        team("ab", "ab ba az", start="y", join={"x": "any"}, max_turns=0)
    told = "\n".join(caught.value.problems)
    assert all(part in told for part in ("'z'", "'y'", "'x'", "max_turns must be"))
    assert len(caught.value.problems) >= 4


def test_a_member_that_cannot_be_reached_is_warned_about() -> None:
    with pytest.warns(UserWarning, match="'c'"):
        pattern = team("abc", "ab cb")
    assert said(pattern.run("go")) == "ab"


def test_members_without_a_way_out_are_warned_about_unless_a_condition_ends_the_run() -> None:
    with pytest.warns(UserWarning, match="'c'"):
        pattern = team("abc", "ab bc cb", max_turns=5)
    assert pattern.run("go").stop.reason == "max_turns"
    ends = team("abc", "ab bc cb", max_turns=50, terminate_when=text_mention("c5"))
    assert said(ends.run("go")) == "abcbc"


def test_the_drawing_shows_every_edge() -> None:
    drawn = team("abcd", "ab ac bd cd").mermaid()
    for arrow in ("a -.-> b", "a -.-> c", "b -.-> d", "c -.-> d", "d -.-> __end__"):
        assert arrow in drawn


def test_repr_shows_the_definition_on_one_line() -> None:
    shown = repr(team("ab", [Edge("a", "b", yes)], join={"b": "any"}))
    for part in ("graph(name='team'", "roster=['a', 'b']", "'a' -> 'b'", "join={'b': 'any'}"):
        assert part in shown


# Any graph


def graphs(names: str, kinds: Sequence[str]) -> st.SearchStrategy[dict[str, tuple[str, list[str]]]]:
    """For each member: how its edges are chosen, and the later members that they lead to."""
    return st.fixed_dictionaries(
        {
            name: st.tuples(
                st.sampled_from(kinds),
                st.lists(st.sampled_from(names[at + 1 :]), unique=True)
                if at + 1 < len(names)
                else st.just(list[str]()),
            )
            for at, name in enumerate(names)
        }
    )


def built(names: str, plan: dict[str, tuple[str, list[str]]], **options: Any) -> Pattern[Any]:
    """The edges of a member: all unconditional, or only its first is taken, or none."""
    edges: list[Edge] = []
    for name, (kind, targets) in plan.items():
        when = {"all": None, "first": yes, "none": no}[kind]
        edges += [Edge(name, target, when) for target in targets]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of members that cannot be reached
        return team(names, edges, **options)


def taken(plan: dict[str, tuple[str, list[str]]], name: str) -> list[str]:
    kind, targets = plan[name]
    return {"all": targets, "first": targets[:1], "none": []}[kind]


@settings(max_examples=150, deadline=None)
@given(data=st.data(), size=st.integers(1, 7))
def test_no_graph_ends_silently_or_beyond_its_cap(data: st.DataObject, size: int) -> None:
    names = "abcdefg"[:size]
    plan = data.draw(graphs(names, ["all", "first", "none"]))
    cap = data.draw(st.none() | st.integers(1, 8))
    join = data.draw(st.sampled_from(["all", "any"]))
    pattern = built(names, plan, max_turns=cap, join=join)
    result = asyncio.run(pattern.arun("go")) if data.draw(st.booleans()) else pattern.run("go")
    spoke = said(result)
    waiting = {target for name in spoke for target in taken(plan, name)} - set(spoke)
    assert len(set(spoke)) == len(spoke) == result.turns <= (cap or size)
    assert result.stop.reason in ("completed", "stalled", "max_turns")
    assert (result.stop.reason == "completed") == (not waiting)
    if result.stop.reason == "stalled":
        assert join == "all"
        assert result.stop.by in waiting
        assert any(len(taken(plan, name)) > 1 for name in spoke)
    assert result.stop.reason != "max_turns" or cap is not None


@settings(max_examples=80, deadline=None)
@given(data=st.data(), size=st.integers(1, 7))
def test_without_conditions_every_member_that_can_be_reached_speaks_once(
    data: st.DataObject, size: int
) -> None:
    names = "abcdefg"[:size]
    plan = data.draw(graphs(names, ["all"]))
    result = built(names, plan).run("go")
    reached, open_ends = {"a"}, ["a"]
    while open_ends:
        new = set(taken(plan, open_ends.pop())) - reached
        reached |= new
        open_ends += new
    assert sorted(said(result)) == sorted(reached)
    assert result.stop.reason == "completed"
    for name in said(result):  # a join waits for all that lead to it
        before = said(result)[: said(result).index(name)]
        assert {each for each in reached if name in taken(plan, each)} <= set(before)


def now_and_then(name: str, often: int) -> Callable[[Context], bool]:
    """A condition that depends on how often `name` has spoken."""

    def holds(ctx: Context) -> bool:
        return [each.agent_name for each in ctx.contributions].count(name) % 4 < often

    return holds


@settings(max_examples=100, deadline=None)
@given(data=st.data(), size=st.integers(1, 5), cap=st.integers(1, 20))
def test_whatever_fails_in_any_graph_with_cycles_it_goes_on_as_if_nothing_had(
    data: st.DataObject, size: int, cap: int
) -> None:
    names = "abcde"[:size]
    edges: list[Edge] = []
    for name in names:
        targets = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
        when = (
            now_and_then(name, data.draw(st.integers(0, 3))) if data.draw(st.booleans()) else None
        )
        edges += [Edge(name, target, when) for target in targets]
    join = data.draw(st.sampled_from(["all", "any"]))
    fails_at = data.draw(st.integers(1, cap))
    failed = threading.Event()

    def flaky(turn: TurnInput) -> str:
        if turn.turn == fails_at and not failed.is_set():
            failed.set()
            raise ValueError("down")
        return echo(turn)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of members that cannot be reached, or never end
        whole = team(names, edges, max_turns=cap, join=join).run("go")
        broken = team(
            names, edges, max_turns=cap, join=join, block=flaky, checkpointer=InMemorySaver()
        )
    assert whole.stop.reason in ("completed", "max_turns", "stalled")
    assert 1 <= whole.turns <= cap
    if fails_at <= whole.turns:
        with pytest.raises(MemberError):
            broken.run("go", thread_id="t")
        again = broken.resume("t")
        assert [each.text for each in again.contributions] == [
            each.text for each in whole.contributions
        ]
        assert again.stop == whole.stop
