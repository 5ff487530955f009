"""What happens in a flow, as typed events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from flowcompose import Context, Flow, Pattern, RosterEntry, RunError, generator, round_robin
from flowcompose.core import events
from flowcompose.core.testing import ScriptedModel

both_paths = pytest.mark.parametrize("use_async", [False, True])


async def collect(flow: Any, value: Any = "go", *, use_async: bool) -> list[events.Event]:
    if use_async:
        return [event async for event in flow.aevents(value)]
    return list(flow.events(value))


def names(seen: list[events.Event]) -> list[str]:
    return [type(event).__name__ for event in seen]


def started(seen: list[events.Event]) -> list[tuple[tuple[str, ...], str]]:
    return [(e.path, e.step) for e in seen if isinstance(e, events.StepStarted)]


def tokens(seen: list[events.Event]) -> dict[tuple[tuple[str, ...], str], str]:
    said: dict[tuple[tuple[str, ...], str], str] = {}
    for event in seen:
        if isinstance(event, events.Token):
            key = event.path, event.agent_name
            said[key] = said.get(key, "") + event.text
    return said


def same(value: Any) -> Any:
    return value


def broken(value: Any) -> Any:
    raise ValueError("no idea")


def panel(name: str = "panel", **options: Any) -> Pattern[Any]:
    model = ScriptedModel(
        by_agent={"a": lambda messages: "said by a", "b": lambda messages: "said by b"}
    )
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    roster = [{"name": "a"}, {"name": "b"}]
    given = {"name": name, "roster": roster, "max_rounds": 1, "model": model, "accessor_key": name}
    return build(**{**given, "synthesizer": lambda given: "all", **options})


@both_paths
async def test_events_come_in_the_order_of_happening(use_async: bool) -> None:
    flow = Flow("f").step(same, name="a").map(same).tap(same, name="b").step(same, name="c")
    seen = await collect(flow, use_async=use_async)
    step = ["StepStarted", "StepCompleted"]
    assert names(seen) == ["RunStarted", *step, *step, *step, "RunStopped", "RunCompleted"]
    assert [step for _, step in started(seen)] == ["a", "b", "c"]
    completed = [e for e in seen if isinstance(e, events.StepCompleted)]
    assert [e.step for e in completed] == ["a", "b", "c"]
    assert all(0 <= e.seconds < 60 for e in completed)


async def test_the_first_event_tells_the_flow_and_its_thread() -> None:
    app = Flow("f").step(same).compile(checkpointer=InMemorySaver())
    first = next(iter(app.events("go", thread_id="t")))
    assert isinstance(first, events.RunStarted)
    assert (first.pattern, first.goal, first.thread_id) == ("f", "go", "t")


@both_paths
async def test_the_last_event_carries_the_result(use_async: bool) -> None:
    seen = await collect(Flow("f").step(len), use_async=use_async)
    last, stopped = seen[-1], seen[-2]
    assert isinstance(last, events.RunCompleted)
    assert isinstance(stopped, events.RunStopped)
    assert (last.result.output, stopped.stop) == (2, last.result.stop)


@both_paths
async def test_a_failed_step_is_told_before_the_error_is_raised(use_async: bool) -> None:
    seen: list[events.Event] = []
    flow = Flow("f").step(same).step(broken)
    with pytest.raises(RunError, match="step 'broken' failed"):
        if use_async:
            async for event in flow.aevents("go"):
                seen.append(event)
        else:
            for event in flow.events("go"):
                seen.append(event)
    assert isinstance(seen[-1], events.StepFailed)
    assert seen[-1].step == "broken"
    assert "no idea" in seen[-1].error
    assert names(seen).count("StepFailed") == 1


@both_paths
async def test_a_rescued_failure_is_told_and_the_flow_goes_on(use_async: bool) -> None:
    flow = Flow("f").step(broken).rescue(lambda error: "saved", name="rescue").step(same)
    seen = await collect(flow, use_async=use_async)
    assert [e.step for e in seen if isinstance(e, events.StepFailed)] == ["broken"]
    assert "same" in [step for _, step in started(seen)]
    assert isinstance(seen[-1], events.RunCompleted)
    assert seen[-1].result.output == "saved"


@both_paths
async def test_a_skipped_step_is_not_told(use_async: bool) -> None:
    flow = Flow("f").step_if(lambda value: False, broken).tap_if(lambda value: False, broken)
    flow = flow.step(same).exit_if(lambda value: True).step(broken)
    assert started(await collect(flow, use_async=use_async)) == [((), "same")]


@both_paths
async def test_each_round_of_a_loop_is_told(use_async: bool) -> None:
    flow = Flow("f").step(same).loop_back("same", max_iterations=2).step(len)
    steps = [step for _, step in started(await collect(flow, use_async=use_async))]
    assert steps == ["same", "same", "same", "len"]


@both_paths
async def test_a_cap_that_is_reached_is_told_with_its_step(use_async: bool) -> None:
    flow = Flow("f").step(same).loop_back("same", when=bool, max_iterations=2, name="again")
    seen = await collect(flow, use_async=use_async)
    capped = [e for e in seen if isinstance(e, events.CapReached)]
    assert [(e.step, e.cap) for e in capped] == [("again", 2)]


@both_paths
async def test_steps_of_a_nested_flow_tell_their_path(use_async: bool) -> None:
    innermost = Flow("innermost").step(same, name="x")
    flow = Flow("f").step(Flow("inner").step(same, name="y").step(innermost)).step(same, name="z")
    seen = await collect(flow, use_async=use_async)
    assert started(seen) == [
        ((), "inner"),
        (("inner",), "y"),
        (("inner",), "innermost"),
        (("inner", "innermost"), "x"),
        ((), "z"),
    ]
    assert names(seen).count("RunStarted") == names(seen).count("RunCompleted") == 1
    assert [e.path for e in seen if isinstance(e, events.RunStopped)][-1] == ()


@both_paths
async def test_tokens_of_a_generator_step_carry_the_steps_name(use_async: bool) -> None:
    model = ScriptedModel(["one two three"])
    flow = Flow("f").step(generator("g", "x", model=model), name="writer")
    seen = await collect(flow, use_async=use_async)
    assert tokens(seen) == {((), "writer"): "one two three"}
    assert names(seen).count("Token") > 1
    told = names(seen)
    assert told.index("StepStarted") < told.index("Token") < told.index("StepCompleted")


@both_paths
async def test_tokens_of_members_tell_the_step_that_they_are_in(use_async: bool) -> None:
    flow = (
        Flow("f").step(panel("p"), name="first").step(Flow("inner").step(panel("q"), name="deep"))
    )
    said = tokens(await collect(flow, use_async=use_async))
    assert said == {
        (("first",), "a"): "said by a",
        (("first",), "b"): "said by b",
        (("inner", "deep"), "a"): "said by a",
        (("inner", "deep"), "b"): "said by b",
    }


@both_paths
async def test_turns_of_a_pattern_step_tell_round_and_turn(use_async: bool) -> None:
    seen = await collect(Flow("f").step(panel(max_rounds=2)), use_async=use_async)
    turns = [e for e in seen if isinstance(e, events.TurnCompleted)]
    assert [(e.path, e.agent_name, e.round, e.turn) for e in turns] == [
        (("panel",), "a", 1, 1),
        (("panel",), "b", 1, 2),
        (("panel",), "a", 2, 3),
        (("panel",), "b", 2, 4),
    ]


@both_paths
async def test_items_of_a_for_each_tell_their_number(use_async: bool) -> None:
    flow = Flow("f").for_each(panel(), name="all")
    seen = await collect(flow, ["x", "y", "z"], use_async=use_async)
    assert {path for path, _ in tokens(seen)} == {("all[0]",), ("all[1]",), ("all[2]",)}
    assert set(tokens(seen).values()) == {"said by a", "said by b"}
    assert started(seen).count(((), "all")) == 1


@both_paths
async def test_tokens_of_a_generator_for_each_item_tell_the_item(use_async: bool) -> None:
    block = generator("g", "x", model=ScriptedModel(lambda messages: "some words"))
    seen = await collect(Flow("f").for_each(block, name="all"), ["x", "y"], use_async=use_async)
    assert tokens(seen) == {
        (("all[0]",), "all"): "some words",
        (("all[1]",), "all"): "some words",
    }


@both_paths
async def test_parts_of_a_parallel_step_are_told_apart(use_async: bool) -> None:
    flow = Flow("f").parallel({"left": panel("p"), "right": panel("q")}, name="both")
    seen = await collect(flow, use_async=use_async)
    said = tokens(seen)
    assert sorted(said.values()) == ["said by a", "said by a", "said by b", "said by b"]
    assert len({path for path, _ in said}) == 2
    assert started(seen).count(((), "both")) == 1


@both_paths
async def test_the_last_event_holds_all_questions_that_are_asked_at_once(use_async: bool) -> None:
    def left(value: Any) -> Any:
        return interrupt("left?")

    def right(value: Any) -> Any:
        return interrupt("right?")

    flow = Flow("f").parallel({"l": left, "r": right}).compile(checkpointer=InMemorySaver())
    last = (await collect(flow, use_async=use_async))[-1]
    assert isinstance(last, events.RunCompleted)
    assert sorted(last.result.interrupts) == ["left?", "right?"]


@both_paths
async def test_what_a_step_emits_comes_with_its_name(use_async: bool) -> None:
    def work(value: Any, ctx: Context) -> Any:
        ctx.emit({"progress": 0.5})
        return value

    flow = Flow("f").step(work).step(Flow("inner").step(work))
    seen = await collect(flow, use_async=use_async)
    emitted = [e for e in seen if isinstance(e, events.Emitted)]
    assert [(e.path, e.agent_name, e.data) for e in emitted] == [
        ((), "work", {"progress": 0.5}),
        (("inner",), "work", {"progress": 0.5}),
    ]


def test_emit_outside_of_a_stream_does_nothing() -> None:
    def work(value: Any, ctx: Context) -> Any:
        ctx.emit("heard by nobody")
        return value

    assert Flow("f").step(work).run("go").output == "go"


@both_paths
async def test_no_token_comes_twice_when_a_text_is_passed_on(use_async: bool) -> None:
    model = ScriptedModel(["one two three"])
    inner = Flow("inner").step(generator("g", "x", model=model)).step(same)
    seen = await collect(Flow("f").step(inner).step(same), use_async=use_async)
    assert tokens(seen) == {(("inner",), "g"): "one two three"}


def test_an_interrupted_flow_ends_its_events_with_what_it_asks() -> None:
    flow = Flow("f").step(lambda value: interrupt("shall we?"), name="ask")
    seen = list(flow.compile(checkpointer=InMemorySaver()).events("go"))
    assert isinstance(seen[-1], events.RunCompleted)
    assert seen[-1].result.stop.reason == "interrupted"
    assert seen[-1].result.interrupts == ["shall we?"]


def test_events_of_two_runs_at_once_do_not_mix() -> None:
    flow = Flow("f").tap(lambda value, ctx: ctx.emit(value)).step(same)
    pairs = list(zip(flow.events("x"), flow.events("y"), strict=True))
    for number, value in enumerate("xy"):
        emitted = [p[number] for p in pairs if isinstance(p[number], events.Emitted)]
        assert [e.data for e in emitted if isinstance(e, events.Emitted)] == [value]


def test_events_of_steps_are_frozen() -> None:
    event = events.StepStarted(step="a")
    with pytest.raises(AttributeError):
        event.step = "b"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue] - the point


def test_a_member_whose_pattern_is_hosted_by_a_flow_keeps_its_own_name() -> None:
    inner = Flow("inner").step(generator("g", "x", model=ScriptedModel(["deep words"])))
    roster = [RosterEntry(name="member", block=inner.compile())]
    pattern = round_robin(name="p", roster=roster, max_rounds=1, synthesizer=False)
    said = tokens(list(Flow("f").step(pattern).events("go")))
    assert set(said.values()) == {"deep words"}
    assert {path[:2] for path, _ in said} == {("p", "member")}
