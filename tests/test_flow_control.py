"""Where a flow goes: conditions, taps, parts at the same time, branches, loops, exits, rescues."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from pydantic import BaseModel

from flowcompose import Context, Flow, OutputError, Pattern, Result, RunError, generator
from flowcompose.core import events
from flowcompose.core.testing import ScriptedModel

both_paths = pytest.mark.parametrize("use_async", [False, True])


async def run(
    flow: Flow[Any] | Pattern[Any], value: Any, *, use_async: bool, **options: Any
) -> Result[Any]:
    return await flow.arun(value, **options) if use_async else flow.run(value, **options)


def increase(value: int) -> int:
    return value + 1


def double(value: int) -> int:
    return value * 2


def same(value: Any) -> Any:
    return value


def broken(value: Any) -> Any:
    raise ValueError("no idea")


def is_small(value: Any) -> bool:
    return int(value) < 10


def is_small_in(value: Any, ctx: Context) -> bool:
    return int(value) < int(ctx.session.state.get("limit", 10))


async def is_small_async(value: Any) -> bool:
    await asyncio.sleep(0)
    return int(value) < 10


conditions = pytest.mark.parametrize("small", [is_small, is_small_in, is_small_async])


class Recorder:
    """A function that keeps what it was given."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, value: Any) -> Any:
        self.seen.append(value)
        return value


# Conditions and taps


@conditions
async def test_a_step_runs_only_if_its_condition_holds(small: Any) -> None:
    flow = Flow("f").step_if(small, double).step(increase)
    assert [(await flow.arun(value)).output for value in (1, 20)] == [3, 21]


@both_paths
async def test_a_skipped_step_passes_the_value_through(use_async: bool) -> None:
    value = object()
    flow = Flow("f").step_if(lambda value: False, broken, name="never", input=broken)
    assert (await run(flow, value, use_async=use_async)).output is value


def test_a_condition_is_asked_about_the_value_and_not_about_the_mapped_input() -> None:
    flow = Flow("f").step_if(is_small, increase, input=lambda value: value + 100)
    assert flow.run(1).output == 102


@both_paths
async def test_a_tap_leaves_the_value_alone(use_async: bool) -> None:
    tapped, mapped = Recorder(), Recorder()
    flow = Flow("f").step(increase).tap(tapped).tap(mapped, input=str).step(double)
    assert (await run(flow, 1, use_async=use_async)).output == 4
    assert (tapped.seen, mapped.seen) == ([2], ["2"])


@both_paths
async def test_a_failing_tap_fails_the_flow(use_async: bool) -> None:
    with pytest.raises(RunError, match="'f': step 'broken' failed: .*no idea"):
        await run(Flow("f").tap(broken), 1, use_async=use_async)


@conditions
async def test_a_conditional_tap_is_called_only_if_its_condition_holds(small: Any) -> None:
    tapped = Recorder()
    flow = Flow("f").tap_if(small, tapped, input=lambda value: value * 2)
    assert [(await flow.arun(value)).output for value in (1, 20)] == [1, 20]
    assert tapped.seen == [2]


def test_a_tap_may_be_a_flow_or_a_generator() -> None:
    tapped, model = Recorder(), ScriptedModel(["unheard"])
    inner = Flow("inner").map(str).step(tapped)
    flow = Flow("f").tap(inner).tap(generator("g", "x", model=model), input=str)
    assert flow.run(1).output == 1
    assert tapped.seen == ["1"]
    model.assert_complete()


# At the same time


@both_paths
async def test_parallel_blocks_get_the_same_value_and_give_a_dict_in_order(use_async: bool) -> None:
    flow = Flow("f").parallel({"z": increase, "a": double, "m": Flow("inner").step(same)})
    output = (await run(flow, 5, use_async=use_async)).output
    assert list(output.items()) == [("z", 6), ("a", 10), ("m", 5)]


@both_paths
async def test_a_list_of_parallel_blocks_gives_a_list(use_async: bool) -> None:
    flow = Flow("f").parallel([increase, double, lambda value: None], input=lambda value: value + 1)
    assert (await run(flow, 5, use_async=use_async)).output == [7, 12, None]


