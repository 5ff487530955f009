"""A pattern inside other things: event loops, chains, graphs, tools, strict stores."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel

from flowcompose import (
    DefinitionError,
    MaxTurnsReached,
    MemberError,
    Pattern,
    RosterEntry,
    TurnInput,
    round_robin,
)
from flowcompose.core.testing import ScriptedModel


def echo(turn: TurnInput) -> str:
    return f"{turn.agent_name}{turn.turn}"


async def aecho(turn: TurnInput) -> str:
    await asyncio.sleep(0)
    return f"{turn.agent_name}{turn.turn}"


def panel(rounds: int = 20, *, block: Any = echo, **options: Any) -> Pattern[Any]:
    roster = [RosterEntry(name=name, block=block) for name in "ab"]
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    return build(
        **{"name": "panel", "roster": roster, "max_rounds": rounds, "synthesizer": False, **options}
    )


async def test_run_works_inside_a_running_event_loop() -> None:
    assert panel(2).run("go").turns == 4


async def test_arun_works_inside_a_running_event_loop() -> None:
    assert (await panel(2).arun("go")).turns == 4


def test_arun_works_in_one_event_loop_after_another() -> None:
    pattern = panel(2, block=aecho)
    assert [asyncio.run(pattern.arun("go")).turns for _ in range(3)] == [4, 4, 4]


def test_more_than_25_turns_inside_a_runnable_lambda() -> None:
    pattern = panel(20)

    def ask(goal: str) -> int:
        return pattern.run(goal).turns

    assert RunnableLambda(ask).invoke("go") == 40
    assert RunnableLambda(lambda goal: pattern.invoke({"goal": goal})["turns"]).invoke("go") == 40


async def test_more_than_25_turns_inside_an_async_runnable_lambda() -> None:
    pattern = panel(20, block=aecho)

    async def ask(goal: str) -> int:
        return (await pattern.arun(goal)).turns

    assert await RunnableLambda(ask).ainvoke("go") == 40


def test_more_than_25_turns_inside_a_chain() -> None:
    def turns(output: dict[str, int]) -> int:
        return output["turns"]

    chain: Any = RunnablePassthrough() | panel(20) | RunnableLambda(turns)
    assert chain.invoke({"goal": "go"}) == 40


def test_more_than_25_turns_inside_a_tool() -> None:
    pattern = panel(20)

    @tool
    def ask(goal: str) -> int:
        """Ask the panel."""
        return pattern.run(goal).turns

    assert ask.invoke({"goal": "go"}) == 40


def test_more_than_25_turns_under_a_parent_with_a_low_limit() -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("panel", panel(20, synthesizer=lambda given: given.rounds))
    builder.add_edge(START, "panel")
    out = builder.compile().invoke({"messages": [HumanMessage("go")]}, {"recursion_limit": 5})
    assert out["messages"][-1].text == "20"


def test_a_limit_that_is_high_enough_is_left_alone() -> None:
    assert panel(20).invoke({"goal": "go"}, {"recursion_limit": 5000})["turns"] == 40


def messages_graph(node: Any, **compile: Any) -> Any:
    builder: Any = StateGraph(MessagesState)
    builder.add_node("before", lambda state: {"messages": [AIMessage("hello")]})
    builder.add_node("panel", node)
    builder.add_node("after", lambda state: {"messages": [AIMessage(str(len(state["messages"])))]})
    builder.add_edge(START, "before")
    builder.add_edge("before", "panel")
    builder.add_edge("panel", "after")
    builder.add_edge("after", END)
    return builder.compile(**compile)


def modelled(**options: Any) -> Pattern[Any]:
    model = ScriptedModel(
        by_agent={
            "a": lambda messages: "from a",
            "b": lambda messages: "from b",
            "synthesizer": lambda messages: "the deliverable",
        }
    )
    return round_robin(
        name="panel", roster=[{"name": "a"}, {"name": "b"}], max_rounds=2, model=model, **options
    )


@pytest.mark.parametrize("saving", [False, True])
def test_as_a_node_of_a_messages_graph_each_message_comes_once(saving: bool) -> None:
    saver = InMemorySaver() if saving else None
    graph = messages_graph(modelled(), checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    out = graph.invoke({"messages": [HumanMessage("go", id="h")]}, config)
    assert [m.text for m in out["messages"]] == ["go", "hello", "the deliverable", "3"]
    again = graph.invoke({"messages": [HumanMessage("more")]}, config) if saving else None
    if again:
        assert [m.text for m in again["messages"]][4:] == ["more", "hello", "the deliverable", "7"]


async def test_as_a_node_on_the_async_path_each_message_comes_once() -> None:
    out = await messages_graph(modelled()).ainvoke({"messages": [HumanMessage("go")]})
    assert [m.text for m in out["messages"]] == ["go", "hello", "the deliverable", "3"]


def test_streamed_as_a_node_each_message_is_streamed_once() -> None:
    graph = messages_graph(modelled())
    texts: dict[str, str] = {}
    given = {"messages": [HumanMessage("go")]}
    for part in graph.stream(given, stream_mode="messages", subgraphs=True, version="v2"):
        message, metadata = part["data"]
        if metadata.get("agent_name") == "synthesizer":
            texts[message.id] = texts.get(message.id, "") + message.text
    assert list(texts.values()) == ["the deliverable"]


def test_a_node_reads_the_goal_of_its_parent() -> None:
    class State(TypedDict):
        goal: str
        output: Any
        contributions: Annotated[list[Any], lambda old, new: old + new]

    builder = StateGraph(State)
    builder.add_node("panel", panel(1))
    builder.add_edge(START, "panel")
    given: Any = {"goal": "go", "contributions": [{"text": "mine"}]}
    out = builder.compile().invoke(given)
    assert [entry["text"] for entry in out["contributions"]] == ["mine", "a1", "b2"]
    assert out["output"]["rounds"] == 1


def test_two_patterns_in_one_graph_keep_two_transcripts() -> None:
    class State(TypedDict, total=False):
        messages: list[AnyMessage]
        goal: str
        bulls: list[Any]
        bears: list[Any]

    builder = StateGraph(State)
    for name in ("bulls", "bears"):
        builder.add_node(f"{name} panel", panel(1, accessor_key=name))
    builder.add_edge(START, "bulls panel")
    builder.add_edge("bulls panel", "bears panel")
    out = builder.compile().invoke({"goal": "go"})
    assert len(out["bulls"]) == len(out["bears"]) == 2


def test_a_failure_inside_a_parent_graph_tells_the_member() -> None:
    def broken(turn: TurnInput) -> str:
        raise ValueError("no")

    with pytest.raises(MemberError, match="member 'a' failed"):
        messages_graph(panel(1, block=broken)).invoke({"messages": [HumanMessage("go")]})


def test_a_nested_pattern_resumes_at_the_turn_where_it_failed() -> None:
    taken: list[str] = []
    fail = [True]

    def speak(turn: TurnInput) -> str:
        if turn.turn == 3 and fail[0]:
            raise ValueError("down")
        taken.append(f"{turn.agent_name}{turn.turn}")
        return "x"

    inner = panel(2, block=speak, synthesizer=lambda given: "inner")
    roster: list[Any] = [RosterEntry(name="first", block=lambda turn: "x"), inner]
    outer = round_robin(
        name="outer", roster=roster, max_rounds=1, synthesizer=False, checkpointer=InMemorySaver()
    )
    with pytest.raises(MemberError) as caught:
        outer.run("go", thread_id="t")
    assert isinstance(caught.value.__cause__, MemberError)
    fail[0] = False
    result = outer.resume("t")
    assert [c.text for c in result.contributions] == ["x", "inner"]
    assert taken == ["a1", "b2", "a3", "b4"]


STRICT = """
import warnings
warnings.simplefilter("error")
import sqlite3, sys
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import BaseModel
from flowcompose import RosterEntry, round_robin

