"""A flow: what runs in which order, what its steps are called, what is refused, what fails how."""

from __future__ import annotations

import asyncio
import functools
import operator
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from flowcompose import (
    Context,
    DefinitionError,
    Flow,
    Pattern,
    Result,
    RunError,
    generator,
    handler,
)
from flowcompose.core import events
from flowcompose.core.testing import ScriptedModel


class Brief(BaseModel):
    title: str


class Doubler:
    def __call__(self, value: int) -> int:
        return value * 2


def increase(value: int) -> int:
    return value + 1


def double(value: int) -> int:
    return value * 2


async def adouble(value: int) -> int:
    await asyncio.sleep(0)
    return value * 2


def with_session(value: int, ctx: Context) -> int:
    return value + int(ctx.session.state.get("extra", 0))


def broken(value: Any) -> Any:
    raise ValueError("no idea")


def same(value: Any) -> Any:
    return value


async def asame(value: Any) -> Any:
    return value


ALWAYS: dict[str, Any] = {"all": (lambda value: True, same)}

both_paths = pytest.mark.parametrize("use_async", [False, True])


async def run(
    flow: Flow[Any] | Pattern[Any], value: Any, *, use_async: bool, **options: Any
) -> Result[Any]:
    return await flow.arun(value, **options) if use_async else flow.run(value, **options)


def steps(flow: Any, value: Any) -> list[str]:
    """The names of the steps that ran."""
    return [e.step for e in flow.events(value) if isinstance(e, events.StepStarted)]


# What runs


@both_paths
async def test_what_a_step_gives_is_the_value_of_the_next(use_async: bool) -> None:
    flow = Flow("f").step(increase).step(double).step(increase)
    assert (await run(flow, 3, use_async=use_async)).output == 9


@both_paths
@pytest.mark.parametrize(
    "block",
    [
        double,
        lambda value: value * 2,
        lambda value, ctx: value * 2 + len(ctx.session.state),
        functools.partial(operator.mul, 2),
        Doubler(),
        handler(double),
        RunnableLambda(double),
        RunnableLambda(double) | RunnableLambda(same),
        Flow("inner").step(double),
        Flow("inner").step(double).compile(),
    ],
    ids=lambda block: type(block).__name__,
)
async def test_a_step_may_be(block: Any, use_async: bool) -> None:
    flow = Flow("f").step(block).step(increase)
    assert (await run(flow, 4, use_async=use_async)).output == 9


async def test_a_step_may_be_a_coroutine_function() -> None:
    flow = Flow("f").step(adouble).map(adouble).step(lambda value: adouble(value))
    assert (await flow.arun(1)).output == 8


@both_paths
async def test_a_step_may_be_a_generator(use_async: bool) -> None:
    model = ScriptedModel(["a draft"])
    flow = Flow("f").step(generator("writer", "Write.", model=model)).map(len)
    assert (await run(flow, "about bees", use_async=use_async)).output == 7
    assert [message.text for message in model.calls[0].messages] == ["Write.", "about bees"]


def test_a_step_with_a_schema_gives_an_object_of_it() -> None:
    model = ScriptedModel([Brief(title="bees")])
    flow = Flow("f").step(generator("g", "Plan.", model=model, output_schema=Brief))
    assert flow.run("go").output == Brief(title="bees")


@both_paths
@pytest.mark.parametrize(
    "mapped",
    [lambda value: value["n"], lambda value, ctx: value["n"] + len(ctx.session.state)],
)
async def test_input_maps_the_value_for_one_step(mapped: Any, use_async: bool) -> None:
    flow = Flow("f").step(double, input=mapped).step(increase)
    assert (await run(flow, {"n": 4}, use_async=use_async)).output == 9


async def test_input_may_be_async() -> None:
    assert (await Flow("f").step(increase, input=adouble).arun(4)).output == 9


@both_paths
async def test_map_transforms_the_value(use_async: bool) -> None:
    flow = Flow("f").map(str).step(same).map(lambda value, ctx: f"<{value}>")
    assert (await run(flow, 4, use_async=use_async)).output == "<4>"