def test_many_parallel_blocks_keep_their_order() -> None:
    blocks = [lambda value, n=n: n for n in range(15)]
    assert Flow("f").parallel(blocks).run(0).output == list(range(15))


@both_paths
async def test_parallel_functions_run_at_the_same_time(use_async: bool) -> None:
    together = threading.Barrier(3, timeout=10)

    def meet(value: int) -> int:
        together.wait()
        return value

    flow = Flow("f").parallel([meet, meet, meet])
    assert (await run(flow, 1, use_async=use_async)).output == [1, 1, 1]


async def test_parallel_coroutines_run_at_the_same_time() -> None:
    together = asyncio.Barrier(3)

    async def meet(value: int) -> int:
        async with asyncio.timeout(10):
            await together.wait()
        return value

    assert (await Flow("f").parallel({"a": meet, "b": meet, "c": meet}).arun(1)).output == {
        "a": 1,
        "b": 1,
        "c": 1,
    }


@both_paths
async def test_one_failing_part_fails_the_parallel_step(use_async: bool) -> None:
    with pytest.raises(RunError, match="'f': step 'both' failed: .*'y'.*no idea") as caught:
        flow = Flow("f").step(increase).parallel({"x": same, "y": broken}, name="both")
        await run(flow, 1, use_async=use_async)
    assert caught.value.result is not None
    assert (caught.value.result.output, caught.value.result.stop.by) == (2, "both")


@both_paths
@pytest.mark.parametrize("items", [[3, 1, 2], (3, 1, 2), range(3), deque([1, 2]), [], ()])
async def test_for_each_gives_a_list_in_the_order_of_the_items(items: Any, use_async: bool) -> None:
    result = await run(Flow("f").for_each(double), items, use_async=use_async)
    assert result.output == [item * 2 for item in items]


@settings(max_examples=15, deadline=None)
@given(items=st.lists(st.integers(), max_size=30), width=st.integers(1, 9))
def test_for_each_is_a_map_whatever_its_concurrency(items: list[int], width: int) -> None:
    flow = Flow("f").for_each(double, max_concurrency=width).step(same)
    assert flow.run(items).output == [item * 2 for item in items]


@both_paths
async def test_for_each_takes_a_flow_and_an_input(use_async: bool) -> None:
    inner = Flow("inner").step(increase).step(double)
    flow = Flow("f").for_each(inner, input=lambda value: value["items"])
    assert (await run(flow, {"items": [1, 2]}, use_async=use_async)).output == [4, 6]


def test_for_each_in_for_each() -> None:
    inner = Flow("inner").for_each(increase)
    assert Flow("f").for_each(inner).run([[1], [], [2, 3]]).output == [[2], [], [3, 4]]


@both_paths
@pytest.mark.parametrize("value", ["abc", b"abc", 5, None, {"a": 1}, {1, 2}])
async def test_for_each_over_what_is_no_list_is_an_error(value: Any, use_async: bool) -> None:
    with pytest.raises(RunError, match="'f': step 'all' failed") as caught:
        await run(Flow("f").for_each(same, name="all"), value, use_async=use_async)
    assert "list" in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_for_each_works_at_as_many_items_at_once_as_allowed(width: int) -> None:
    lock, now, most = threading.Lock(), [0], [0]
    together = threading.Barrier(width, timeout=10)

    def work(item: int) -> int:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait()  # none goes on before as many as allowed are here
        with lock:
            now[0] -= 1
        return item

    flow = Flow("f").for_each(work, max_concurrency=width)
    assert flow.run(list(range(4 * width))).output == list(range(4 * width))
    assert most == [width]


@pytest.mark.parametrize(("width", "most"), [(1, 1), (3, 3), (None, 8)])
async def test_for_each_on_the_async_path_keeps_its_concurrency(
    width: int | None, most: int
) -> None:
    now = peak = 0
    together = asyncio.Barrier(most)

    async def work(item: int) -> int:
        nonlocal now, peak
        now += 1
        peak = max(peak, now)
        async with asyncio.timeout(10):
            await together.wait()  # none goes on before as many as allowed are here
        now -= 1
        return item

    given: Any = {} if width is None else {"max_concurrency": width}
    items = list(range(3 * most))
    assert (await Flow("f").for_each(work, **given).arun(items)).output == items
    assert peak == most