class Vote(BaseModel):
    choice: str

class Verdict(BaseModel):
    winner: str

saver = SqliteSaver(sqlite3.connect(sys.argv[1], check_same_thread=False))
pattern = round_robin(
    name="p",
    roster=[RosterEntry(name=n, block=lambda turn: Vote(choice="A")) for n in "ab"],
    max_rounds=2,
    referee=lambda turn: {"critique": "c"},
    synthesizer=lambda given: Verdict(winner="A"),
    output_schema=Verdict,
    checkpointer=saver,
)
given = {"messages": [("user", "first"), ("ai", "yes"), ("user", "go")]}
done = pattern.run(given, thread_id="t", session={"k": 1})
again = pattern.resume("t")
assert done == again, (done, again)
assert again.contributions[0].data == Vote(choice="A")
assert again.output == Verdict(winner="A")
print("same")
"""


def test_a_strict_store_reads_everything_back_without_warnings(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STRICT, str(tmp_path / "runs.db")],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("same\n", "")


def test_a_pattern_can_be_called_by_a_function_member() -> None:
    inner = panel(15)
    outer = panel(1, block=lambda turn: str(inner.run(turn.goal).turns))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [c.text for c in outer.run("go").contributions] == ["30", "30"]


def test_batch_runs_several_goals() -> None:
    outputs = panel(1).batch([{"goal": "x"}, {"goal": "y"}])
    assert [out["turns"] for out in outputs] == [2, 2]


def test_a_limit_bound_to_the_pattern_does_not_end_it_early() -> None:
    assert panel(20).with_config({"recursion_limit": 25}).run("go").turns == 40


def test_more_turns_than_the_engine_allows_by_itself() -> None:
    assert panel(5_100).run("go").turns == 10_200


def test_a_members_graph_has_room_inside_a_chain() -> None:
    class Count(TypedDict):
        messages: list[Any]
        n: int

    builder: Any = StateGraph(Count)
    builder.add_node("count", lambda state: {"n": state.get("n", 0) + 1, "messages": ["done"]})
    builder.add_edge(START, "count")
    builder.add_conditional_edges("count", lambda state: "count" if state["n"] < 40 else END)
    pattern = panel(1, block=builder.compile(name="counter"))
    chain: Any = RunnableLambda(pattern.run)
    assert chain.invoke("go").turns == 2


def test_the_schemas_of_a_pattern_can_be_read() -> None:
    pattern = panel(1, referee=lambda turn: {"critique": "c"}, on_error="skip")
    assert set(pattern.get_input_jsonschema()["properties"]) == {"goal", "messages", "session"}
    assert "contributions" in pattern.get_output_jsonschema()["properties"]


@pytest.mark.parametrize("use_async", [False, True])
async def test_events_can_be_followed_inside_another_graph(use_async: bool) -> None:
    inner = panel(1)

    def ask(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage(" ".join(type(e).__name__ for e in inner.events("go")))]}

    async def aask(state: Any) -> dict[str, Any]:
        names = [type(e).__name__ async for e in inner.aevents("go")]
        return {"messages": [AIMessage(" ".join(names))]}

    graph = messages_graph(aask if use_async else ask, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    given = {"messages": [HumanMessage("go")]}
    out = await graph.ainvoke(given, config) if use_async else graph.invoke(given, config)
    assert out["messages"][2].text.split()[-2:] == ["RunStopped", "RunCompleted"]
    assert out["messages"][2].text.count("TurnCompleted") == 2


def test_a_cap_that_raises_does_so_inside_another_pattern() -> None:
    inner = panel(1, on_limit="raise", name="inner")
    with pytest.raises(MemberError, match="reached its cap") as caught:
        panel(1, roster=[inner]).run("go")
    assert isinstance(caught.value.__cause__, MaxTurnsReached)


def test_a_nested_run_that_was_finished_but_not_yet_recorded_keeps_its_output() -> None:
    class Failing(InMemorySaver):
        """Fails once, when the outer graph stores what came of its first member."""

        fail = True

        def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
            outer = not config["configurable"].get("checkpoint_ns")
            said = any(channel == "contributions" and value for channel, value in writes)
            if outer and self.fail and said and isinstance(writes[0][1], list):
                self.fail = False
                raise OSError("disk")
            super().put_writes(config, writes, task_id, task_path)

    taken: list[str] = []

    def speak(turn: TurnInput) -> str:
        taken.append(turn.agent_name)
        return "x"

    inner = panel(1, block=speak, name="inner")
    outer = panel(1, roster=[inner], name="outer", checkpointer=Failing())
    with pytest.raises(OSError, match="disk"):
        outer.run("go", thread_id="t")
    result = outer.resume("t")
    assert taken == ["a", "b"]
    assert result.contributions[0].data.rounds == 1


@pytest.mark.parametrize(
    "messages",
    ["go", HumanMessage("go"), ("user", "go"), {"role": "user", "content": "go"}, [("user", "go")]],
)
def test_messages_are_read_as_the_engine_reads_them(messages: Any) -> None:
    pattern = panel(1, block=lambda turn: f"{turn.goal} {len(turn.history)}")
    assert pattern.run({"messages": messages}).contributions[0].text == "go 0"


def test_messages_that_are_none_are_refused() -> None:
    with pytest.raises(DefinitionError, match="messages cannot be read"):
        panel(1).run({"messages": [object()]})


@pytest.mark.parametrize("synthesizer", [False, lambda given: Verdict(winner="A")])
def test_the_output_as_a_mapping_is_plain(synthesizer: Any) -> None:
    pattern = panel(1, synthesizer=synthesizer)
    output = pattern.invoke({"goal": "go"})
    del output["messages"]
    assert json.loads(json.dumps(output)) == output
    values = list(pattern.stream({"goal": "go"}, stream_mode="values"))
    assert "typed_output" not in values[-1]


class Verdict(BaseModel):
    winner: str
