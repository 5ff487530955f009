"""What happens in a run, as typed events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage

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
    first, second = panel().events("x"), panel().events("y")
    seen: list[tuple[events.Event, events.Event]] = list(zip(first, second, strict=True))
    assert all(type(a) is type(b) for a, b in seen)


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
