"""What can be a member, what it may give, and what happens when it fails."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel

from flowcompose import (
    Context,
    DefinitionError,
    MemberError,
    Pattern,
    RosterEntry,
    RunError,
    TurnInput,
    generator,
    round_robin,
)
from flowcompose.core.testing import ScriptedModel


def alone(block: Any, **options: Any) -> Pattern[Any]:
    """A panel of one member that speaks once."""
    roster = [RosterEntry(name="m", block=block)]
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    return build(
        **{"name": "p", "roster": roster, "max_rounds": 1, "synthesizer": False, **options}
    )


class Vote(BaseModel):
    choice: str


class Memo(BaseModel):
    text: str
    risk: int


class Wordy:
    text = "of an object"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        ({"text": "of a mapping"}, "of a mapping"),
        (Wordy(), "of an object"),
        (AIMessage("of a message"), "of a message"),
        (Vote(choice="A"), '{"choice":"A"}'),
        (Memo(text="read me", risk=2), "read me"),
    ],
)
def test_a_member_may_give(given: Any, text: str) -> None:
    assert alone(lambda turn: given).run("go").contributions[0].text == text


def test_a_model_that_a_member_gives_is_kept_as_data() -> None:
    assert alone(lambda turn: Vote(choice="A")).run("go").contributions[0].data == Vote(choice="A")
    assert alone(lambda turn: Memo(text="t", risk=1)).run("go").contributions[0].data == Memo(
        text="t", risk=1
    )
    state = alone(lambda turn: Vote(choice="A")).invoke({"goal": "go"})
    assert state["contributions"][0]["data"] == {"choice": "A"}


@pytest.mark.parametrize(
    ("given", "text"), [(None, "null"), (7, "7"), ({"a": 1}, '{"a": 1}'), ([1, "x"], '[1, "x"]')]
)
def test_anything_else_is_taken_as_json_with_a_warning(given: Any, text: str) -> None:
    with pytest.warns(UserWarning, match=f"member 'm' returned {type(given).__name__}, not a str"):
        assert alone(lambda turn: given).run("go").contributions[0].text == text


def test_a_member_is_warned_about_once() -> None:
    pattern = alone(lambda turn: 7, max_rounds=3)
    with pytest.warns(UserWarning) as caught:
        pattern.run("go")
        pattern.run("go")
    assert len(caught) == 1


def test_a_value_without_json_is_written_as_its_str() -> None:
    with pytest.warns(UserWarning):
        text = alone(lambda turn: {"lock": threading.Lock()}).run("go").contributions[0].text
    assert "unlocked" in text


def test_a_function_with_two_parameters_gets_the_context() -> None:
    def speak(turn: TurnInput, ctx: Context) -> str:
        return f"{ctx.goal} {ctx.agent_name} {ctx.state.round} {ctx.session.state['x']}"

    assert alone(speak).run("go", session={"x": 1}).contributions[0].text == "go m 1 1"


def test_a_second_parameter_with_its_own_default_is_left_alone() -> None:
    def speak(turn: TurnInput, loud: bool = False) -> str:
        return "LOUD" if loud else "calm"

    assert alone(speak).run("go").contributions[0].text == "calm"


def test_a_langchain_runnable_gets_the_turn() -> None:
    def speak(turn: TurnInput) -> str:
        return f"{turn.agent_name}!"

    block = RunnableLambda(speak)
    assert alone(block).run("go").contributions[0].text == "m!"


def test_a_generator_sends_the_turn_as_messages() -> None:
    model = ScriptedModel(["said"])
    pattern = alone(generator("g", "You are terse.", model=model))
    assert pattern.run("go").contributions[0].text == "said"
    system, goal, last = model.calls[0].messages
    assert (system.text, goal.text) == ("You are terse.", "Goal: go")
    assert last.text == "You are m. It is your turn in round 1."


def test_a_generator_with_a_schema_leaves_data() -> None:
    model = ScriptedModel([Vote(choice="B")])
    pattern = alone(generator("g", "Vote.", model=model, output_schema=Vote))
    assert pattern.run("go").contributions[0].data == Vote(choice="B")


class Chat(TypedDict):
    messages: Annotated[list[Any], add_messages]


def chat_graph(reply: Any) -> Any:
    builder = StateGraph(Chat)
    builder.add_node("answer", reply)
    builder.add_edge(START, "answer")
    return builder.compile(name="chat")


def test_a_compiled_graph_gets_messages_and_its_last_answer_counts() -> None:
    graph = chat_graph(lambda state: {"messages": [AIMessage(f"{len(state['messages'])} read")]})
    assert alone(graph).run("go").contributions[0].text == "2 read"


def test_a_create_agent_graph_is_a_member_with_its_usage() -> None:
    model = ScriptedModel(["from the agent"])
    agent: Any = create_agent(model, name="helper")
    result = alone(agent).run("go")
    assert result.contributions[0].text == "from the agent"
    assert result.usage.by_member["m"].output_tokens > 0


def test_a_named_graph_is_a_roster_entry_by_itself() -> None:
    graph = chat_graph(lambda state: {"messages": [AIMessage("hi")]})
    result = round_robin(name="p", roster=[graph], max_rounds=1, synthesizer=False).run("go")
    assert result.contributions[0].agent_name == "chat"


def test_a_pattern_is_a_member_and_gives_its_output() -> None:
    inner = alone(lambda turn: f"inner on {turn.goal}", synthesizer=lambda given: "inner result")
    result = alone(inner, max_rounds=2).run("go")
    assert [c.text for c in result.contributions] == ["inner result", "inner result"]


def test_a_pattern_inside_reads_what_was_said_outside() -> None:
    seen: list[str] = []

    def look(turn: TurnInput) -> str:
        seen.extend(message.text for message in turn.history)
        return "x"

    inner = round_robin(
        name="inner",
        roster=[RosterEntry(name="i", block=look)],
        max_rounds=1,
        synthesizer=lambda given: "done",
    )
    roster: list[Any] = [RosterEntry(name="o", block=lambda turn: "before"), inner]
    round_robin(name="outer", roster=roster, max_rounds=1, synthesizer=False).run("go")
    assert seen == ["[Round 1] o: before"]


def test_a_graph_member_is_discovered_and_drawn() -> None:
    inner = alone(lambda turn: "x", synthesizer=lambda given: "y")
    outer = alone(inner)
    assert [name for name, _ in outer.get_subgraphs()] == ["m"]
    assert "m\\3ainit" in outer.mermaid() or "subgraph m" in outer.mermaid()


def test_a_failing_member_gives_an_error_that_tells_and_keeps() -> None:
    def second(turn: TurnInput) -> str:
        if turn.round == 2:
            raise ValueError("no idea")
        return "fine"

    roster = [RosterEntry(name="a", block=lambda turn: "x"), RosterEntry(name="b", block=second)]
    pattern = round_robin(name="p", roster=roster, max_rounds=3, synthesizer=False)
    with pytest.raises(
        MemberError, match="'p': member 'b' failed in round 2, turn 4: ValueError: no idea"
    ) as caught:
        pattern.run("go")
    error = caught.value
    assert (error.agent_name, error.round, error.turn) == ("b", 2, 4)
    assert isinstance(error.__cause__, ValueError)
    assert error.result is not None
    assert [c.text for c in error.result.contributions] == ["x", "fine", "x"]
    assert error.result.stop.reason == "member_failed"
    assert [t.status for t in error.result.tasks] == ["completed"] * 3 + ["errored"]
    assert error.result.tasks[-1].error == "ValueError: no idea"


def test_after_a_failure_the_pattern_works_again() -> None:
    fail = iter([True, False])

    def sometimes(turn: TurnInput) -> str:
        if next(fail):
            raise ValueError("once")
        return "now"

    pattern = alone(sometimes)
    with pytest.raises(MemberError):
        pattern.run("go")
    assert pattern.run("go").contributions[0].text == "now"


def flaky(turn: TurnInput) -> str:
    if turn.agent_name == "b" and turn.round == 1:
        raise RuntimeError("down")
    return f"{turn.agent_name}{turn.round}"


def trio(**options: Any) -> Pattern[Any]:
    roster = [RosterEntry(name=name, block=flaky) for name in "abc"]
    return round_robin(name="p", roster=roster, max_rounds=2, synthesizer=False, **options)


def test_on_error_skip_goes_on_without_the_turn() -> None:
    result = trio(on_error="skip").run("go")
    assert [c.text for c in result.contributions] == ["a1", "c1", "a2", "b2", "c2"]
    assert (result.turns, result.rounds, result.stop.reason) == (6, 2, "max_rounds")
    assert [(t.assignee, t.error) for t in result.tasks if t.status == "errored"] == [
        ("b", "RuntimeError: down")
    ]


def test_on_error_stop_ends_with_the_member_as_the_reason() -> None:
    result = trio(on_error="stop").run("go")
    assert [c.text for c in result.contributions] == ["a1"]
    assert (result.stop.reason, result.stop.by) == ("member_failed", "b")
    assert result.stop.detail == "RuntimeError: down"


async def test_the_policies_hold_on_the_async_path() -> None:
    assert len((await trio(on_error="skip").arun("go")).contributions) == 5
    assert (await trio(on_error="stop").arun("go")).stop.by == "b"
    with pytest.raises(MemberError, match="member 'b' failed"):
        await trio().arun("go")


def test_a_turn_that_takes_too_long_is_a_member_error() -> None:
    release = threading.Event()
    pattern = alone(lambda turn: str(release.wait(10)), turn_timeout=0.05)
    with pytest.raises(MemberError, match="no answer within 0.05 s") as caught:
        pattern.run("go")
    release.set()
    assert isinstance(caught.value.__cause__, TimeoutError)


async def test_a_turn_that_takes_too_long_is_cancelled_on_the_async_path() -> None:
    cancelled: list[bool] = []

    async def wait(turn: TurnInput) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return "never"

    with pytest.raises(MemberError, match="no answer within 0.05 s") as caught:
        await alone(wait, turn_timeout=0.05).arun("go")
    assert isinstance(caught.value.__cause__, TimeoutError)
    assert cancelled == [True]


async def test_async_members_speak_under_arun() -> None:
    async def speak(turn: TurnInput, ctx: Context) -> str:
        await asyncio.sleep(0)
        return f"{turn.agent_name} {ctx.goal}"

    assert (await alone(speak).arun("go")).contributions[0].text == "m go"


async def test_a_sync_member_does_not_block_the_event_loop() -> None:
    arrived, release = threading.Event(), threading.Event()

    def wait(turn: TurnInput) -> str:
        arrived.set()
        return str(release.wait(10))

    running = asyncio.create_task(alone(wait).arun("go"))
    await asyncio.to_thread(arrived.wait, 10)
    release.set()
    assert (await running).contributions[0].text == "True"


def test_async_members_under_run_are_all_named_before_anything_runs() -> None:
    async def speak(turn: TurnInput) -> str:
        return "x"

    roster = [RosterEntry(name="a", block=speak), RosterEntry(name="b", block=speak)]
    pattern = round_robin(name="p", roster=roster, synthesizer=speak)
    with pytest.raises(RunError, match=r"async parts \(member 'a', member 'b', the synthesizer\)"):
        pattern.run("go")


def test_an_interrupt_is_never_taken_for_a_failure() -> None:
    def ask(turn: TurnInput) -> str:
        raise GraphInterrupt(())

    result = alone(ask, on_error="skip").invoke({"goal": "go"})
    assert result["contributions"] == []


@pytest.mark.parametrize(
    "name",
    [
        "a:b",
        "x|y",
        "ünï cödé",
        "two words",
        "__start__",
        "__input__",
        "__pregel_pull",
        "init",
        "referee",
        "synthesizer",
        "contributions",
        "goal",
    ],
)
def test_any_name_can_be_a_members_name(name: str) -> None:
    roster: list[Any] = [
        RosterEntry(name=name, block=lambda turn: turn.agent_name),
        {"name": "plain", "block": lambda turn: "p"},
    ]
    pattern = round_robin(
        name="p",
        roster=roster,
        max_rounds=2,
        referee=lambda turn: {"critique": "c"},
        synthesizer=lambda given: "done",
    )
    result = pattern.run("go")
    assert [c.agent_name for c in result.contributions] == [name, "plain"] * 2
    assert result.contributions[0].text == name
    assert len(result.referee_critiques) == 2


async def test_late_plain_functions_do_not_fill_the_loops_threads() -> None:
    release = threading.Event()
    late = alone(lambda turn: str(release.wait(10)), turn_timeout=0.05, on_error="skip")
    await asyncio.gather(*(late.arun("go") for _ in range(60)))
    quick = alone(lambda turn: "quick", turn_timeout=5)
    assert (await quick.arun("go")).contributions[0].text == "quick"
    release.set()


@pytest.mark.parametrize("policy", ["skip", "stop"])
def test_no_policy_absorbs_an_async_block_under_a_sync_run(policy: Any) -> None:
    async def later(turn: TurnInput) -> str:
        return "x"

    with pytest.raises(MemberError, match="is async: use arun"):
        alone(lambda turn: later(turn), on_error=policy).run("go")


def test_a_chat_model_is_a_block_and_reads_messages() -> None:
    model = ScriptedModel(["said"])
    assert alone(model).run("go").contributions[0].text == "said"
    assert model.calls[0].messages[0].text == "Goal: go"


def test_a_chain_is_a_block() -> None:
    def messages(turn: TurnInput) -> list[Any]:
        return turn.messages

    chain = RunnableLambda(messages) | ScriptedModel(["of a chain"])
    assert alone(chain).run("go").contributions[0].text == "of a chain"


def test_a_generator_function_is_refused() -> None:
    def stream(turn: TurnInput) -> Any:
        yield "x"

    with pytest.raises(DefinitionError, match="stream is a generator function; give the whole"):
        alone(stream)


def test_a_graph_that_answers_with_any_message_is_heard() -> None:
    graph = chat_graph(lambda state: {"messages": [HumanMessage("as a person")]})
    assert alone(graph).run("go").contributions[0].text == "as a person"


def test_a_pattern_as_synthesizer_reads_the_panel_and_gives_its_output() -> None:
    seen: list[str] = []

    def look(turn: TurnInput) -> str:
        seen.extend(message.text for message in turn.history)
        return "x"

    inner = alone(look, synthesizer=lambda given: f"on {given.goal}", name="inner")
    result = alone(lambda turn: "said", synthesizer=inner).run("G")
    assert (result.output, seen) == ("on G", ["[Round 1] m: said"])


def test_errors_can_be_pickled_with_what_they_carry() -> None:
    def broken(turn: TurnInput) -> str:
        raise ValueError("no")

    with pytest.raises(MemberError) as caught:
        alone(broken).run("go")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.agent_name, again.turn) == (str(caught.value), "m", 1)
    assert again.result == caught.value.result


def test_a_refusal_is_what_the_member_said() -> None:
    model = ScriptedModel([AIMessage("", additional_kwargs={"refusal": "I must not."})])
    roster = [RosterEntry(name="m")]
    pattern = round_robin(name="p", roster=roster, max_rounds=1, synthesizer=False, model=model)
    assert pattern.run("go").contributions[0].text == "I must not."
