"""Corners of a selector: words to stop, names alike, what it is told, what it costs, turn 0."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from flowcompose import (
    Context,
    Pattern,
    Result,
    RosterEntry,
    RunError,
    SelectorError,
    TurnInput,
    handler,
    selector,
    sequential,
)
from flowcompose.core import events
from flowcompose.core.conditions import token_usage
from flowcompose.core.testing import ModelCall, ScriptedModel
from flowcompose.patterns.selector import SelectionInput

both_paths = pytest.mark.parametrize("use_async", [False, True])


def team(names: Any = "abc", **options: Any) -> Pattern[Any]:
    """Members who say their name."""
    roster = [RosterEntry(name, block=lambda turn: turn.agent_name) for name in names]
    build: Callable[..., Pattern[Any]] = selector  # the options vary
    return build(**{"name": "team", "roster": roster, "max_turns": 3, **options})


async def run(pattern: Pattern[Any], *, use_async: bool, **options: Any) -> Result[Any]:
    return await pattern.arun("go", **options) if use_async else pattern.run("go", **options)


def speakers(result: Result[Any]) -> list[str]:
    return [each.agent_name for each in result.contributions]


def answering(answer: str, *, structured: bool) -> Any:
    """A model that gives this answer, asked for words or for a structured one."""
    return ScriptedModel([answer]) if structured else FakeListChatModel(responses=[answer])


# Answers


@both_paths
@pytest.mark.parametrize(
    "answer",
    [
        "STOP. The writer is done.",
        "writer or STOP",
        "STOP, writer",
        "STOP (critic has finished)",
        "I would stop here",
    ],
)
async def test_to_stop_and_a_member_in_one_answer_is_invalid(answer: str, use_async: bool) -> None:
    for structured in (True, False):
        model = answering(answer, structured=structured)
        pattern = team(["writer", "critic"], selector=model, can_stop=True, on_invalid="raise")
        with pytest.raises(SelectorError) as caught:
            await run(pattern, use_async=use_async)
        assert caught.value.answer == answer
        assert answer in str(caught.value)


@both_paths
@pytest.mark.parametrize("answer", ["**STOP**", "STOP", "stop", "I say STOP."])
async def test_the_word_to_stop_ends_the_run(answer: str, use_async: bool) -> None:
    for structured in (True, False):
        model = answering(answer, structured=structured)
        pattern = team(["writer", "critic"], selector=model, can_stop=True, on_invalid="raise")
        result = await run(pattern, use_async=use_async)
        assert (speakers(result), result.stop.reason) == ([], "selector_stop")


@both_paths
async def test_who_asks_to_stop_something_else_does_not_stop(use_async: bool) -> None:
    model = ScriptedModel(["please stop shouting, writer"])
    pattern = team(["writer", "critic"], selector=model, can_stop=True, max_turns=1)
    assert speakers(await run(pattern, use_async=use_async)) == ["writer"]


@both_paths
@pytest.mark.parametrize(
    ("names", "answer"),
    [
        (["Writer", "writer"], "I pick writer now"),
        (["Writer", "writer"], "WRITER"),
        (["作家", "bob"], "Let the right member speak"),
        (["作家", "评论家"], "member"),
    ],
)
async def test_an_answer_that_may_mean_another_name_is_invalid(
    names: list[str], answer: str, use_async: bool
) -> None:
    pattern = team(names, selector=ScriptedModel([answer]), on_invalid="raise")
    with pytest.raises(SelectorError, match=answer):
        await run(pattern, use_async=use_async)


@pytest.mark.parametrize("name", ["Writer", "writer", "作家"])
def test_a_name_as_it_is_written_is_always_understood(name: str) -> None:
    pattern = team(["Writer", "writer", "作家"], selector=ScriptedModel([name]), max_turns=1)
    assert speakers(pattern.run("go")) == [name]


def test_a_name_is_found_where_words_are_written_without_blanks() -> None:
    pattern = team(["作家", "评论家"], selector=ScriptedModel(["请作家发言"]), max_turns=1)
    assert speakers(pattern.run("go")) == ["作家"]


class Who(StrEnum):
    A = "a"
    B = "b"


@both_paths
@pytest.mark.parametrize("by", ["function", "candidates", "both"])
async def test_members_of_an_enum_are_kept_as_plain_names(by: str, use_async: bool) -> None:
    def pick(ctx: Context) -> str:
        return Who.A if len(ctx.contributions) % 2 == 0 else Who.B

    options: dict[str, Any] = {"selector": pick, "candidates": lambda ctx: [Who.A, Who.B]}
    if by == "function":
        options.pop("candidates")
    if by == "candidates":
        options["selector"] = ScriptedModel(["a", "b", "a"])
    pattern = team(**options, allow_repeat=True, checkpointer=InMemorySaver())
    result = await run(pattern, use_async=use_async, thread_id="t")
    assert speakers(result) == ["a", "b", "a"]
    states = list(pattern.get_state_history({"configurable": {"thread_id": "t"}}))
    assert len(states) > 3
    assert not any("Who" in repr(each.values) for each in states)


# What a pattern is told that selects


@both_paths
async def test_a_pattern_that_selects_is_told_who_may_speak_and_what_was_wrong(
    use_async: bool,
) -> None:
    asked: list[str] = []
    answers = iter(["b", "nobody here", "c"])

    def judge(turn: TurnInput) -> str:
        asked.append("\n".join(str(message.text) for message in turn.messages))
        return next(answers)

    chooser = sequential(name="chooser", roster=[RosterEntry("judge", block=judge)])
    pattern = team(selector=chooser, max_turns=2, can_stop=True)
    assert speakers(await run(pattern, use_async=use_async)) == ["b", "c"]
    assert [("one name of: a, b, c, or STOP" in each) for each in asked] == [True, False, False]
    assert [("one name of: a, c, or STOP" in each) for each in asked] == [False, True, True]
    assert [("'nobody here'" in each) for each in asked] == [False, False, True]


@both_paths
async def test_so_are_the_models_of_its_members(use_async: bool) -> None:
    def told(call: ModelCall) -> str:
        return "\n".join(str(message.text) for message in call.messages)

    model = ScriptedModel(["between us", "the cook", "of course", "c"])
    roster = [{"name": "ann"}, {"name": "bob"}]
    chooser = sequential(name="chooser", roster=roster, model=model)
    pattern = team(selector=chooser, max_turns=1)
    assert speakers(await run(pattern, use_async=use_async)) == ["c"]
    assert all("one name of: a, b, c." in told(call) for call in model.calls)
    assert [("'the cook' names nobody" in told(call)) for call in model.calls[2:]] == [True, True]
    assert "names nobody" not in "".join(map(told, model.calls[:2]))


# What it costs


def costly(turn: object) -> AIMessage:
    return AIMessage(
        "a", usage_metadata=UsageMetadata(input_tokens=10, output_tokens=5, total_tokens=15)
    )


def asks_a_model(turn: SelectionInput) -> AIMessage:
    answer: AIMessage = ScriptedModel([costly(turn)]).invoke("who?")
    return answer


SPENDERS: dict[str, Callable[[], Any]] = {
    "function": lambda: lambda turn, ctx: costly(turn),
    "handler": lambda: handler(costly),
    "runnable": lambda: RunnableLambda(costly),
    "runnable around a model": lambda: RunnableLambda(asks_a_model),
    "model": lambda: ScriptedModel(costly),
}


@both_paths
@pytest.mark.parametrize("kind", SPENDERS)
async def test_what_a_selector_spends_is_counted_once(kind: str, use_async: bool) -> None:
    pattern = team(selector=SPENDERS[kind](), allow_repeat=True, max_turns=2)
    usage = (await run(pattern, use_async=use_async)).usage
    assert (usage.selector.total_tokens, usage.total_tokens) == (30, 30)
    assert (usage.selector.input_tokens, usage.selector.output_tokens) == (20, 10)


# Before the first turn


def down(ctx: Context) -> Any:
    raise LookupError("no connection")


class Incomparable:
    """Much like an array: whoever compares it gets no truth value."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("which of them?")

    def __hash__(self) -> int:
        return 0


