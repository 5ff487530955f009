"""Corners of a graph: joins behind joins, laps, the order in which it is written down."""

from __future__ import annotations

import asyncio
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

from flowcompose import Context, DefinitionError, Edge, Pattern, Result, RosterEntry, graph
from flowcompose.core.conditions import text_mention
from flowcompose.core.tools import terminate

both_paths = pytest.mark.parametrize("use_async", [False, True])


def team(names: str, edges: list[Any], **options: Any) -> Pattern[Any]:
    """A member for each letter, who says its name."""
    roster = [RosterEntry(name, block=lambda turn: turn.agent_name) for name in names]
    build: Callable[..., Pattern[Any]] = graph  # the options vary
    return build(**{"name": "team", "roster": roster, "edges": edges, **options})


def edges_of(written: str) -> list[Any]:
    """Edges written as `ab ac`: each from one member to another."""
    return [Edge(each[0], each[1]) for each in written.split()]


async def run(pattern: Pattern[Any], *, use_async: bool, **options: Any) -> Result[Any]:
    return await pattern.arun("go", **options) if use_async else pattern.run("go", **options)


def said(result: Result[Any]) -> str:
    return "".join(each.agent_name for each in result.contributions)


def no(ctx: Context) -> bool:
    return False


def yes(ctx: Context) -> bool:
    return True


def times(name: str, count: int) -> Callable[[Context], bool]:
    """True as long as `name` has spoken at most so often."""
    return lambda ctx: [each.agent_name for each in ctx.contributions].count(name) <= count


# Joins


@both_paths
async def test_a_join_behind_a_join_that_went_on_with_the_first_is_waited_at(
    use_async: bool,
) -> None:
    edges = edges_of("sa sb sc am bx xy yz zm mj cj jk")
    result = await run(team("sabcxyzmjk", edges, join={"m": "any"}), use_async=use_async)
    assert (said(result), result.stop.reason) == ("sabcxmyjzk", "completed")


@both_paths
@pytest.mark.parametrize("parts", ["a", "ab"])
async def test_branches_that_met_are_waited_for_as_each_of_them_was(
    parts: str, use_async: bool
) -> None:
    edges = [Edge("s", name) for name in f"{parts}c"]
    edges += [Edge("a", "l", no), *(Edge(name, "j") for name in parts), Edge("c", "l")]
    result = await run(team(f"s{parts}cjl", edges), use_async=use_async)
    assert (said(result), result.stop.reason, result.stop.by) == (f"s{parts}cj", "stalled", "l")
    assert "'a'" in str(result.stop.detail)


@both_paths
async def test_branches_that_met_are_not_waited_for_where_none_of_them_could_come(
    use_async: bool,
) -> None:
    edges = edges_of("sa sb sc sd aj bj jk cl dx xl")
    result = await run(team("sabcdjklx", edges), use_async=use_async)
    assert (said(result), result.stop.reason) == ("sabcdjxkl", "completed")


# Laps


@both_paths
async def test_a_branch_that_ended_in_an_earlier_lap_does_not_stall_a_later_one(
    use_async: bool,
) -> None:
    first = times("s", 1)
    edges = [Edge("s", "b", first), Edge("s", "c"), *edges_of("bp bq ps cl"), Edge("q", "l", no)]
    result = await run(team("sbpqcl", edges, max_turns=20), use_async=use_async)
    assert (said(result), result.stop.reason) == ("sbpqscl", "completed")


@both_paths
async def test_branches_that_met_and_ended_in_an_earlier_lap_do_not_stall_a_later_one(
    use_async: bool,
) -> None:
    first = times("s", 1)
    edges = [*edges_of("sa sb sc aj bj cd"), Edge("j", "l", lambda ctx: not first(ctx))]
    edges += [Edge("d", "s", first), Edge("d", "l")]
    result = await run(team("sabcjdl", edges, max_turns=30), use_async=use_async)
    assert (said(result), result.stop.reason) == ("sabcjdsabcjdl", "completed")


@both_paths
async def test_a_join_that_takes_the_first_goes_on_again_in_the_next_lap(use_async: bool) -> None:
    edges = [*edges_of("sa sb am bc mj"), Edge("c", "s", times("b", 1)), Edge("c", "m")]
    pattern = team("sabcmj", edges, max_turns=30, join={"m": "any"})
    result = await run(pattern, use_async=use_async)
    assert (said(result), result.stop.reason) == ("sabcmsjabcmj", "completed")


@both_paths
async def test_branches_that_wait_do_not_pile_up_lap_by_lap(use_async: bool) -> None:
    edges = [*edges_of("ax ay yj"), Edge("x", "a", times("x", 99)), Edge("x", "j")]
    pattern = team("axyj", edges, max_turns=400, checkpointer=InMemorySaver())
    result = await run(pattern, use_async=use_async, thread_id="t")
    assert (said(result), result.stop.reason) == ("axy" * 100 + "j", "completed")
    history = pattern.get_state_history({"configurable": {"thread_id": "t"}})
    sizes = [len(json.dumps(each.values.get("selection"))) for each in history]
    assert len(sizes) > 200
    assert 50 < max(sizes) < 1000


# The order in which it is written


REWORK = [
    [Edge("s", "a"), Edge("s", "c")],
    [Edge("a", "b", yes)],
    [Edge("b", "f", times("b", 1)), Edge("b", "j")],
    [Edge("f", "a")],
    [Edge("c", "j")],
]


