"""A selector decides who speaks next: a function, a model or a block."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

from flowcompose import (
    Context,
    DefinitionError,
    Edge,
    MaxTurnsReached,
    Pattern,
    Result,
    RosterEntry,
    RunError,
    SelectorError,
    Stop,
    TurnInput,
    generator,
    handler,
    selector,
    sequential,
)
from flowcompose.core import events
from flowcompose.core.conditions import token_usage
from flowcompose.core.testing import ModelCall, Reply, ScriptedModel
from flowcompose.patterns.selector import SelectionInput

both_paths = pytest.mark.parametrize("use_async", [False, True])
POLICIES = ["retry-then-first", "first", "stop", "raise"]


def echo(turn: TurnInput) -> str:
    return f"{turn.agent_name}{turn.turn}"


def team(names: Any = "abc", **options: Any) -> Pattern[Any]:
    roster = [RosterEntry(name=name, block=echo) for name in names]
    build: Callable[..., Pattern[Any]] = selector  # the options vary
    return build(**{"name": "team", "roster": roster, "max_turns": 3, **options})


def picks(*names: Any) -> Callable[[Context], Any]:
    """A selector function that gives these, one a turn."""
    return lambda ctx: names[len(ctx.contributions)]


async def run(pattern: Pattern[Any], *, use_async: bool, **options: Any) -> Result[Any]:
    return await pattern.arun("go", **options) if use_async else pattern.run("go", **options)


def speakers(result: Result[Any]) -> list[str]:
    return [each.agent_name for each in result.contributions]


def chosen(pattern: Pattern[Any]) -> list[tuple[str, str]]:
    """Who was selected, and how."""
    selected = (e for e in pattern.events("go") if isinstance(e, events.SpeakerSelected))
    return [(e.agent_name, e.reason) for e in selected]


def structured(name: str) -> Reply:
    """The structured answer `name`, whatever the schema calls its one field."""

    def reply(messages: Any, **kwargs: Any) -> Reply:
        fields = kwargs["tools"][0]["function"]["parameters"]["properties"]
        return {next(iter(fields)): name}

    return reply


def offered(call: ModelCall) -> list[str]:
    """What the enum of a request allows."""

    def enums(value: Any) -> Iterator[list[str]]:
        if isinstance(value, dict):
            if "enum" in value:
                yield value["enum"]
            for each in value.values():
                yield from enums(each)
        elif isinstance(value, list):
            for each in value:
                yield from enums(each)

    (found,) = enums(call.kwargs["tools"])
    return found


def asked(call: ModelCall) -> str:
    return "\n".join(str(message.text) for message in call.messages)


# A function


@both_paths
async def test_a_function_decides_from_the_first_turn_on(use_async: bool) -> None:
    result = await run(team(selector=picks("c", "a", "b")), use_async=use_async)
    assert [each.text for each in result.contributions] == ["c1", "a2", "b3"]
    assert (result.stop.reason, result.turns, result.output) == ("max_turns", 3, "b3")


async def test_an_async_function_decides_on_the_async_path() -> None:
    async def pick(ctx: Context) -> str:
        await asyncio.sleep(0)
        return "ab"[len(ctx.contributions)]

    pattern = team("ab", selector=pick, max_turns=2)
    assert speakers(await pattern.arun("go")) == ["a", "b"]
    with pytest.raises(RunError, match="arun"):
        pattern.run("go")


def test_a_function_sees_the_goal_and_what_was_said() -> None:
    seen: list[tuple[str, list[str]]] = []

    def look(ctx: Context) -> str:
        seen.append((ctx.goal, [each.text for each in ctx.contributions]))
        return "ab"[len(ctx.contributions)]

    team(selector=look, max_turns=2).run("G")
    assert seen == [("G", []), ("G", ["a1"])]


def test_the_cap_can_be_an_error_that_keeps_the_result() -> None:
    with pytest.raises(MaxTurnsReached) as caught:
        team(selector=picks("c", "a", "b"), on_limit="raise").run("go")
    assert caught.value.result is not None
    assert speakers(caught.value.result) == ["c", "a", "b"]


def test_a_function_and_a_single_candidate_cost_no_step_of_their_own() -> None:
    def steps(pattern: Pattern[Any]) -> list[int]:
        modes: Any = ("updates", "tasks")
        given = {"goal": "go"}
        return [len(list(pattern.stream(given, stream_mode=mode))) for mode in modes]

    roster = [RosterEntry(name=name, block=echo) for name in "abc"]
    fixed = steps(sequential(name="p", roster=roster))
    assert steps(team(selector=picks(*"abc"))) == fixed
    assert steps(team("ab", edges=[("a", "b"), ("b", "a")], selector=picks("a"))) == fixed
    modelled = steps(team(selector=ScriptedModel([structured(name) for name in "abcabc"])))
    assert modelled[0] == fixed[0] + 3


# A model


@both_paths
async def test_a_model_chooses_by_a_structured_answer(use_async: bool) -> None:
    model = ScriptedModel([structured("c"), structured("a"), structured("c")])
    result = await run(team(selector=model), use_async=use_async)
    assert speakers(result) == ["c", "a", "c"]
    model.assert_complete()


def test_the_enum_holds_the_legal_names_only() -> None:
    model = ScriptedModel([structured("c"), structured("a"), structured("b")])
    team(selector=model).run("go")
    assert [offered(call) for call in model.calls] == [["a", "b", "c"], ["a", "b"], ["b", "c"]]


def test_with_allow_repeat_the_enum_holds_the_last_speaker_too() -> None:
    model = ScriptedModel([structured("a"), structured("a"), structured("a")])
    assert speakers(team(selector=model, allow_repeat=True).run("go")) == ["a", "a", "a"]
    assert [offered(call) for call in model.calls] == [["a", "b", "c"]] * 3


def test_the_first_choice_sees_the_goal_and_the_later_ones_what_was_said() -> None:
    model = ScriptedModel(["b", "c", "a"])
    team(selector=model).run("find the bees")
    assert all("find the bees" in asked(call) for call in model.calls)
    assert ["b1" in asked(call) for call in model.calls] == [False, True, True]


def test_the_default_prompt_tells_descriptions_else_roles() -> None:
    model = ScriptedModel(["b"])
    roster = [
        RosterEntry("a", role="role of a", block=echo),
        RosterEntry("b", role="role of b", description="what b is for", block=echo),
    ]
    selector(name="p", roster=roster, selector=model, max_turns=1).run("go")
    assert "role of a" in asked(model.calls[0])
    assert "what b is for" in asked(model.calls[0])


def test_without_a_selector_the_patterns_model_selects() -> None:
    model = ScriptedModel(by_agent={"selector": ["b", "a"], "a": ["of a"], "b": ["of b"]})
    roster = [{"name": "a"}, {"name": "b"}, {"name": "c"}]
    result = selector(name="p", roster=roster, model=model, max_turns=2).run("go")
    assert [each.text for each in result.contributions] == ["of b", "of a"]
    model.assert_complete()


@both_paths
async def test_a_model_is_taken_by_name_as_well(use_async: bool) -> None:
    result = await run(team(selector="offline"), use_async=use_async)
    assert (result.turns, result.stop.reason) == (3, "max_turns")


@both_paths
async def test_a_model_without_structured_answers_is_read(use_async: bool) -> None:
    model = FakeListChatModel(responses=["b", "I think a should go on.", "C"])
    result = await run(team(selector=model), use_async=use_async)
    assert speakers(result) == ["b", "a", "c"]


NAMES = ["writer", "writer 2", "writer_2", "Editor-in-Chief", "C++ (old)"]


@pytest.mark.parametrize(
    ("answer", "name", "reason"),
    [
        ("writer", "writer", "exact"),
        ("writer 2", "writer 2", "exact"),
        ("C++ (old)", "C++ (old)", "exact"),
        ("  writer_2\n", "writer_2", None),
        ("WRITER", "writer", "tolerant"),
        ("editor-in-chief", "Editor-in-Chief", "tolerant"),
        ("Next is writer.", "writer", "tolerant"),
        ("**writer 2** should speak", "writer 2", "tolerant"),
        ("I choose writer_2!", "writer_2", "tolerant"),
        ("The Editor-in-Chief, please.", "Editor-in-Chief", "tolerant"),
        ("now C++ (old) it is", "C++ (old)", "tolerant"),
    ],
)
def test_a_plain_answer_is_read(answer: str, name: str, reason: str | None) -> None:
    model = ScriptedModel([answer])
    ((selected, how),) = chosen(team(NAMES, selector=model, max_turns=1, on_invalid="raise"))
    assert selected == name
    assert how == reason or (reason is None and how in ("exact", "tolerant"))


@pytest.mark.parametrize(
    "answer",
    ["writer or writer_2", "first writer 2, then writer", "nobody", "", "writers", "writer2", "7"],
)
def test_an_answer_that_names_none_or_two_is_invalid(answer: str) -> None:
    pattern = team(NAMES, selector=ScriptedModel([answer]), max_turns=1, on_invalid="raise")
    with pytest.raises(SelectorError) as caught:
        pattern.run("go")
    assert caught.value.answer == answer
    assert answer in str(caught.value)


def test_a_model_is_asked_again_with_feedback_before_its_answer_is_taken() -> None:
    names = ["ann", "bob", "cleo"]
    model = ScriptedModel(["the cook", structured("nobody"), "bob"])
    assert chosen(team(names, selector=model, max_turns=1)) == [("bob", "exact")]
    first, second, third = model.calls
    assert second.messages[: len(first.messages)] == first.messages
    told = "\n".join(str(m.text) for m in second.messages[len(first.messages) :])
    assert all(part in told for part in ("the cook", *names))
    assert "nobody" in asked(third)


def test_after_two_more_attempts_the_first_legal_member_speaks() -> None:
    model = ScriptedModel(lambda messages: "a")  # legal in the first turn only
    pattern = team(selector=model)
    assert chosen(pattern) == [("a", "exact"), ("b", "fallback"), ("a", "exact")]
    assert len(model.calls) == 1 + 3 + 1


# Blocks


class Choice(BaseModel):
    name: str


def in_words(turn: SelectionInput) -> str:
    return f"take {turn.candidates[-1]}"


def messages_graph() -> Any:
    builder: Any = StateGraph(MessagesState)
    builder.add_node("choose", lambda state: {"messages": [AIMessage("c")]})
    builder.add_edge(START, "choose")
    return builder.compile(name="chooser")


BLOCKS: dict[str, Callable[[], Any]] = {
    "generator": lambda: generator("g", "Choose.", model=ScriptedModel(["c"])),
    "generator with a schema": lambda: generator(
        "g", "Choose.", model=ScriptedModel([Choice(name="c")]), output_schema=Choice
    ),
    "handler": lambda: handler(in_words),
    "runnable": lambda: RunnableLambda(in_words),
    "message": lambda: RunnableLambda(lambda turn: AIMessage("c")),
    "mapping": lambda: RunnableLambda(lambda turn: {"name": "c"}),
    "model": lambda: RunnableLambda(lambda turn: Choice(name="c")),
    "pattern": lambda: sequential(
        name="committee", roster=[RosterEntry("x", block=lambda turn: "c")]
    ),
    "graph": messages_graph,
}


@both_paths
@pytest.mark.parametrize("kind", BLOCKS)
async def test_a_block_selects(kind: str, use_async: bool) -> None:
    result = await run(team(selector=BLOCKS[kind](), max_turns=1), use_async=use_async)
    assert speakers(result) == ["c"]


def test_a_block_gets_the_turn_with_the_candidates() -> None:
    seen: list[tuple[str, list[str], int]] = []

    @handler
    def choose(turn: SelectionInput) -> str:
        seen.append((turn.goal, list(turn.candidates), len(turn.contributions)))
        return turn.candidates[0]

    team(selector=choose).run("go")
    assert seen == [("go", ["a", "b", "c"], 0), ("go", ["b", "c"], 1), ("go", ["a", "c"], 2)]


@both_paths
async def test_a_block_may_end_the_run_in_words_of_its_own(use_async: bool) -> None:
    def judge(turn: TurnInput, ctx: Context) -> Any:
        if turn.contributions:
            return Stop(reason="selector_stop", by="judge", detail="Enough was said.")
        return "b"

    result = await run(team("abc", selector=judge), use_async=use_async)
    assert speakers(result) == ["b"]
    assert result.stop == Stop(reason="selector_stop", by="judge", detail="Enough was said.")


def test_a_block_may_give_none_to_stop() -> None:
    pattern = team(selector=RunnableLambda(lambda turn: None), can_stop=True)
    assert pattern.run("go").stop.reason == "selector_stop"


# Who is legal


def test_one_candidate_needs_no_call() -> None:
    model = ScriptedModel([structured("b")])
    pattern = team("ab", selector=model, max_turns=3)
    assert chosen(pattern) == [("b", "exact"), ("a", "only_candidate"), ("b", "only_candidate")]
    model.assert_complete()


def test_nobody_speaks_twice_in_a_row_unless_allowed() -> None:
    assert chosen(team(selector=picks("b", "b", "c"))) == [
        ("b", "function"),
        ("a", "fallback"),
        ("c", "function"),
    ]
    assert speakers(team(selector=picks("b", "b", "b"), allow_repeat=True).run("go")) == ["b"] * 3


def test_a_team_of_one_that_may_not_repeat_has_no_next_member() -> None:
    result = team("a", selector=picks()).run("go")
    assert (speakers(result), result.stop.reason) == (["a"], "no_transition")


@both_paths
async def test_edges_say_who_may_follow(use_async: bool) -> None:
    model = ScriptedModel([structured("a"), structured("c")])
    edges = [("a", "b"), Edge("a", "c"), ("c", "b"), ("b", "d")]
    pattern = team("abcd", selector=model, edges=edges, max_turns=9)
    result = await run(pattern, use_async=use_async)
    assert speakers(result) == ["a", "c", "b", "d"]
    assert result.stop.reason == "no_transition"
    assert [offered(call) for call in model.calls] == [["a", "b", "c", "d"], ["b", "c"]]


def test_without_a_legal_member_the_first_that_may_speak_can_be_taken() -> None:
    def of(**options: Any) -> list[tuple[str, str]]:
        given = {"edges": [("b", "a"), ("c", "a")], "on_no_transition": "first", "max_turns": 4}
        return chosen(team(selector=picks(*"bccc"), **{**given, **options}))

    assert of()[:2] == [("b", "function"), ("a", "only_candidate")]
    assert of()[2:] == [("b", "fallback"), ("a", "only_candidate")]
    assert of(allow_repeat=True)[2:] == [("a", "fallback"), ("a", "fallback")]


@both_paths
async def test_candidates_cut_who_may_speak(use_async: bool) -> None:
    def only(ctx: Context) -> list[str]:
        return [["c"], ["b", "c"], []][len(ctx.contributions)]

    async def aonly(ctx: Context) -> list[str]:
        await asyncio.sleep(0)
        return only(ctx)

    model = ScriptedModel([])
    pattern = team(selector=model, candidates=aonly if use_async else only)
    result = await run(pattern, use_async=use_async)
    assert speakers(result) == ["c", "b"]
    assert result.stop.reason == "no_transition"


def test_without_candidates_nobody_speaks() -> None:
    result = team(selector=picks(), candidates=lambda ctx: []).run("go")
    assert (result.stop.reason, result.contributions, result.output) == ("no_transition", [], None)


@both_paths
@pytest.mark.parametrize("names", [["b", "zed"], "b", None, 7])
async def test_candidates_that_are_no_members_are_an_error(names: Any, use_async: bool) -> None:
    def only(ctx: Context) -> Any:
        return names if ctx.contributions else ["a"]

    with pytest.raises(SelectorError, match="candidates") as caught:
        await run(team(selector=picks(*"abc"), candidates=only), use_async=use_async)
    assert repr(names) in str(caught.value)
    assert caught.value.result is not None
    assert speakers(caught.value.result) == ["a"]


@pytest.mark.parametrize("policy", POLICIES)
def test_candidates_that_throw_are_an_error_of_the_selector(policy: str) -> None:
    def down(ctx: Context) -> list[str]:
        raise LookupError("down")

    with pytest.raises(SelectorError, match="down") as caught:
        team(selector=picks(*"abc"), candidates=down, on_invalid=policy).run("go")
    assert isinstance(caught.value.__cause__, LookupError)


# What is invalid


@both_paths
@pytest.mark.parametrize("given", ["nobody", "b", None, 7, ["a"]])
async def test_an_invalid_name_of_a_function_is_treated_as_told(
    given: Any, use_async: bool
) -> None:
    calls: list[int] = []

    def pick(ctx: Context) -> Any:
        calls.append(len(ctx.contributions))
        return given if ctx.contributions else "b"

    for policy in ("retry-then-first", "first"):
        result = await run(team(selector=pick, on_invalid=policy, max_turns=2), use_async=use_async)
        assert speakers(result) == ["b", "a"]
    assert calls == [0, 1, 0, 1]
    stopped = (await run(team(selector=pick, on_invalid="stop"), use_async=use_async)).stop
    assert (stopped.reason, stopped.by) == ("invalid_selection", "selector")
    assert repr(given).strip("'[]") in str(stopped.detail)
    with pytest.raises(SelectorError) as caught:
        await run(team(selector=pick, on_invalid="raise"), use_async=use_async)
    assert caught.value.result is not None
    assert speakers(caught.value.result) == ["b"]
    assert repr(given).strip("'[]") in str(caught.value)


@pytest.mark.parametrize(("policy", "calls"), [("first", 1), ("stop", 1), ("raise", 1)])
def test_a_model_is_asked_again_only_where_that_was_asked_for(policy: str, calls: int) -> None:
    model = ScriptedModel(lambda messages: "the cook")
    pattern = team(selector=model, on_invalid=policy, max_turns=1)
    if policy == "raise":
        with pytest.raises(SelectorError, match="the cook") as caught:
            pattern.run("go")
        assert caught.value.answer == "the cook"
    else:
        result = pattern.run("go")
        assert speakers(result) == (["a"] if policy == "first" else [])
        assert policy == "first" or "the cook" in str(result.stop.detail)
    assert len(model.calls) == calls


class Down:
    """A selector that fails at its second choice, once."""

    def __init__(self) -> None:
        self.fails = True

    def __call__(self, ctx: Context) -> str:
        if ctx.contributions and self.fails:
            self.fails = False
            raise LookupError("no connection")
        return "abc"[len(ctx.contributions)]


def failing_model() -> Any:
    return ScriptedModel(["a", LookupError("no connection"), "b", "c"])


def failing_block() -> Any:
    down = Down()

    @handler
    def choose(turn: TurnInput, ctx: Context) -> str:
        return down(ctx)

    return choose


@both_paths
@pytest.mark.parametrize("make", [Down, failing_model, failing_block])
@pytest.mark.parametrize("policy", POLICIES)
async def test_a_selector_that_fails_is_an_error_to_go_on_from(
    make: Callable[[], Any], policy: str, use_async: bool
) -> None:
    pattern = team(selector=make(), on_invalid=policy, checkpointer=InMemorySaver())
    with pytest.raises(SelectorError, match="no connection") as caught:
        await run(pattern, use_async=use_async, thread_id="t")
    assert isinstance(caught.value.__cause__, LookupError)
    assert caught.value.result is not None
    assert speakers(caught.value.result) == ["a"]
    result = await pattern.aresume("t") if use_async else pattern.resume("t")
    assert [each.text for each in result.contributions] == ["a1", "b2", "c3"]


def test_an_invalid_answer_that_was_raised_can_be_asked_for_again() -> None:
    model = ScriptedModel(["a", "the cook", "b", "c"])
    pattern = team(selector=model, on_invalid="raise", checkpointer=InMemorySaver())
    with pytest.raises(SelectorError, match="the cook"):
        pattern.run("go", thread_id="t")
    assert speakers(pattern.resume("t")) == ["a", "b", "c"]


SCRIPT = Path(__file__).with_name("crash_team.py")


@pytest.mark.parametrize("kill_at", ["to-a", "a", "to-b", "c", "save2", "save3", "save5"])
def test_a_process_killed_while_it_selects_or_speaks_repeats_neither(
    tmp_path: Path, kill_at: str
) -> None:
    def start(*arguments: str) -> subprocess.CompletedProcess[str]:
        files = [str(tmp_path / "runs.db"), str(tmp_path / "effects")]
        command = [sys.executable, str(SCRIPT), *files, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert start("run", "selector", kill_at).returncode == -signal.SIGKILL
    resumed = start("resume", "selector")
    assert resumed.stderr == ""
    assert (tmp_path / "effects").read_text().split() == ["to-a", "a", "to-b", "b", "to-c", "c"]
    assert resumed.stdout.strip() == "said by a, said by b, said by c"


# Stopping


@both_paths
async def test_a_function_may_stop_the_run(use_async: bool) -> None:
    pattern = team(selector=picks("b", None), can_stop=True)
    result = await run(pattern, use_async=use_async)
    assert (speakers(result), result.output) == (["b"], "b1")
    assert (result.stop.reason, result.stop.by) == ("selector_stop", "selector")


@both_paths
async def test_a_model_may_stop_the_run_and_is_asked_although_one_may_speak(
    use_async: bool,
) -> None:
    model = ScriptedModel([structured("a"), structured("b"), structured("STOP")])
    result = await run(team("ab", selector=model, can_stop=True, max_turns=9), use_async=use_async)
    assert speakers(result) == ["a", "b"]
    assert (result.stop.reason, result.stop.by) == ("selector_stop", "selector")
    assert offered(model.calls[0]) == ["a", "b", "STOP"]
    assert [offered(call) for call in model.calls[1:]] == [["b", "STOP"], ["a", "STOP"]]


@pytest.mark.parametrize("answer", ["STOP", structured("STOP")])
def test_stopping_is_no_choice_unless_it_was_offered(answer: Reply) -> None:
    pattern = team(selector=ScriptedModel([answer]), on_invalid="stop")
    assert pattern.run("go").stop.reason == "invalid_selection"


# The prompt


def test_a_prompt_of_ones_own_is_filled() -> None:
    model = ScriptedModel(["a", "b"])
    roster: list[Any] = [
        RosterEntry("a", role="writes", block=lambda turn: "hello {{.Roles}} {{ .Participants }}"),
        RosterEntry("b", role="x", description="checks {{.History}}", block=echo),
        RosterEntry("c", role="signs", block=echo),
    ]
    prompt = "One of {{.Participants}}; they are {{ .Roles }}.\n{{.History}}Now {{Roles}}."
    selector(name="p", roster=roster, selector=model, max_turns=2, selector_prompt=prompt).run("go")
    first, second = map(asked, model.calls)
    assert "One of a, b, c; they are a: writes, b: checks {{.History}}, c: signs.\n" in first
    assert "Now {{Roles}}." in first
    assert "One of b, c;" in second
    assert "# a:\nhello {{.Roles}} {{ .Participants }}\nNow" in second


@pytest.mark.parametrize("placeholder", ["{{.Foo}}", "{{ .history }}"])
def test_a_placeholder_that_is_none_is_refused(placeholder: str) -> None:
    with pytest.raises(DefinitionError, match="Participants") as caught:
        team(selector=ScriptedModel([]), selector_prompt=f"Choose {placeholder} now")
    assert placeholder.strip("{} ") in str(caught.value)


# Usage and events


def costly(text: str) -> AIMessage:
    return AIMessage(
        text, usage_metadata=UsageMetadata(input_tokens=10, output_tokens=2, total_tokens=12)
    )


@both_paths
async def test_what_selecting_costs_is_counted(use_async: bool) -> None:
    model = ScriptedModel([costly("the cook"), costly("b"), costly("a")])
    usage = (await run(team(selector=model, max_turns=2), use_async=use_async)).usage
    assert (usage.selector.total_tokens, usage.total_tokens) == (36, 36)
    assert usage.by_member["a"].total_tokens == 0


def test_what_a_block_that_selects_costs_is_counted() -> None:
    block = generator("g", "Choose.", model=ScriptedModel([costly("b"), costly("a")]))
    usage = team(selector=block, max_turns=2).run("go").usage
    assert (usage.selector.total_tokens, usage.total_tokens) == (24, 24)


def test_a_condition_on_tokens_counts_those_of_the_selector() -> None:
    model = ScriptedModel([costly("b"), costly("a"), costly("c")])
    result = team(selector=model, terminate_when=token_usage(total=20)).run("go")
    assert (speakers(result), result.stop.reason) == (["b", "a"], "terminate_when")


@both_paths
async def test_nothing_of_the_selection_is_in_the_text_stream(use_async: bool) -> None:
    said = ScriptedModel(lambda messages: "in public")
    roster = [{"name": "a"}, {"name": "b"}]
    for chooser in (
        ScriptedModel(["I say: the cook", "a secret", structured("b"), "b"]),
        generator("g", "Choose.", model=ScriptedModel(["a secret", "b"])),
    ):
        pattern = selector(
            name="p",
            roster=roster,
            selector=chooser,
            model=said,
            max_turns=2,
            allow_repeat=True,
        )
        if use_async:
            seen = [event async for event in pattern.aevents("go")]
        else:
            seen = list(pattern.events("go"))
        tokens = [event for event in seen if isinstance(event, events.Token)]
        assert "".join(event.text for event in tokens) == "in public" * 2
        assert {event.agent_name for event in tokens} <= {"a", "b"}


def test_each_choice_is_told_before_its_turn() -> None:
    seen = list(team(selector=ScriptedModel(["c", "A", "b"])).events("go"))
    kept = (events.SpeakerSelected, events.TurnStarted, events.TurnCompleted)
    told = [(type(e).__name__, e.agent_name, e.turn) for e in seen if isinstance(e, kept)]
    assert told == [
        (kind.__name__, name, turn) for turn, name in enumerate("cab", 1) for kind in kept
    ]
    assert isinstance(seen[-1], events.RunCompleted)


def test_repr_shows_the_definition_on_one_line() -> None:
    shown = repr(team("ab", selector=picks("a"), edges=[Edge("a", "b")], can_stop=True))
    for part in ("selector(name='team'", "roster=['a', 'b']", "max_turns=3", "'a' -> 'b'"):
        assert part in shown
    assert "can_stop=True" in shown


# Definition


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"max_turns": None}, ["max_turns", "None"]),
        ({"max_turns": 0}, ["max_turns must be > 0 and a whole number, got 0"]),
        ({"max_turns": True}, ["max_turns must be > 0 and a whole number, got True"]),
        ({"max_turns": "5"}, ["max_turns must be > 0 and a whole number, got '5'"]),
        ({"edges": [("a", "zed")]}, ["edge", "'zed'"]),
        ({"edges": [("zed", "a")]}, ["edge", "'zed'"]),
        ({"edges": [("a", "a")]}, ["'a'", "allow_repeat"]),
        ({"edges": [("a",)]}, ["('a',)"]),
        ({"edges": 7}, ["edges", "7"]),
        ({"on_invalid": "guess"}, ["on_invalid", "'guess'", "'retry-then-first'"]),
        ({"on_no_transition": "loop"}, ["on_no_transition", "'loop'", "'stop'", "'first'"]),
        ({"candidates": 7}, ["candidates", "7"]),
        ({"selector": 7}, ["selector", "7"]),
        ({"selector_prompt": 7}, ["selector_prompt", "7"]),
    ],
)
def test_a_mistake_is_told_with_its_value(options: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(DefinitionError) as caught:
        team(**{"selector": picks("a"), **options})
    for part in parts:
        assert part in str(caught.value)


def test_a_cap_has_to_be_given() -> None:
    build: Callable[..., Pattern[Any]] = selector
    with pytest.raises((DefinitionError, TypeError), match="max_turns"):
        build(name="p", roster=[RosterEntry("a", block=echo)], selector=picks("a"))


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(DefinitionError) as caught:
        team(selector=picks("a"), max_turns=0, edges=[("a", "zed")], on_invalid="guess")
    assert len(caught.value.problems) == 3


# Whatever a model answers


MEMBERS = ["writer", "writer 2", "Writer", "a.b", "STOPPER"]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_answer_makes_a_run_hang_or_an_excluded_member_speak(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=4, unique=True))
    repeat, can_stop = data.draw(st.booleans()), data.draw(st.booleans())
    pairs = [(one, other) for one in names for other in names if repeat or one != other]
    edges = data.draw(st.lists(st.sampled_from(pairs or [("", "")]), unique=True))
    some = st.lists(st.sampled_from(names), unique=True)
    cut = data.draw(st.just({}) | st.fixed_dictionaries(dict.fromkeys(("", *names), some)))
    cap = data.draw(st.integers(1, 6))
    name = st.sampled_from([*MEMBERS, "STOP"])
    answers = data.draw(st.lists(st.text() | name | name.map(structured), min_size=1, max_size=8))
    count = iter(range(10_000))

    def candidates(ctx: Context) -> list[str]:
        return cut[ctx.contributions[-1].agent_name if ctx.contributions else ""]

    result = team(
        names,
        selector=ScriptedModel(lambda messages: answers[next(count) % len(answers)]),
        edges=edges if edges and pairs else None,
        candidates=candidates if cut else None,
        allow_repeat=repeat,
        can_stop=can_stop,
        max_turns=cap,
        on_invalid=data.draw(st.sampled_from(["retry-then-first", "first", "stop"])),
    ).run("go")
    allowed = {"max_turns", "no_transition", "invalid_selection"}
    assert result.stop.reason in (allowed | {"selector_stop"} if can_stop else allowed)
    assert len(result.contributions) == result.turns <= cap
    before = ""
    for speaker in speakers(result):
        assert not edges or not before or (before, speaker) in edges
        assert not cut or speaker in cut[before]
        assert repeat or speaker != before
        before = speaker