@both_paths
async def test_for_each_starts_the_next_item_when_any_is_done(use_async: bool) -> None:
    others_done = threading.Event()

    def work(item: str) -> str:
        if item == "slow":  # in batches of two, the third item would wait for this one
            assert others_done.wait(10)
        elif item == "last":
            others_done.set()
        return item

    flow = Flow("f").for_each(work, max_concurrency=2)
    items = ["slow", "b", "c", "last"]
    assert (await run(flow, items, use_async=use_async)).output == items


@both_paths
async def test_one_failing_item_fails_the_step(use_async: bool) -> None:
    flow = Flow("f").for_each(lambda item: 6 // item, name="all", max_concurrency=1)
    with pytest.raises(RunError, match="'f': step 'all' failed") as caught:
        await run(flow, [1, 0, 2], use_async=use_async)
    assert caught.value.result is not None
    assert (caught.value.result.output, caught.value.result.stop.by) == ([1, 0, 2], "all")


# Branches


@conditions
async def test_the_first_branch_that_holds_is_taken(small: Any) -> None:
    flow = Flow("f").branch(
        {"small": (small, increase), "any": (lambda value: True, double), "never": (broken, broken)}
    )
    assert [(await flow.arun(value)).output for value in (1, 20)] == [2, 40]


@both_paths
async def test_no_branch_that_holds_is_an_error_that_names_all_keys(use_async: bool) -> None:
    flow = Flow("f").branch(
        {"short": (is_small, same), "tiny": (is_small_in, same)}, name="by size"
    )
    with pytest.raises(RunError, match="'f': step 'by size' failed") as caught:
        await run(flow, 20, use_async=use_async)
    assert "'short'" in str(caught.value)
    assert "'tiny'" in str(caught.value)
    assert caught.value.result is not None
    assert caught.value.result.output == 20


def test_a_branch_may_lead_into_a_flow() -> None:
    inner = Flow("inner").step(increase).exit_if(is_small).step(double)
    flow = Flow("f").branch({"x": (is_small, inner), "y": (lambda value: True, inner)}).map(str)
    assert [flow.run(value).output for value in (1, 20)] == ["2", "42"]


# Loops


@both_paths
async def test_a_loop_without_a_condition_jumps_as_often_as_it_may(use_async: bool) -> None:
    flow = Flow("f").step(increase).loop_back("increase", max_iterations=3).step(double)
    result = await run(flow, 0, use_async=use_async)
    assert result.output == 8
    assert result.stop.detail is None


def test_ten_jumps_are_the_default_cap() -> None:
    assert Flow("f").step(increase).loop_back("increase").run(0).output == 11


@conditions
async def test_a_loop_goes_on_while_its_condition_holds(small: Any) -> None:
    flow = Flow("f").step(increase).loop_back("increase", when=small, max_iterations=100)
    result = await flow.arun(0)
    assert (result.output, result.stop.detail) == (10, None)


def test_a_loop_whose_condition_does_not_hold_is_run_through_once() -> None:
    assert Flow("f").step(increase).loop_back("increase", when=is_small).run(50).output == 51


@settings(max_examples=25, deadline=None)
@given(cap=st.integers(1, 12), target=st.integers(0, 15))
def test_a_loop_ends_by_its_condition_or_its_cap_and_says_which(cap: int, target: int) -> None:
    flow = Flow("f").step(increase, name="count")
    flow = flow.loop_back("count", when=lambda value: value < target, max_iterations=cap)
    result = flow.run(0)
    assert result.output == max(1, min(target, cap + 1))
    capped = target > cap + 1
    assert (result.stop.detail is not None) == capped
    assert result.stop.reason == "completed"


@both_paths
async def test_a_cap_that_cut_a_loop_short_is_told(use_async: bool) -> None:
    flow = Flow("f").step(increase).loop_back("increase", when=is_small, max_iterations=4)
    result = await run(flow.map(str), 0, use_async=use_async)
    assert result.output == "5"
    assert result.stop.detail is not None
    assert "4" in result.stop.detail
    assert "loop_back" in result.stop.detail or "increase" in result.stop.detail
    capped = [e for e in flow.events(0) if isinstance(e, events.CapReached)]
    assert [each.cap for each in capped] == [4]


def test_no_word_of_a_cap_that_cut_nothing_short() -> None:
    flow = Flow("f").step(increase)
    flow = flow.loop_back("increase", when=lambda value: value < 5, max_iterations=4)
    seen = list(flow.events(0))
    assert not [e for e in seen if isinstance(e, events.CapReached)]
    assert isinstance(seen[-1], events.RunCompleted)
    assert (seen[-1].result.output, seen[-1].result.stop.detail) == (5, None)


def test_an_inner_loop_counts_anew_each_time_an_outer_one_jumps_back() -> None:
    outer, inner = Recorder(), Recorder()
    flow = (
        Flow("f")
        .tap(outer, name="outer")
        .tap(inner, name="inner")
        .loop_back("inner", max_iterations=2, name="again inside")
        .loop_back("outer", max_iterations=3, name="again outside")
    )
    flow.run("x")
    assert (len(outer.seen), len(inner.seen)) == (4, 12)


def test_two_loops_in_a_row_count_apart() -> None:
    flow = (
        Flow("f")
        .step(increase)
        .loop_back("increase", max_iterations=2)
        .step(double)
        .loop_back("double", max_iterations=3)
    )
    assert flow.run(0).output == 3 * 2**4


@pytest.mark.parametrize("saving", [False, True])
def test_a_loop_counts_anew_in_every_run(saving: bool) -> None:
    flow = Flow("f").step(increase).loop_back("increase", when=is_small, max_iterations=3)
    app = flow.compile(checkpointer=InMemorySaver() if saving else None)
    thread: Any = {"thread_id": "t"} if saving else {}
    results = [app.run(value, **thread) for value in (0, 0, 8)]
    assert [result.output for result in results] == [4, 4, 10]
    assert [result.stop.detail is None for result in results] == [False, False, True]


def test_a_loop_in_a_nested_flow_counts_anew_in_each_of_its_runs() -> None:
    inner = Flow("inner").step(increase).loop_back("increase", max_iterations=2)
    flow = Flow("f").step(inner).loop_back("inner", max_iterations=3)
    assert flow.run(0).output == 12


def test_a_loop_may_go_back_to_any_kind_of_step() -> None:
    flow = (
        Flow("f")
        .map(lambda value: [value, value], name="pair")
        .for_each(increase)
        .parallel([sum, max], name="both")
        .branch({"x": (same, lambda value: value[0])}, name="first")
        .loop_back("pair", max_iterations=1)
    )
    assert flow.run(1).output == 10


# Exits


@conditions
async def test_an_exit_ends_the_flow_with_the_value_as_it_is(small: Any) -> None:
    flow = Flow("f").step(increase).exit_if(small).step(double)
    left, stayed = await flow.arun(1), await flow.arun(20)
    assert (left.output, left.stop.reason) == (2, "completed")
    assert (stayed.output, stayed.stop.reason, stayed.stop.by) == (42, "completed", None)


@both_paths
@pytest.mark.parametrize(("name", "by"), [("good enough", "good enough"), (None, "is_small")])
async def test_the_stop_names_the_exit(name: str | None, by: str, use_async: bool) -> None:
    flow = Flow("f").exit_if(is_small, name=name).step(broken)
    result = await run(flow, 1, use_async=use_async)
    assert result.stop.by is not None
    assert by in result.stop.by


def test_an_exit_of_a_nested_flow_ends_only_that() -> None:
    inner = Flow("inner").exit_if(is_small).step(broken)
    result = Flow("f").step(inner).step(increase).run(1)
    assert (result.output, result.stop.by) == (2, None)


def test_an_exit_ends_a_loop() -> None:
    flow = Flow("f").step(increase).exit_if(lambda value: value == 4).loop_back("increase")
    assert flow.run(0).output == 4


# Rescues


class DownError(Exception):
    """An error of our own."""


class WorseError(DownError):
    """A kind of it."""


class Plan(BaseModel):
    title: str


def failing(error: type[Exception], at: Any = None) -> Callable[[Any], Any]:
    def fail(value: Any) -> Any:
        if at is None or value == at:
            raise error("no idea")
        return value

    return fail


@both_paths
async def test_a_rescue_gives_the_value_that_goes_on_after_it(use_async: bool) -> None:
    between = Recorder()
    flow = Flow("f").step(broken).step(between).rescue(lambda error: 20).step(increase)
    result = await run(flow, 1, use_async=use_async)
    assert (result.output, result.stop.reason) == (21, "completed")
    assert between.seen == []


@both_paths
async def test_a_rescue_that_is_not_needed_does_nothing(use_async: bool) -> None:
    flow = Flow("f").step(increase).rescue(broken).step(double)
    assert (await run(flow, 1, use_async=use_async)).output == 4


def test_a_rescue_does_not_cover_what_comes_later() -> None:
    with pytest.raises(RunError, match="step 'broken' failed"):
        Flow("f").step(same).rescue(lambda error: 1).step(broken).run(1)


@both_paths
@pytest.mark.parametrize(
    ("block", "output"),
    [
        (lambda error: f"{error}", "no idea"),
        (lambda error, value: f"{error} about {value}", "no idea about 2"),
        (lambda error, ctx: f"{error} for {ctx.session.state['who']}", "no idea for me"),
        (
            lambda error, value, ctx: f"{error} about {value} for {ctx.session.state['who']}",
            "no idea about 2 for me",
        ),
    ],
)
async def test_a_rescue_is_told_error_value_and_context(
    block: Any, output: str, use_async: bool
) -> None:
    flow = Flow("f").step(increase).step(broken).rescue(block)
    assert (await run(flow, 1, use_async=use_async, session={"who": "me"})).output == output


async def test_a_rescue_may_be_async() -> None:
    async def save(error: Exception, value: int) -> int:
        await asyncio.sleep(0)
        return value * 100

    assert (await Flow("f").step(increase).step(broken).rescue(save).arun(1)).output == 200


def test_the_error_given_is_the_one_of_the_step() -> None:
    mine = ValueError("mine")

    def fail(value: Any) -> Any:
        raise mine

    assert Flow("f").step(fail).rescue(same).run(1).output is mine


@pytest.mark.parametrize(
    ("on", "error", "saved"),
    [
        (Exception, DownError, True),
        (DownError, DownError, True),
        (DownError, WorseError, True),
        (WorseError, DownError, False),
        (KeyError, DownError, False),
        ((KeyError, DownError), WorseError, True),
        ((KeyError, TypeError), DownError, False),
        (RunError, DownError, False),
    ],
)
def test_a_rescue_is_for_errors_of_its_types(on: Any, error: type[Exception], saved: bool) -> None:
    flow = Flow("f").step(failing(error), name="fail").rescue(lambda error: "saved", on=on)
    if saved:
        assert flow.run(1).output == "saved"
    else:
        with pytest.raises(RunError, match="step 'fail' failed: .*no idea") as caught:
            flow.run(1)
        assert isinstance(caught.value.__cause__, error)


def test_without_on_a_rescue_is_for_every_exception() -> None:
    for error in (DownError, KeyError, RuntimeError, OSError):
        assert Flow("f").step(failing(error)).rescue(lambda error: "saved").run(1).output == "saved"


@both_paths
async def test_the_first_matching_rescue_after_the_failure_is_taken(use_async: bool) -> None:
    flow = (
        Flow("f")
        .step(failing(DownError, at=1), name="one")
        .rescue(lambda error: "of keys", on=KeyError)
        .rescue(lambda error: "first", on=DownError)
        .step(failing(WorseError, at=2), name="two")
        .rescue(lambda error: "second", on=DownError)
        .rescue(lambda error: "third")
    )
    outputs = [(await run(flow, value, use_async=use_async)).output for value in (1, 2, 3)]
    assert outputs == ["first", "second", 3]


@both_paths
async def test_an_error_in_a_rescue_is_covered_by_those_after_it(use_async: bool) -> None:
    flow = (
        Flow("f")
        .step(broken)
        .rescue(failing(DownError), name="bad")
        .rescue(lambda error, value: [type(error), value])
    )
    output = (await run(flow, 1, use_async=use_async)).output
    assert output[0] is DownError


def test_an_error_in_the_last_rescue_is_a_failure_of_its_step() -> None:
    with pytest.raises(RunError, match="'f': step 'bad' failed: .*no idea") as caught:
        Flow("f").step(broken).rescue(failing(DownError), name="bad").run(1)
    assert isinstance(caught.value.__cause__, DownError)


@both_paths
@pytest.mark.parametrize(
    "flow",
    [
        Flow("f").parallel({"x": same, "y": broken}),
        Flow("f").for_each(broken, input=lambda value: [value, value]),
        Flow("f").branch({"x": (same, broken)}),
        Flow("f").branch({"x": (broken, same)}),
        Flow("f").tap(broken),
        Flow("f").tap_if(broken, same),
        Flow("f").tap_if(same, broken),
        Flow("f").step_if(broken, same),
        Flow("f").step(same, input=broken),
        Flow("f").parallel([same], input=broken),
        Flow("f").for_each(same, input=broken),
        Flow("f").map(broken),
        Flow("f").step(same).loop_back("same", when=broken),
        Flow("f").exit_if(broken),
        Flow("f").step(Flow("inner").step(broken)),
        Flow("f").step(Flow("inner").step(Flow("innermost").for_each(broken, input=lambda v: [v]))),
        Flow("f").step(Flow("inner").step(broken).rescue(same, on=KeyError)),
    ],
)
async def test_a_rescue_covers_a_failure_anywhere(flow: Any, use_async: bool) -> None:
    saved = flow.rescue(lambda error: "saved", on=ValueError)
    assert (await run(saved, 1, use_async=use_async)).output == "saved"


@pytest.mark.parametrize("value", ["abc", 5])
def test_a_rescue_covers_a_value_that_a_step_cannot_take(value: Any) -> None:
    flow = Flow("f").for_each(same).rescue(lambda error: "saved")
    assert flow.run(value).output == "saved"
    branch = Flow("f").branch({"x": (lambda value: False, same)}).rescue(lambda error: "saved")
    assert branch.run(value).output == "saved"


def test_a_rescue_covers_a_structured_answer_that_does_not_fit() -> None:
    model = ScriptedModel(lambda messages: "prose")
    block = generator("g", "x", model=model, output_schema=Plan)
    flow = Flow("f").step(block).rescue(lambda error: type(error), on=OutputError)
    assert flow.run("go").output is OutputError


def test_a_rescue_works_in_each_round_of_a_loop() -> None:
    rounds = Recorder()
    flow = (
        Flow("f")
        .step(increase)
        .tap(failing(DownError, at=2), name="bad")
        .tap(failing(DownError, at=12), name="worse")
        .rescue(lambda error, value: value + 9)
        .tap(rounds)
        .loop_back("increase", max_iterations=3)
    )
    assert flow.run(0).output == 22
    assert rounds.seen == [1, 11, 21, 22]


@both_paths
async def test_a_rescued_flow_in_a_nested_flow_is_no_failure_outside(use_async: bool) -> None:
    inner = Flow("inner").step(broken).rescue(lambda error: 5)
    assert (await run(Flow("f").step(inner).step(increase), 1, use_async=use_async)).output == 6


@both_paths
async def test_an_interrupt_is_never_rescued(use_async: bool) -> None:
    saved = Recorder()
    flow = Flow("f").step(lambda value: interrupt("shall we?"), name="ask").rescue(saved)
    app = Flow("outer").step(flow).rescue(saved).compile(checkpointer=InMemorySaver())
    waiting = await run(app, 1, use_async=use_async, thread_id="t")
    assert (waiting.stop.reason, waiting.interrupts) == ("interrupted", ["shall we?"])
    resumed = await app.aresume("t", "yes") if use_async else app.resume("t", "yes")
    assert (resumed.output, saved.seen) == ("yes", [])


def test_what_is_no_exception_is_not_rescued() -> None:
    saved = Recorder()

    def leave(value: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Flow("f").step(leave).rescue(saved).run(1)
    assert saved.seen == []