@both_paths
@pytest.mark.parametrize(
    "value",
    [
        *(None, False, 0, "", [], {}, ("a", {"b"})),
        *({"input": 1}, {"goal": "x"}, {"messages": [("user", "x")]}, {"__overwrite__": [1]}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("saving", [False, True])
async def test_any_value_goes_through(value: Any, saving: bool, use_async: bool) -> None:
    flow = Flow("f").step(same).map(same).tap(len_of).step(Flow("inner").step(same).map(same))
    flow = flow.parallel([same]).for_each(Flow("item").step(same)).map(lambda values: values[0])
    app = flow.compile(checkpointer=InMemorySaver() if saving else None)
    result = await run(app, value, use_async=use_async)
    assert result.output == value
    assert type(result.output) is type(value)


def len_of(value: Any) -> int:
    return len(str(value))


@both_paths
async def test_without_a_checkpointer_the_very_object_goes_through(use_async: bool) -> None:
    given = {"lock": threading.Lock()}
    nested = Flow("f").step(Flow("inner").step(same)).tap(same).map(same)
    assert (await run(nested, given, use_async=use_async)).output is given


@both_paths
async def test_in_the_run_itself_a_checkpointer_leaves_the_object_alone(use_async: bool) -> None:
    brief = Brief(title="bees")
    app = Flow("f").step(lambda value: brief).step(same).compile(checkpointer=InMemorySaver())
    assert (await run(app, "go", use_async=use_async)).output is brief


@settings(max_examples=30, deadline=None)
@given(value=st.integers(), chosen=st.lists(st.sampled_from([increase, double, operator.neg])))
def test_a_flow_is_the_composition_of_its_steps(
    value: int, chosen: list[Callable[[int], int]]
) -> None:
    flow = functools.reduce(lambda flow, each: flow.step(each), chosen, Flow("f").step(same))
    assert flow.run(value).output == functools.reduce(lambda now, each: each(now), chosen, value)


def test_three_hundred_steps_run() -> None:
    flow = functools.reduce(lambda flow, _: flow.step(increase), range(300), Flow("f"))
    assert flow.run(0).output == 300
    app = flow.compile()
    assert RunnableLambda(lambda value: flow.run(value).output).invoke(0) == 300
    assert RunnableLambda(lambda value: app.invoke({"input": value})["output"]).invoke(0) == 300


@both_paths
async def test_more_than_25_rounds_of_a_loop_run_inside_a_chain(use_async: bool) -> None:
    flow = Flow("f").step(increase).step(same).loop_back("increase", max_iterations=60)
    app = Flow("outer").step(flow).compile()
    chain: Any = RunnablePassthrough() | app | RunnableLambda(operator.itemgetter("output"))
    given = {"input": 0}
    assert (await chain.ainvoke(given) if use_async else chain.invoke(given)) == 61


# A flow is a value

METHODS: list[Callable[[Any], Any]] = [
    lambda flow: flow.step(double),
    lambda flow: flow.step_if(lambda value: True, double),
    lambda flow: flow.map(double),
    lambda flow: flow.tap(broken),
    lambda flow: flow.tap_if(lambda value: True, broken),
    lambda flow: flow.parallel([double]),
    lambda flow: flow.for_each(double, input=lambda value: [value]),
    lambda flow: flow.branch({"x": (lambda value: True, double)}),
    lambda flow: flow.loop_back("increase", max_iterations=1),
    lambda flow: flow.exit_if(lambda value: True),
    lambda flow: flow.rescue(same),
]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_a_new_flow(method: Callable[[Any], Any]) -> None:
    flow = Flow("f").step(increase)
    longer = method(flow)
    assert longer is not flow
    assert isinstance(longer, Flow)
    assert flow.run(1).output == 2
    assert steps(flow, 1) == ["increase"]


def test_two_flows_grow_from_one() -> None:
    base = Flow("f").step(increase)
    assert (base.step(double).run(1).output, base.map(str).run(1).output) == (4, "2")


def test_one_flow_is_a_step_of_several_flows_and_twice_in_one() -> None:
    inner = Flow("inner").step(increase).loop_back("increase", max_iterations=1)
    assert Flow("a").step(inner).step(inner).run(0).output == 4
    assert Flow("b").step(inner).run(0).output == 2
    assert inner.run(0).output == 2


def test_runs_in_threads_do_not_see_each_other() -> None:
    together = threading.Barrier(8, timeout=30)  # each step of all eight happens at once

    def meet(value: int, ctx: Context) -> int:
        together.wait()
        return value + int(ctx.session.state["by"])

    flow = Flow("f").step(meet).step(meet).loop_back("meet", max_iterations=1)
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(flow.run, n * 100, session={"by": n}) for n in range(8)]
        assert [each.result().output for each in runs] == [n * 100 + n * 4 for n in range(8)]


@pytest.mark.parametrize("saving", [False, True])
async def test_fifty_runs_at_once_do_not_see_each_other(saving: bool) -> None:
    async def add(value: int, ctx: Context) -> int:
        await asyncio.sleep(0)
        return value + int(ctx.session.state["by"])

    flow = Flow("f").step(add).step(add).loop_back("add", max_iterations=2)
    app = flow.compile(checkpointer=InMemorySaver() if saving else None)
    results = await asyncio.gather(*(app.arun(n * 100, session={"by": n}) for n in range(50)))
    assert [result.output for result in results] == [n * 100 + n * 6 for n in range(50)]


# The result


@both_paths
async def test_the_result_of_a_flow(use_async: bool) -> None:
    result = await run(Flow("f").step(increase), 1, use_async=use_async)
    assert (result.stop.reason, result.stop.by, result.stop.detail) == ("completed", None, None)
    assert (result.contributions, result.rounds, result.turns) == ([], 0, 0)
    assert (result.usage.total_tokens, result.usage.by_member) == (0, {})


@both_paths
async def test_usage_is_counted_by_step(use_async: bool) -> None:
    model = ScriptedModel(lambda messages: "some words")
    inner = Flow("inner").step(generator("deep", "x", model=model))
    flow = Flow("f").step(generator("g", "x", model=model)).step(same).step(inner)
    usage = (await run(flow, "go", use_async=use_async)).usage
    spent = {name: tokens.total_tokens for name, tokens in usage.by_member.items() if name}
    assert {name for name, tokens in spent.items() if tokens} == {"g", "inner"}
    assert usage.total_tokens == sum(spent.values())


@both_paths
async def test_usage_of_parts_is_that_of_their_step(use_async: bool) -> None:
    block = generator("g", "x", user="y", model=ScriptedModel(lambda messages: "a b"))
    one = Flow("f").step(block).run("go").usage.total_tokens
    flow = (
        Flow("f")
        .step(block, name="left")
        .parallel({"left": block, "right": block}, name="both")
        .for_each(block, input=list, name="all")
        .branch({"left": (bool, block)}, name="which")
        .tap(block, name="aside")
    )
    usage = (await run(flow, "go", use_async=use_async)).usage
    spent = {name: tokens.total_tokens // one for name, tokens in usage.by_member.items()}
    assert spent == {"left": 1, "both": 2, "all": 2, "which": 1, "aside": 1}
    assert usage.total_tokens == 7 * one


def test_usage_of_a_loop_adds_up() -> None:
    model = ScriptedModel(["a b", "a b", "a b"])
    once = Flow("f").step(generator("g", "x", user="y", model=ScriptedModel(["a b"]))).run("go")
    flow = Flow("f").step(generator("g", "x", user="y", model=model))
    result = flow.loop_back("g", max_iterations=2).run("go")
    assert result.usage.total_tokens == 3 * once.usage.total_tokens


# Names


def test_a_step_is_called_as_its_block() -> None:
    flow = (
        Flow("f")
        .step(increase)
        .step(lambda value: value)
        .step(Flow("inner").step(same))
        .step(same, name="as it is")
        .step(generator("g", "x", model=ScriptedModel(["x"])))
        .tap(len_of)
    )
    top = [e for e in flow.events(1) if isinstance(e, events.StepStarted) and not e.path]
    assert [e.step for e in top] == ["increase", "step", "inner", "as it is", "g", "len_of"]


def test_a_default_name_that_is_taken_gets_a_number() -> None:
    flow = Flow("f").step(same).step(same).step(same).step(lambda v: v).step(lambda v: v)
    assert steps(flow, 1) == ["same", "same-2", "same-3", "step", "step-2"]


def test_keys_of_parts_are_no_names_of_steps() -> None:
    flow = (
        Flow("f")
        .parallel({"a": increase, "same": double})
        .map(lambda both: both["a"], name="reword")
        .branch({"a": (bool, increase), "same": (bool, double)})
        .step(increase, name="a")
        .parallel({"a": increase, "same": double})
        .map(lambda both: both["same"])
        .step(same)
        .loop_back("a", max_iterations=1)
    )
    assert flow.run(1).output == 18
    names = ["parallel", "branch", "a", "parallel-2", "same", "a", "parallel-2", "same"]
    assert steps(flow, 1) == names


def test_a_default_name_steps_back_for_an_explicit_one() -> None:
    flow = Flow("f").step(increase, name="same").step(increase, name="same-2").step(same)
    assert steps(flow, 1) == ["same", "same-2", "same-3"]


@pytest.mark.parametrize(
    ("flow", "name"),
    [
        (Flow("f").map(lambda value: 1 / 0), "map"),
        (Flow("f").step(lambda value: 1 / 0), "step"),
        (Flow("f").tap(lambda value: 1 / 0), "tap"),
        (Flow("f").for_each(lambda value: 1 / 0, input=lambda value: [1]), "for_each"),
        (Flow("f").parallel([lambda value: 1 / 0]), "parallel"),
        (Flow("f").branch({"x": (lambda value: True, lambda value: 1 / 0)}), "branch"),
        (Flow("f").step(same, name="a:b|c / é").step(broken, name="x:y|z"), "x:y|z"),
        (Flow("f").step(broken, name="__start__"), "__start__"),
        (Flow("f").step(broken, name="value"), "value"),
        (Flow("f").step(broken, name="output"), "output"),
        (Flow("f").step(broken, name="stop"), "stop"),
    ],
)
def test_an_error_tells_the_step_by_its_name(flow: Any, name: str) -> None:
    with pytest.raises(RunError) as caught:
        flow.run(1)
    assert f"'f': step {name!r} failed: " in str(caught.value)


# What is refused when it is written


@pytest.mark.parametrize("method", ["step", "map", "tap"])
def test_an_explicit_name_that_is_taken_is_refused(method: str) -> None:
    flow: Any = Flow("f").step(same, name="polish")
    with pytest.raises(DefinitionError) as caught:
        getattr(flow, method)(same, name="polish")
    assert "'f'" in str(caught.value)
    assert "'polish'" in str(caught.value)


@pytest.mark.parametrize(
    "build",
    [
        lambda flow: flow.exit_if(same, name="same"),
        lambda flow: flow.loop_back("same", name="same"),
        lambda flow: flow.rescue(same, name="same"),
        lambda flow: flow.parallel([same], name="same"),
        lambda flow: flow.branch(ALWAYS, name="same"),
    ],
)
def test_whatever_has_a_name_needs_one_that_is_free(build: Callable[[Any], Any]) -> None:
    with pytest.raises(DefinitionError, match="'same'"):
        build(Flow("f").step(same))


BAD: list[Any] = [42, None, "name", [same], 3.5]
COUNTS: list[Any] = [0, -1, True, 1.5, "3", None]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(
    "build",
    [
        lambda flow, bad: flow.step(bad),
        lambda flow, bad: flow.step_if(same, bad),
        lambda flow, bad: flow.map(bad),
        lambda flow, bad: flow.tap(bad),
        lambda flow, bad: flow.tap_if(same, bad),
        lambda flow, bad: flow.parallel({"x": bad}),
        lambda flow, bad: flow.parallel([same, bad]),
        lambda flow, bad: flow.for_each(bad),
        lambda flow, bad: flow.branch({"x": (same, bad)}),
        lambda flow, bad: flow.rescue(bad),
    ],
)
def test_what_is_no_block_is_refused(build: Callable[[Any, Any], Any], bad: Any) -> None:
    with pytest.raises(DefinitionError) as caught:
        build(Flow("f").step(same), bad)
    assert "'f'" in str(caught.value)
    assert repr(bad) in str(caught.value) or f"{bad}" in str(caught.value)


def test_a_refused_step_is_told_by_position_and_name() -> None:
    bad: Any = 42
    with pytest.raises(DefinitionError, match="(?s)'f'.*3.*'third'.*42"):
        Flow("f").step(same).step(same).step(bad, name="third")


def test_all_problems_of_a_step_are_told_at_once() -> None:
    bad: Any = 42
    with pytest.raises(DefinitionError) as caught:
        Flow("f").for_each(bad, max_concurrency=0, input=bad)
    assert len(caught.value.problems) == 3
    assert "max_concurrency" in str(caught.value)
    assert "input" in str(caught.value)


@pytest.mark.parametrize("bad", [42, "yes", True, {"a": 1}])
@pytest.mark.parametrize(
    "build",
    [
        lambda flow, bad: flow.step_if(bad, same),
        lambda flow, bad: flow.tap_if(bad, same),
        lambda flow, bad: flow.branch({"x": (bad, same)}),
        lambda flow, bad: flow.loop_back("same", when=bad),
        lambda flow, bad: flow.exit_if(bad),
        lambda flow, bad: flow.step(same, input=bad),
    ],
)
def test_a_condition_that_cannot_be_called_is_refused(
    build: Callable[[Any, Any], Any], bad: Any
) -> None:
    with pytest.raises(DefinitionError) as caught:
        build(Flow("f").step(same), bad)
    assert "'f'" in str(caught.value)
    assert repr(bad) in str(caught.value)


@pytest.mark.parametrize(
    "build",
    [
        lambda flow, function: flow.step(function),
        lambda flow, function: flow.map(function),
        lambda flow, function: flow.step_if(function, same),
        lambda flow, function: flow.exit_if(function),
        lambda flow, function: flow.step(same, input=function),
    ],
)
def test_a_function_of_too_many_arguments_is_refused(build: Callable[[Any, Any], Any]) -> None:
    def many(a: int, b: int, c: int) -> int:
        return a + b + c

    with pytest.raises(DefinitionError, match="many"):
        build(Flow("f").step(same), many)


@pytest.mark.parametrize("count", COUNTS)
def test_a_bad_number_of_iterations_is_refused(count: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"(?s)'f'.*max_iterations.*{count!r}"):
        Flow("f").step(same).loop_back("same", max_iterations=count)


@pytest.mark.parametrize("count", COUNTS)
def test_a_bad_concurrency_is_refused(count: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"(?s)'f'.*max_concurrency.*{count!r}"):
        Flow("f").for_each(same, max_concurrency=count)


@pytest.mark.parametrize("empty", [{}, []])
def test_a_parallel_of_nothing_is_refused(empty: Any) -> None:
    with pytest.raises(DefinitionError, match="(?s)'f'.*parallel"):
        Flow("f").parallel(empty)


@pytest.mark.parametrize("bad", [5, None, "ab"])
def test_a_parallel_of_no_mapping_and_no_list_is_refused(bad: Any) -> None:
    with pytest.raises(DefinitionError, match=f"(?s)'f'.*{bad!r}"):
        Flow("f").parallel(bad)


@pytest.mark.parametrize("bad", [{}, [], 5, {"x": same}, {"x": (same,)}, {"x": (same, same, same)}])
def test_a_branch_that_is_none_is_refused(bad: Any) -> None:
    with pytest.raises(DefinitionError, match="(?s)'f'.*branch"):
        Flow("f").branch(bad)


@pytest.mark.parametrize("bad", [42, "ValueError", int, None, (), (ValueError, 3), ValueError("x")])
def test_a_rescue_on_what_is_no_error_type_is_refused(bad: Any) -> None:
    with pytest.raises(DefinitionError) as caught:
        Flow("f").step(same).rescue(same, on=bad)
    assert "'f'" in str(caught.value)
    assert repr(bad) in str(caught.value) or "3" in str(caught.value)


@pytest.mark.parametrize("target", ["nowhere", "later", "loop_back", ""])
def test_a_jump_to_no_earlier_step_is_refused_with_the_earlier_names(target: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Flow("f").step(same).step(double).loop_back(target).step(same, name="later")
    assert repr(target) in str(caught.value)
    assert "'same'" in str(caught.value)
    assert "'double'" in str(caught.value)


@pytest.mark.parametrize("name", ["", None, 5, "  "])
def test_a_flow_without_a_name_is_refused(name: Any) -> None:
    with pytest.raises(DefinitionError, match="name") as caught:
        Flow(name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("name", ["", 5, "  "])
def test_a_step_name_that_is_none_is_refused(name: Any) -> None:
    with pytest.raises(DefinitionError, match="(?s)'f'.*name") as caught:
        Flow("f").step(same, name=name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("argument", ["input_schema", "output_schema"])
@pytest.mark.parametrize("schema", [dict, "Brief", Brief(title="x"), 5])
def test_a_schema_that_is_no_model_is_refused(argument: str, schema: Any) -> None:
    build: Any = Flow
    with pytest.raises(DefinitionError, match=f"(?s)'f'.*{argument}") as caught:
        build("f", **{argument: schema})
    assert repr(schema) in str(caught.value)


@both_paths
async def test_a_flow_without_a_step_is_refused_when_it_is_to_run(use_async: bool) -> None:
    with pytest.raises(DefinitionError, match="(?s)'empty'.*step"):
        Flow("empty").compile()
    with pytest.raises(DefinitionError, match="(?s)'empty'.*step"):
        await run(Flow("empty"), 1, use_async=use_async)


# What fails


@both_paths
async def test_a_failing_step_is_a_run_error_with_what_there_was(use_async: bool) -> None:
    flow = Flow("f").step(increase).step(broken).step(same)
    with pytest.raises(RunError, match="'f': step 'broken' failed: .*no idea") as caught:
        await run(flow, 1, use_async=use_async)
    assert isinstance(caught.value.__cause__, ValueError)
    result = caught.value.result
    assert result is not None
    assert (result.output, result.stop.reason, result.stop.by) == (2, "failed", "broken")


def test_a_flow_that_failed_can_be_used_again() -> None:
    flow = Flow("f").step(lambda value: 6 // value)
    with pytest.raises(RunError, match="ZeroDivisionError|division"):
        flow.run(0)
    assert flow.run(2).output == 3


def test_what_was_spent_before_a_failure_is_told() -> None:
    model = ScriptedModel(["some words"])
    with pytest.raises(RunError) as caught:
        Flow("f").step(generator("g", "x", model=model)).step(broken).run("go")
    assert caught.value.result is not None
    assert caught.value.result.usage.by_member["g"].total_tokens > 0


@both_paths
@pytest.mark.parametrize(
    ("flow", "name"),
    [
        (Flow("f").step_if(broken, same), "same"),
        (Flow("f").step(same, input=broken), "same"),
        (Flow("f").map(broken), "broken"),
        (Flow("f").tap(broken), "broken"),
        (Flow("f").tap_if(broken, same), "same"),
        (Flow("f").parallel({"x": broken, "y": same}, name="both"), "both"),
        (Flow("f").for_each(broken, input=lambda value: [value], name="all"), "all"),
        (Flow("f").branch({"x": (broken, same)}, name="which"), "which"),
        (Flow("f").branch({"x": (same, broken)}, name="which"), "which"),
        (Flow("f").step(same).loop_back("same", when=broken, name="again"), "again"),
        (Flow("f").step(same).exit_if(broken, name="enough"), "enough"),
        (Flow("f").step(Flow("inner").step(broken)), "inner"),
        (Flow("f").step(RunnableLambda(broken), name="lcel"), "lcel"),
    ],
)
async def test_a_failure_anywhere_tells_the_step_and_the_cause(
    flow: Any, name: str, use_async: bool
) -> None:
    with pytest.raises(RunError) as caught:
        await run(flow, 1, use_async=use_async)
    assert f"'f': step {name!r} failed: " in str(caught.value)
    assert "no idea" in str(caught.value)
    assert any(isinstance(each, ValueError) for each in causes(caught.value))


def causes(error: BaseException | None) -> list[BaseException]:
    return [] if error is None else [error, *causes(error.__cause__)]


@pytest.mark.parametrize(
    "build",
    [
        lambda flow, block: flow.step(block),
        lambda flow, block: flow.step_if(block, same, name="asame"),
        lambda flow, block: flow.step_if(same, block),
        lambda flow, block: flow.map(block),
        lambda flow, block: flow.tap(block),
        lambda flow, block: flow.tap_if(block, same, name="asame"),
        lambda flow, block: flow.step(same, input=block, name="asame"),
        lambda flow, block: flow.parallel({"x": block}, name="asame"),
        lambda flow, block: flow.for_each(block),
        lambda flow, block: flow.branch({"x": (block, same)}, name="asame"),
        lambda flow, block: flow.branch({"x": (same, block)}, name="asame"),
        lambda flow, block: flow.loop_back("note", when=block, name="asame"),
        lambda flow, block: flow.exit_if(block, name="asame"),
        lambda flow, block: flow.rescue(block, name="asame"),
        lambda flow, block: flow.step(Flow("inner").step(block)),
    ],
)
def test_an_async_part_under_run_is_told_before_anything_runs(
    build: Callable[[Any, Any], Any],
) -> None:
    ran: list[Any] = []

    def note(value: Any) -> Any:
        ran.append(value)
        return value

    with pytest.raises(RunError, match="arun") as caught:
        build(Flow("f").step(note), asame).run([1])
    assert "asame" in str(caught.value)
    assert ran == []


def test_a_coroutine_that_shows_only_when_called_is_told_too() -> None:
    with pytest.raises(RunError, match="arun"):
        Flow("f").step(lambda value: asame(value), name="hidden").run(1)


async def test_a_cancelled_run_is_cancelled() -> None:
    started = asyncio.Event()

    async def wait(value: Any) -> Any:
        started.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(Flow("f").step(wait).rescue(lambda error: "saved").arun(1))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


# The session


@both_paths
async def test_the_session_is_seen_everywhere_in_a_flow(use_async: bool) -> None:
    def allowed(value: Any, ctx: Context) -> bool:
        return bool(ctx.session.state["allowed"])

    inner = Flow("inner").step(with_session)
    flow = (
        Flow("f")
        .step(with_session, input=lambda value, ctx: value + ctx.session.state["extra"])
        .step_if(allowed, with_session)
        .step(inner)
        .parallel([with_session, inner])
        .for_each(with_session)
    )
    session = {"extra": 1, "allowed": True}
    result = await run(flow, 0, use_async=use_async, session=session)
    assert result.output == [6, 6]


def test_the_session_stays_on_its_thread() -> None:
    def tell(value: Any, ctx: Context) -> dict[str, Any]:
        return dict(ctx.session.state)

    app = Flow("f").step(tell).compile(checkpointer=InMemorySaver())
    assert app.run(0, thread_id="t", session={"a": 1, "b": 1}).output == {"a": 1, "b": 1}
    assert app.run(0, thread_id="t", session={"b": 2}).output == {"a": 1, "b": 2}
    assert app.run(0, thread_id="t").output == {"a": 1, "b": 2}
    assert app.run(0, thread_id="other").output == {}
    assert Flow("f").step(tell).run(0).output == {}


@pytest.mark.parametrize("session", [5, "abc", [1]])
def test_a_session_that_is_no_mapping_is_refused(session: Any) -> None:
    with pytest.raises(DefinitionError, match="session: must be a mapping or None, got"):
        Flow("f").step(same).run("x", session=session)


# In which surroundings


def test_a_flow_can_be_run_inside_a_step_of_another() -> None:
    inner = Flow("inner").step(increase)
    assert Flow("f").step(lambda value: inner.run(value).output).run(1).output == 2


async def test_run_works_inside_a_running_event_loop() -> None:
    assert Flow("f").step(increase).run(1).output == 2


def test_arun_works_in_one_event_loop_after_another() -> None:
    flow = Flow("f").step(adouble)
    assert [asyncio.run(flow.arun(n)).output for n in range(3)] == [0, 2, 4]


async def test_a_sync_step_does_not_block_the_event_loop() -> None:
    reached = threading.Event()

    def wait(value: int) -> bool:
        return reached.wait(10)

    running = asyncio.create_task(Flow("f").step(wait).arun(1))
    await asyncio.sleep(0)
    reached.set()
    assert (await running).output is True


@both_paths
async def test_config_reaches_the_steps(use_async: bool) -> None:
    def look(value: Any, ctx: Context) -> Any:
        return (ctx.config.get("configurable") or {}).get("tenant"), ctx.config.get("tags")

    config: Any = {"configurable": {"tenant": "acme"}, "tags": ["mine"]}
    result = await run(Flow("f").step(look), 1, use_async=use_async, config=config)
    assert result.output[0] == "acme"
    assert "mine" in result.output[1]