FAILING: dict[str, tuple[Callable[[], Pattern[Any]], str]] = {
    "function": (lambda: team(selector=down), "failed after turn 0: LookupError"),
    "candidates": (
        lambda: team(selector=ScriptedModel([]), candidates=down),
        "failed after turn 0: LookupError",
    ),
    "model": (
        lambda: team(selector=ScriptedModel([LookupError("no connection")])),
        "failed after turn 0: LookupError",
    ),
    "incomparable": (
        lambda: team(selector=lambda ctx: Incomparable(), on_invalid="raise"),
        "is none of 'a', 'b', 'c'",
    ),
    "incomparable candidates": (
        lambda: team(selector=ScriptedModel([]), candidates=lambda ctx: [Incomparable()]),
        "before the first turn: ValueError: which of them",
    ),
}


@both_paths
@pytest.mark.parametrize("kind", FAILING)
async def test_an_error_before_the_first_turn_carries_a_result(kind: str, use_async: bool) -> None:
    make, told = FAILING[kind]
    with pytest.raises(RunError, match=told) as caught:
        await run(make(), use_async=use_async)
    result = caught.value.result
    assert result is not None
    assert (result.contributions, result.turns, result.stop.reason) == ([], 0, "failed")
    assert result.stop.by in ("selector", "the schedule")