@settings(max_examples=60, deadline=None)
@given(order=st.permutations(REWORK), names=st.permutations("safbcj"))
def test_neither_the_order_of_edges_nor_of_the_roster_changes_what_leads_back(
    order: list[list[Edge]], names: list[str]
) -> None:
    edges = [edge for group in order for edge in group]
    result = team("".join(names), edges, start="s", max_turns=30).run("go")
    steps = said(result)
    assert (steps[0], sorted(steps[1:3]), steps[3:]) == ("s", ["a", "c"], "bfabj")
    assert result.stop.reason == "completed"


@both_paths
@pytest.mark.parametrize("names", ["wlfme", "ewlfm", "mefwl"])
async def test_a_join_waits_for_both_branches_wherever_it_stands_in_the_roster(
    names: str, use_async: bool
) -> None:
    edges = [*edges_of("wl wf lm me fe"), Edge("e", "w", times("e", 1))]
    pattern = team(names, edges, start="w", max_turns=20)
    result = await run(pattern, use_async=use_async)
    laps = said(result)[:5], said(result)[5:]
    for lap in laps:
        assert (lap[0], sorted(lap[1:3]), lap[3:]) == ("w", ["f", "l"], "me")
    assert result.stop.reason == "completed"


# Definition


def test_a_cycle_through_many_choices_is_found_at_once() -> None:
    edges: list[Any] = []
    for at in range(20):
        here, then = f"x{at}", f"x{at + 1}"
        edges += [(here, f"b{at}", yes), (here, f"c{at}"), (f"b{at}", then), (f"c{at}", then)]
    names = [*(f"{kind}{at}" for kind in "xbc" for at in range(20)), "x20"]
    roster = [RosterEntry(name, block=lambda turn: "x") for name in names]
    began = time.process_time()
    with pytest.raises(DefinitionError, match="max_turns") as caught:
        graph(name="team", roster=roster, edges=[*edges, ("x20", "x0", no)])
    assert time.process_time() - began < 5
    assert "'x0' -> 'b0' -> 'x1' -> 'b1' -> " in str(caught.value)
    assert "'b19' -> 'x20' -> 'x0'" in str(caught.value)


@dataclass
class Said:
    """A condition that compares by its fields, and so has no hash."""

    word: str

    def __call__(self, ctx: Context) -> bool:
        return self.word == ctx.contributions[-1].text


@both_paths
async def test_an_object_with_a_call_is_a_condition_of_an_edge(use_async: bool) -> None:
    edges = [Edge("a", "b", Said("z")), Edge("a", "c", Said("a"))]
    assert said(await run(team("abc", edges), use_async=use_async)) == "ac"


def test_a_tool_that_ends_the_run_is_a_way_out() -> None:
    pattern = team("ab", edges_of("ab ba"), max_turns=3, tools=[terminate])  # without a warning
    assert pattern.run("go").stop.reason == "max_turns"


def test_repr_shows_every_edge_and_its_condition() -> None:
    shown = repr(team("abc", [("a", "b", yes), Edge("a", "c"), ("b", "c", text_mention("ok"))]))
    assert "'a' -> 'b' when yes" in shown
    assert "'a' -> 'c'," in shown
    assert "'b' -> 'c' when text_mention('ok'" in shown
    assert "\n" not in shown


# Any graph


def some_of(names: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), unique=True, max_size=3) if names else st.just([])


@settings(max_examples=150, deadline=None)
@given(data=st.data(), size=st.integers(1, 7), cyclic=st.booleans())
def test_any_graph_ends_for_a_reason_and_alike_on_both_paths(
    data: st.DataObject, size: int, cyclic: bool
) -> None:
    names = "abcdefg"[:size]
    edges: list[Edge] = []
    for at, name in enumerate(names):
        targets = data.draw(some_of(names if cyclic else names[at + 1 :]))
        free = data.draw(st.sampled_from([0, 1, len(targets)]))  # so many, the last ones
        for left, target in zip(range(len(targets), 0, -1), targets, strict=True):
            when = None if left <= free else data.draw(st.sampled_from([yes, no]))
            edges.append(Edge(name, target, when))
    joins = data.draw(st.fixed_dictionaries({n: st.sampled_from(["all", "any"]) for n in names}))
    cap = data.draw(st.integers(1, 25) if cyclic else st.none() | st.integers(1, 9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of members that cannot be reached, or never end
        pattern = team(names, edges, max_turns=cap, join=joins)
    result, again = pattern.run("go"), asyncio.run(pattern.arun("go"))
    assert result.stop.reason in {"completed", "stalled", "max_turns"}
    assert 1 <= result.turns == len(result.contributions) <= (cap or size)
    assert (said(again), again.stop) == (said(result), result.stop)
    assert result.stop.reason != "stalled" or joins[str(result.stop.by)] == "all"


@both_paths
async def test_a_lap_that_begins_while_the_last_one_goes_on_wakes_an_any_join_again(
    use_async: bool,
) -> None:
    edges = [*edges_of("sa sb am"), Edge("b", "s", times("b", 1)), Edge("b", "m"), Edge("m", "j")]
    pattern = team("sabmj", edges, join={"m": "any"}, max_turns=30)
    result = await run(pattern, use_async=use_async)
    assert (said(result), result.stop.reason) == ("sabsmabjmj", "completed")


@both_paths
async def test_a_branch_with_a_loop_of_its_own_does_not_wake_an_any_join_again(
    use_async: bool,
) -> None:
    edges = [*edges_of("aw ax"), Edge("w", "w", times("w", 1)), Edge("w", "c"), Edge("x", "c")]
    edges += [Edge("c", "a", times("c", 1)), Edge("c", "p")]
    pattern = team("awxcp", edges, join={"c": "any"}, max_turns=20)
    result = await run(pattern, use_async=use_async)
    assert (said(result), result.stop.reason) == ("awxwcawxcp", "completed")
