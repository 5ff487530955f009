"""What happens in a run, as typed events."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer

from flowcompose import (
    Context,
    MemberError,
    Pattern,
    RosterEntry,
    TurnInput,
    Visibility,
    generator,
    round_robin,
)
from flowcompose.core import events
from flowcompose.core.testing import ScriptedModel
from flowcompose.patterns.round_robin import create_referee


def echo(turn: TurnInput) -> str:
    return f"{turn.agent_name}{turn.round}"


def panel(**options: Any) -> Pattern[Any]:
    roster = [RosterEntry(name=name, block=echo) for name in "ab"]
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    return build(
        **{"name": "p", "roster": roster, "max_rounds": 2, "synthesizer": False, **options}
    )


def modelled(**options: Any) -> Pattern[Any]:
    model = ScriptedModel(
        by_agent={
            "a": ["one two", "five six"],
            "b": ["three four", "seven eight"],
            "referee": [{"critique": "first"}, {"critique": "second"}],
            "synthesizer": ["all in all"],
        }
    )
    given = {"name": "p", "roster": [{"name": "a"}, {"name": "b"}], "max_rounds": 2, "model": model}
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    return build(**{**given, "referee": create_referee(), **options})


def names(seen: list[events.Event]) -> list[str]:
    return [type(event).__name__ for event in seen]


def tokens(seen: list[events.Event]) -> dict[tuple[str, int], str]:
    said: dict[tuple[str, int], str] = {}
    for event in seen:
        if isinstance(event, events.Token):
            key = event.agent_name, event.round
            said[key] = said.get(key, "") + event.text
    return said


async def collect(pattern: Pattern[Any], *, use_async: bool) -> list[events.Event]:
    if use_async:
        return [event async for event in pattern.aevents("go")]
    return list(pattern.events("go"))


both_paths = pytest.mark.parametrize("use_async", [False, True])


@both_paths
async def test_events_come_in_the_order_of_happening(use_async: bool) -> None:
    seen = await collect(panel(referee=lambda turn: {"critique": "c"}), use_async=use_async)
    turn = ["SpeakerSelected", "TurnStarted", "TurnCompleted"]
    one_round = ["RoundStarted", *turn, *turn, "CritiqueAdded"]
    assert names(seen) == ["RunStarted", *one_round, *one_round, "RunStopped", "RunCompleted"]


@both_paths
async def test_turn_events_tell_who_and_when(use_async: bool) -> None:
    seen = await collect(panel(), use_async=use_async)
    completed = [event for event in seen if isinstance(event, events.TurnCompleted)]
    assert [(e.agent_name, e.round, e.turn, e.contribution.text) for e in completed] == [
        ("a", 1, 1, "a1"),
        ("b", 1, 2, "b1"),
        ("a", 2, 3, "a2"),
        ("b", 2, 4, "b2"),
    ]
    assert all(event.seconds >= 0 for event in completed)


@both_paths
async def test_every_token_tells_its_speaker_and_none_comes_twice(use_async: bool) -> None:
    seen = await collect(modelled(), use_async=use_async)
    assert tokens(seen) == {
        ("a", 1): "one two",
        ("b", 1): "three four",
        ("a", 2): "five six",
        ("b", 2): "seven eight",
        ("synthesizer", 2): "all in all",
    }
    pieces = [event for event in seen if isinstance(event, events.Token)]
    assert len(pieces) > 5
    assert all(event.message_id for event in pieces)


@both_paths
async def test_tokens_come_between_start_and_end_of_their_turn(use_async: bool) -> None:
    speaking = ""
    for event in await collect(modelled(), use_async=use_async):
        if isinstance(event, events.TurnStarted):
            speaking = event.agent_name
        elif isinstance(event, events.TurnCompleted):
            speaking = "synthesizer"
        elif isinstance(event, events.Token):
            assert event.agent_name == speaking


async def test_the_last_event_carries_the_result() -> None:
    last = (await collect(modelled(), use_async=False))[-1]
    assert isinstance(last, events.RunCompleted)
    assert last.result.output == "all in all"
    assert last.result.stop.reason == "max_rounds"


async def test_the_stop_is_told_before_the_deliverable_is_made() -> None:
    seen = names(await collect(modelled(), use_async=False))
    assert seen.index("RunStopped") < len(seen) - 2
    assert seen[seen.index("RunStopped") + 1] == "Token"


async def test_a_deliverable_without_client_visibility_is_not_streamed() -> None:
    hidden = modelled(synthesizer_visibility=Visibility(client=False))
    assert ("synthesizer", 2) not in tokens(await collect(hidden, use_async=False))


async def test_a_hidden_synthesizer_block_of_the_user_is_not_streamed_either() -> None:
    block = generator("own", "Sum up.", user="now", model=ScriptedModel(["secret words"]))
    hidden = modelled(synthesizer=block, synthesizer_visibility=Visibility(client=False))
    seen = await collect(hidden, use_async=False)
    assert "secret" not in "".join(tokens(seen).values())
    assert isinstance(seen[-1], events.RunCompleted)
    assert seen[-1].result.output == "secret words"


@both_paths
async def test_a_failed_turn_is_told_before_the_error_is_raised(use_async: bool) -> None:
    def broken(turn: TurnInput) -> str:
        raise ValueError("no idea")

    pattern = panel(roster=[RosterEntry(name="m", block=broken)])
    seen: list[events.Event] = []
    with pytest.raises(MemberError):
        if use_async:
            async for event in pattern.aevents("go"):
                seen.append(event)
        else:
            for event in pattern.events("go"):
                seen.append(event)
    assert isinstance(seen[-1], events.TurnFailed)
    assert (seen[-1].agent_name, seen[-1].round) == ("m", 1)
    assert "no idea" in seen[-1].error


async def test_a_skipped_turn_is_told_as_failed() -> None:
    def broken(turn: TurnInput) -> str:
        raise ValueError("no idea")

    pattern = panel(roster=[RosterEntry(name="m", block=broken)], on_error="skip", max_rounds=1)
    failed = [e for e in pattern.events("go") if isinstance(e, events.TurnFailed)]
    assert [(e.agent_name, e.error) for e in failed] == [("m", "ValueError: no idea")]


async def test_what_a_block_emits_comes_with_its_speaker() -> None:
    def speak(turn: TurnInput, ctx: Context) -> str:
        ctx.emit({"progress": 0.5})
        return "x"

    pattern = panel(roster=[RosterEntry(name="m", block=speak)], max_rounds=1)
    emitted = [e for e in pattern.events("go") if isinstance(e, events.Emitted)]
    assert [(e.agent_name, e.round, e.turn, e.data) for e in emitted] == [
        ("m", 1, 1, {"progress": 0.5})
    ]


def test_emit_outside_of_a_stream_does_nothing() -> None:
    def speak(turn: TurnInput, ctx: Context) -> str:
        ctx.emit("heard by nobody")
        return "x"

    assert panel(roster=[RosterEntry(name="m", block=speak)], max_rounds=1).run("go").turns == 1


@both_paths
async def test_a_nested_pattern_tells_its_path(use_async: bool) -> None:
    inner = panel(max_rounds=1, synthesizer=lambda given: "inner")
    outer = panel(roster=[RosterEntry(name="team", block=inner)], max_rounds=1)
    seen = await collect(outer, use_async=use_async)
    turns = [e for e in seen if isinstance(e, events.TurnCompleted)]
    assert [(e.path, e.agent_name, e.contribution.text) for e in turns] == [
        (("team",), "a", "a1"),
        (("team",), "b", "b1"),
        ((), "team", "inner"),
    ]
    stops = [e.path for e in seen if isinstance(e, events.RunStopped)]
    assert stops == [("team",), ()]
    assert names(seen).count("RunCompleted") == 1


@both_paths
async def test_tokens_of_an_agent_graph_carry_the_members_name(use_async: bool) -> None:
    agent: Any = create_agent(ScriptedModel(["tokens of an agent"]), name="anything")
    outer = panel(roster=[RosterEntry(name="helper", block=agent)], max_rounds=1)
    seen = await collect(outer, use_async=use_async)
    assert tokens(seen) == {("helper", 1): "tokens of an agent"}
    pieces = [event for event in seen if isinstance(event, events.Token)]
    assert {event.path for event in pieces} == {("helper",)}
    assert names(seen).count("TurnStarted") == 1


async def test_a_model_called_by_a_function_member_streams_as_the_member() -> None:
    model = ScriptedModel(["by hand"])

    def speak(turn: TurnInput) -> str:
        return str(model.invoke(turn.messages).text)

    pattern = panel(roster=[RosterEntry(name="m", block=speak)], max_rounds=1)
    assert tokens(list(pattern.events("go"))) == {("m", 1): "by hand"}


async def test_events_of_two_runs_at_once_do_not_mix() -> None:
    def speak(turn: TurnInput) -> str:
        return f"{turn.goal}{turn.turn}"

    pattern = panel(roster=[RosterEntry(name="m", block=speak)])
    said: list[list[str]] = [[], []]
    for pair in zip(pattern.events("x"), pattern.events("y"), strict=True):
        for texts, event in zip(said, pair, strict=True):
            if isinstance(event, events.TurnCompleted):
                texts.append(event.contribution.text)
    assert said == [["x1", "x2"], ["y1", "y2"]]


def test_events_are_frozen() -> None:
    event = events.RoundStarted(round=1)
    with pytest.raises(AttributeError):
        event.round = 2  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue] - the point


def test_usage_of_a_turn_is_in_its_event() -> None:
    usage: Any = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    block = AIMessage("x", usage_metadata=usage)
    pattern = panel(roster=[RosterEntry(name="m", block=lambda turn: block)], max_rounds=1)
    completed = [e for e in pattern.events("go") if isinstance(e, events.TurnCompleted)]
    assert completed[0].usage.total_tokens == 7


@both_paths
async def test_each_run_of_a_nested_pattern_starts_its_own_rounds(use_async: bool) -> None:
    inner = panel(max_rounds=1, name="inner")
    outer = panel(roster=[RosterEntry(name="team", block=inner)], max_rounds=2)
    seen = await collect(outer, use_async=use_async)
    started = [e for e in seen if isinstance(e, events.RoundStarted)]
    assert [(e.path, e.round) for e in started] == [
        ((), 1),
        (("team",), 1),
        ((), 2),
        (("team",), 1),
    ]


async def test_tokens_inside_a_nested_pattern_count_its_own_turns() -> None:
    model = ScriptedModel(lambda messages: "said")

    def speak(turn: TurnInput) -> str:
        return str(model.invoke(turn.messages).text)

    inner = panel(roster=[RosterEntry(name="m", block=speak)], max_rounds=3, name="inner")
    outer = panel(roster=[RosterEntry(name="team", block=inner)], max_rounds=1)
    said = [e for e in outer.events("go") if isinstance(e, events.Token)]
    assert {(e.path, e.agent_name) for e in said} == {(("team",), "m")}
    assert sorted({e.turn for e in said}) == [1, 2, 3]


async def test_path_names_members_as_they_are_named() -> None:
    inner = panel(max_rounds=1, name="inner")
    outer = panel(roster=[RosterEntry(name="a:b|c", block=inner)], max_rounds=1)
    paths = {e.path for e in outer.events("go") if isinstance(e, events.TurnCompleted)}
    assert paths == {(), ("a:b|c",)}


async def test_a_member_may_be_called_synthesizer_when_that_one_is_hidden() -> None:
    model = ScriptedModel(by_agent={"synthesizer": ["member", "final"]})
    pattern = round_robin(
        name="p",
        roster=[{"name": "synthesizer"}],
        max_rounds=1,
        model=model,
        synthesizer_visibility=Visibility(client=False),
    )
    assert tokens(list(pattern.events("go"))) == {("synthesizer", 1): "member"}


@pytest.mark.parametrize("nested", [False, True])
async def test_a_hidden_deliverable_is_in_no_stream_of_the_engine(nested: bool) -> None:
    pattern = modelled(synthesizer_visibility=Visibility(client=False), name="hidden")
    graph = panel(roster=[pattern], max_rounds=1) if nested else pattern
    parts = graph.stream({"goal": "go"}, stream_mode="messages", subgraphs=True, version="v2")
    assert "all in all" not in "".join(part["data"][0].text for part in parts)


async def test_a_referee_of_any_kind_streams_nothing() -> None:
    model = ScriptedModel(lambda messages: '{"critique": "bad"}')

    def audit(turn: TurnInput, ctx: Context) -> dict[str, str]:
        return {"critique": str(model.invoke(turn.messages, ctx.config).text)}

    def careless(turn: TurnInput) -> dict[str, str]:
        return {"critique": str(model.invoke(turn.messages).text)}

    for referee in (audit, careless):
        assert tokens(list(panel(referee=referee).events("go"))) == {}


async def test_a_skipped_referee_is_told_and_paid_for() -> None:
    model = ScriptedModel(["prose"] * 6)
    pattern = panel(referee=create_referee(model=model), on_error="skip", max_rounds=2)
    seen = await collect(pattern, use_async=False)
    failed = [e for e in seen if isinstance(e, events.TurnFailed)]
    assert [(e.agent_name, e.round) for e in failed] == [("referee", 1), ("referee", 2)]
    assert isinstance(seen[-1], events.RunCompleted)
    result = seen[-1].result
    assert result.referee_critiques == []
    assert result.usage.referee.total_tokens > 0
    assert result.turns == 4


async def test_a_function_member_named_like_a_node_of_its_agent_starts_one_turn() -> None:
    agent: Any = create_agent(ScriptedModel(lambda messages: "x"), name="anything")

    def speak(turn: TurnInput, ctx: Context) -> Any:
        return agent.invoke({"messages": turn.messages}, ctx.config)["messages"][-1]

    pattern = panel(roster=[RosterEntry(name="model", block=speak)], max_rounds=1)
    assert names(list(pattern.events("go"))).count("TurnStarted") == 1


async def test_custom_parts_of_the_user_are_left_alone() -> None:
    def speak(turn: TurnInput) -> str:
        get_stream_writer()({"flowcompose": "something of mine"})
        return "x"

    pattern = panel(roster=[RosterEntry(name="m", block=speak)], max_rounds=1)
    assert names(list(pattern.events("go")))[-1] == "RunCompleted"


async def test_the_start_tells_the_thread() -> None:
    first = next(iter(panel(checkpointer=InMemorySaver()).events("go", thread_id="t")))
    assert isinstance(first, events.RunStarted)
    assert first.thread_id == "t"


async def test_a_model_that_does_not_stream_gives_one_token_each() -> None:
    model = ScriptedModel(
        by_agent={"a": ["said"], "synthesizer": ["final"]}, disable_streaming=True
    )
    pattern = round_robin(name="p", roster=[{"name": "a"}], max_rounds=1, model=model)
    assert tokens(list(pattern.events("go"))) == {("a", 1): "said", ("synthesizer", 1): "final"}


def test_leaving_aevents_early_leaves_no_task_behind() -> None:
    script = """
import asyncio
from flowcompose import RosterEntry, round_robin
from flowcompose.core import events

async def wait(turn, ctx):
    ctx.emit(1)
    await asyncio.sleep(30)

pattern = round_robin(name="p", roster=[RosterEntry("a", block=wait)], synthesizer=False)

async def main():
    async for event in pattern.aevents("go"):
        if isinstance(event, events.Emitted):
            break

asyncio.run(main())
print("left")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("left\n", "")