@both_paths
async def test_before_the_first_turn_the_turn_is_none(use_async: bool) -> None:
    seen: list[tuple[str, int, int]] = []

    def look(ctx: Context) -> str:
        seen.append(("selector", ctx.state.turn, len(ctx.contributions)))
        return "ab"[len(ctx.contributions)]

    def only(ctx: Context) -> list[str]:
        seen.append(("candidates", ctx.state.turn, len(ctx.contributions)))
        return ["a", "b"]

    pattern = team(selector=look, candidates=only, allow_repeat=True, max_turns=2)
    assert speakers(await run(pattern, use_async=use_async)) == ["a", "b"]
    assert seen[:4] == [(who, turn, turn) for turn in (0, 1) for who in ("candidates", "selector")]


# Who is excluded


@both_paths
@pytest.mark.parametrize(
    ("allowed", "edges", "expected", "reason"),
    [
        (["c"], None, ["c"], "no_transition"),
        ([], None, [], "no_transition"),
        (["b", "c"], [("c", "a"), ("b", "a")], ["c", "b", "c", "b"], "max_turns"),
        (["c"], [("c", "a")], ["c"], "no_transition"),
    ],
)
async def test_to_begin_again_never_takes_whom_candidates_exclude(
    allowed: list[str], edges: Any, expected: list[str], reason: str, use_async: bool
) -> None:
    pattern = team(
        selector=lambda ctx: "c",
        candidates=lambda ctx: allowed,
        edges=edges,
        on_no_transition="first",
        max_turns=4,
    )
    result = await run(pattern, use_async=use_async)
    assert (speakers(result), result.stop.reason) == (expected, reason)


@both_paths
async def test_nothing_is_heard_of_an_agent_that_a_decision_asks(use_async: bool) -> None:
    from langchain.agents import create_agent

    judge: Any = create_agent(ScriptedModel(lambda messages: "judge thinks no"), tools=[])

    def enough(ctx: Context) -> bool:
        judge.invoke({"messages": [("user", "enough?")]}, config=ctx.config)
        judge.invoke({"messages": [("user", "enough?")]})
        return False

    pattern = sequential(
        name="team",
        roster=[RosterEntry("ann"), RosterEntry("bob")],
        model=ScriptedModel(lambda messages: "hi"),
        terminate_when=enough,
    )
    if use_async:
        seen = [event async for event in pattern.aevents("go")]
    else:
        seen = [*pattern.events("go")]
    heard = [(e.agent_name, e.text) for e in seen if isinstance(e, events.Token)]
    assert heard == [("ann", "hi"), ("bob", "hi")]


def test_what_choosing_costs_counts_for_a_budget() -> None:
    usage = UsageMetadata(input_tokens=60, output_tokens=40, total_tokens=100)
    model = ScriptedModel([AIMessage(name, usage_metadata=usage) for name in ("b", "c", "a")])
    result = team("abc", selector=model, max_turns=9, terminate_when=token_usage(200)).run("go")
    assert (result.turns, result.usage.selector.total_tokens) == (2, 200)
    assert (result.stop.reason, result.stop.by) == ("terminate_when", "token_usage(total=200)")
