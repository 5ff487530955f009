"""Patterns, agents and graphs as steps of a flow; and a flow as a graph, and a part of others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel

from flowcompose import (
    Context,
    DefinitionError,
    Flow,
    MemberError,
    Pattern,
    Result,
    RosterEntry,
    RoundRobinFinalShape,
    RunError,
    TurnInput,
    generator,
    round_robin,
)
from flowcompose.core.testing import ScriptedModel

both_paths = pytest.mark.parametrize("use_async", [False, True])


async def run(
    flow: Flow[Any] | Pattern[Any], value: Any, *, use_async: bool, **options: Any
) -> Result[Any]:
    return await flow.arun(value, **options) if use_async else flow.run(value, **options)


class Outline(BaseModel):
    text: str


class Review(BaseModel):
    verdict: str
    summary: str


def say_goal(turn: TurnInput) -> str:
    return f"{turn.agent_name} on {turn.goal}"


def panel(name: str = "panel", block: Any = say_goal, **options: Any) -> Pattern[Any]:
    roster = [RosterEntry(name=each, block=block) for each in "ab"]
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    given = {"name": name, "roster": roster, "max_rounds": 1, "synthesizer": summarize}
    return build(**{**given, "accessor_key": name, **options})


def summarize(given: Any) -> str:
    return "; ".join(each.text for each in given.contributions)


def review(given: Any) -> Review:
    return Review(verdict="good", summary=summarize(given))


def same(value: Any) -> Any:
    return value


def increase(value: int) -> int:
    return value + 1


# What a pattern step is given, and what it gives


@both_paths
@pytest.mark.parametrize("value", ["bees", {"goal": "bees"}])
async def test_a_text_is_the_goal_and_a_mapping_with_goal_the_input(
    value: Any, use_async: bool
) -> None:
    result = await run(Flow("f").step(panel()).map(str.upper), value, use_async=use_async)
    assert result.output == "A ON BEES; B ON BEES"


@both_paths
async def test_after_a_pattern_the_value_is_its_typed_output(use_async: bool) -> None:
    editorial = panel("editorial", synthesizer=review, output_schema=Review)
    flow = Flow("f").step(editorial).step(same)
    result = await run(flow, "bees", use_async=use_async)
    assert result.output == Review(verdict="good", summary="a on bees; b on bees")


def test_a_pattern_without_a_synthesizer_gives_its_transcript() -> None:
    output = Flow("f").step(panel(synthesizer=False)).run("bees").output
    assert isinstance(output, RoundRobinFinalShape)
    assert [each.text for each in output.contributions] == ["a on bees", "b on bees"]


@both_paths
async def test_input_makes_the_goal_of_any_value(use_async: bool) -> None:
    flow = (
        Flow("publish")
        .step(lambda topic: Outline(text=f"outline of {topic}"), name="outline")
        .step(panel(synthesizer=review), input=lambda outline: {"goal": outline.text})
        .map(lambda review: review.summary)
    )
    result = await run(flow, "bees", use_async=use_async)
    assert result.output == "a on outline of bees; b on outline of bees"


@both_paths
@pytest.mark.parametrize("value", [42, Outline(text="x"), ["x"], {"topic": "x"}, None])
async def test_any_other_value_is_an_error_that_tells_of_input(value: Any, use_async: bool) -> None:
    with pytest.raises(RunError, match="'f': step 'panel' failed") as caught:
        await run(Flow("f").step(lambda start: value).step(panel()), "x", use_async=use_async)
    assert "input=" in str(caught.value)


def test_one_pattern_is_a_step_of_two_flows_and_twice_in_one() -> None:
    shared = panel()
    twice = Flow("f").step(shared).step(shared)
    assert twice.run("x").output == "a on a on x; b on x; b on a on x; b on x"
    assert Flow("g").step(shared).run("y").output == "a on y; b on y"
    assert shared.run("z").output == "a on z; b on z"


@both_paths
async def test_a_pattern_may_stand_wherever_a_block_may(use_async: bool) -> None:
    flow = (
        Flow("f")
        .tap(panel("tapped"))
        .step_if(lambda value: True, panel("p1"), name="maybe")
        .branch({"x": (lambda value: True, panel("p2", synthesizer=lambda given: "short"))})
        .parallel({"l": panel("p3"), "r": panel("p4"), "f": len})
        .for_each(panel("p5"), input=lambda value: [value["l"], value["r"], str(value["f"])])
        .step(Flow("inner").step(panel("p6"), input="; ".join))
    )
    output = (await run(flow, "bees", use_async=use_async)).output
    said = "a on short; b on short"
    each = [f"a on {text}; b on {text}" for text in (said, said, "5")]
    assert output == f"a on {'; '.join(each)}; b on {'; '.join(each)}"


@both_paths
async def test_patterns_of_a_for_each_keep_the_order_of_the_items(use_async: bool) -> None:
    goals = [f"goal {number}" for number in range(12)]
    flow = Flow("f").for_each(panel(), max_concurrency=5)
    result = await run(flow, goals, use_async=use_async)
    assert result.output == [f"a on {goal}; b on {goal}" for goal in goals]


@both_paths
async def test_usage_of_a_pattern_step_is_that_of_its_members(use_async: bool) -> None:
    model = ScriptedModel(lambda messages: "some words")
    modelled = round_robin(name="p", roster=[{"name": "a"}], max_rounds=2, model=model)
    alone = modelled.run("go").usage.total_tokens
    flow = Flow("f").step(modelled).for_each(modelled, input=lambda v: ["go", "go"], name="all")
    usage = (await run(flow, "go", use_async=use_async)).usage
    assert {name: each.total_tokens for name, each in usage.by_member.items()} == {
        "p": alone,
        "all": 2 * alone,
    }
    assert usage.total_tokens == 3 * alone


# The session, inside patterns too


@both_paths
@pytest.mark.parametrize(
    ("session", "rounds"), [({"max_debate_rounds": 3}, 3), ({"max_debate_rounds": 1}, 1), (None, 1)]
)
async def test_the_callers_session_says_when_a_debate_ends(
    session: Any, rounds: int, use_async: bool
) -> None:
    debate = panel(
        max_rounds=5,
        terminate_when=lambda ctx: ctx.state.round >= ctx.session.state.get("max_debate_rounds", 1),
        synthesizer=False,
    )
    flow = Flow("f").step(debate).step(Flow("inner").map(lambda final: final.rounds))
    assert (await run(flow, "go", use_async=use_async, session=session)).output == rounds


@both_paths
async def test_members_and_instructions_of_a_pattern_step_see_the_session(use_async: bool) -> None:
    def speak(turn: TurnInput, ctx: Context) -> str:
        return f"{turn.agent_name} for {ctx.session.state['who']}"

    model = ScriptedModel(["by the book"])
    modelled = round_robin(
        name="m",
        accessor_key="m",
        roster=[{"name": "writer"}],
        max_rounds=1,
        model=model,
        synthesizer=summarize,
        instructions=lambda given, ctx: f"Write for {ctx.session.state['who']}.",
    )
    flow = Flow("f").step(panel(block=speak)).step(Flow("inner").step(modelled))
    flow = flow.for_each(panel("each", block=speak), input=lambda value: [value])
    result = await run(flow, "go", use_async=use_async, session={"who": "bees"})
    assert result.output == ["a for bees; b for bees"]
    assert "Write for bees." in model.calls[0].messages[0].text


# Agents and graphs


@both_paths
async def test_an_agent_gets_the_text_as_a_message_and_gives_its_answer(use_async: bool) -> None:
    model = ScriptedModel(["of an agent"])
    agent: Any = create_agent(model, name="helper")
    result = await run(Flow("f").step(agent).map(str.upper), "go", use_async=use_async)
    assert result.output == "OF AN AGENT"
    assert [(type(m), m.text) for m in model.calls[0].messages] == [(HumanMessage, "go")]


class Chat(TypedDict):
    messages: Annotated[list[Any], add_messages]


class Sums(TypedDict, total=False):
    numbers: list[int]
    total: int


def graph(schema: Any, node: Any) -> Any:
    builder = StateGraph(schema)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    return builder.compile(name="a graph")


@both_paths
async def test_a_graph_gets_a_mapping_as_its_state_and_gives_its_state(use_async: bool) -> None:
    summing = graph(Sums, lambda state: {"total": sum(state["numbers"])})
    flow = Flow("f").step(summing, input=lambda numbers: {"numbers": numbers})
    result = await run(flow, [1, 2], use_async=use_async)
    assert result.output == {"numbers": [1, 2], "total": 3}
    assert type(result.output) is dict


@both_paths
async def test_a_graph_of_messages_gets_the_text_alone(use_async: bool) -> None:
    counting = graph(Chat, lambda state: {"messages": [AIMessage(str(len(state["messages"])))]})
    flow = Flow("f").step(counting).step(counting, name="again")
    assert (await run(flow, "go", use_async=use_async)).output == "1"


def test_an_answer_as_a_message_can_be_mapped() -> None:
    flow = Flow("f").step(ScriptedModel(["said"])).map(lambda message: message.text)
    assert flow.run("go").output == "said"


# Failures inside


@both_paths
@pytest.mark.parametrize("on", [ValueError, MemberError])
async def test_a_failing_member_fails_the_step_and_can_be_rescued(on: Any, use_async: bool) -> None:
    def broken(turn: TurnInput) -> str:
        raise ValueError("no idea")

    flow = Flow("f").step(panel(block=broken))
    with pytest.raises(RunError, match="'f': step 'panel' failed: .*no idea") as caught:
        await run(flow, "go", use_async=use_async)
    assert isinstance(caught.value.__cause__, MemberError)
    assert caught.value.__cause__.agent_name == "a"
    assert caught.value.result is not None
    assert caught.value.result.output == "go"
    for part in (flow, Flow("g").step(flow), Flow("g").parallel([flow])):
        saved = part.rescue(lambda error: "saved", on=on)
        assert (await run(saved, "go", use_async=use_async)).output == "saved"


def test_an_async_member_under_run_is_told_before_anything_runs() -> None:
    ran: list[Any] = []

    async def speak(turn: TurnInput) -> str:
        return "x"

    flow = Flow("f").tap(ran.append, name="note").step(Flow("inner").step(panel(block=speak)))
    with pytest.raises(RunError, match="arun"):
        flow.run("go")
    assert ran == []


# More steps than the engine's default


def test_a_long_pattern_in_a_long_flow_inside_a_chain() -> None:
    long = panel(max_rounds=20, synthesizer=False)
    flow = Flow("f").step(long).map(lambda final: str(final.rounds))
    flow = flow.loop_back("panel", max_iterations=30)
    assert RunnableLambda(lambda goal: flow.run(goal).output).invoke("go") == "20"


# Drawn and found


def test_a_diagram_shows_the_members_of_everything_inside() -> None:
    flow = (
        Flow("f")
        .step(panel("p1"), name="first")
        .step(Flow("inner").step(panel("p2"), name="deep"))
        .for_each(panel("p3"), name="all", input=lambda value: [value])
        .branch({"x": (lambda value: True, panel("p4"))}, name="which")
        .parallel({"left": panel("p5"), "right": same}, name="both")
    )
    drawn = flow.mermaid()
    for name in ("first", "inner", "deep", "all", "which", "both"):
        assert name in drawn
    # a node inside a subgraph is written with the names of what it is in: `first\3aa(a)`
    inside = {found.split("\\3a")[-2] for found in re.findall(r"(\S+)\(a\)", drawn)}
    assert inside == {"first", "deep", "all", "x", "left"}


def test_a_pattern_step_is_a_subgraph_of_the_flow() -> None:
    flow = Flow("f").step(panel()).step(Flow("inner").step(same))
    found = dict(flow.compile().get_subgraphs(recurse=True))
    assert {"panel", "inner"} <= {name.split("|")[0] for name in found}
    assert any(isinstance(each, Pattern) and "a" in each.nodes for each in found.values())


# A flow inside other things


def test_a_flow_is_a_member_of_a_pattern() -> None:
    member = Flow("member").step(lambda turn: len(turn.goal)).map("{} letters".format)
    roster = [RosterEntry(name="counter", block=member.compile())]
    pattern = round_robin(name="p", roster=roster, max_rounds=1, synthesizer=summarize)
    assert pattern.run("bees").output == "4 letters"


@both_paths
async def test_a_flow_that_is_a_node_reads_and_writes_its_keys(use_async: bool) -> None:
    class State(TypedDict, total=False):
        input: list[int]
        output: Any

    builder = StateGraph(State)
    builder.add_node("flow", Flow("f").step(sum).step(lambda total: total * 2).compile())
    builder.add_edge(START, "flow")
    app: Any = builder.compile()
    given: Any = {"input": [1, 2]}
    out = await app.ainvoke(given) if use_async else app.invoke(given)
    assert out["output"] == 6


def test_a_generator_writes_from_what_the_step_before_gave() -> None:
    model = ScriptedModel(["a draft"])
    writer = generator("writer", user=lambda brief: f"Write: {brief.text}", model=model)
    assert Flow("f").step(lambda text: Outline(text=text)).step(writer).run("x").output == "a draft"
    assert model.calls[0].messages[-1].text == "Write: x"


# As a graph


def test_compile_gives_a_pattern_that_is_a_graph() -> None:
    app = Flow("f").step(increase).compile()
    assert isinstance(app, Pattern)
    assert isinstance(app, CompiledStateGraph)
    assert isinstance(app.builder, StateGraph)
    assert app.name == "f"
    assert app.run(1).output == 2


@both_paths
@pytest.mark.parametrize(
    ("given", "length"),
    [
        ({"input": "go!"}, 3),
        ({"input": ["a", "b"]}, 2),
        ({"goal": "go"}, 2),
        ({"messages": [HumanMessage("first"), AIMessage("yes"), HumanMessage("go!")]}, 3),
        ({"messages": [("user", "go")]}, 2),
    ],
)
async def test_invoke_takes_an_input_a_goal_or_messages(
    given: Any, length: int, use_async: bool
) -> None:
    app = Flow("f").step(len).compile()
    out = await app.ainvoke(given) if use_async else app.invoke(given)
    assert out["output"] == length
    assert out["stop"]["reason"] == "completed"
    assert out["usage"]["total_tokens"] == 0
    assert [(type(m), m.text) for m in out["messages"]] == [(AIMessage, str(length))]


def test_the_messages_before_the_last_are_the_history() -> None:
    def look(value: str, ctx: Context) -> list[str]:
        return [value, ctx.goal, *(message.text for message in ctx.history)]

    given: Any = {"messages": [("user", "first"), ("ai", "yes"), ("user", "go")]}
    out = Flow("f").step(look).compile().invoke(given)
    assert out["output"] == ["go", "go", "first", "yes"]


@pytest.mark.parametrize("given", [{}, {"messages": []}, {"messages": [AIMessage("alone")]}])
def test_an_input_without_a_value_is_refused(given: Any) -> None:
    with pytest.raises(DefinitionError, match="(?s)'f'.*input"):
        Flow("f").step(len).compile().invoke(given)


@both_paths
async def test_a_flow_is_part_of_a_chain(use_async: bool) -> None:
    chain: Any = RunnableLambda(lambda x: x) | Flow("f").step(increase).compile()
    given = {"input": 1}
    out = await chain.ainvoke(given) if use_async else chain.invoke(given)
    assert out["output"] == 2


def test_batch_runs_several_values() -> None:
    outputs = Flow("f").step(increase).compile().batch([{"input": 1}, {"input": 2}])
    assert [out["output"] for out in outputs] == [2, 3]


def messages_graph(node: Any, saver: Any) -> Any:
    builder: Any = StateGraph(MessagesState)
    builder.add_node("before", lambda state: {"messages": [AIMessage("hello")]})
    builder.add_node("flow", node)
    builder.add_node("after", lambda state: {"messages": [AIMessage(str(len(state["messages"])))]})
    builder.add_edge(START, "before")
    builder.add_edge("before", "flow")
    builder.add_edge("flow", "after")
    builder.add_edge("after", END)
    return builder.compile(checkpointer=saver)


@both_paths
@pytest.mark.parametrize("saving", [False, True])
async def test_a_flow_as_a_node_adds_one_message(saving: bool, use_async: bool) -> None:
    node = Flow("shout").step(str.upper).step(same).compile()
    graph = messages_graph(node, InMemorySaver() if saving else None)
    config: Any = {"configurable": {"thread_id": "t"}}
    texts: list[str] = []
    for word in ("go", "more") if saving else ("go",):
        given = {"messages": [HumanMessage(word)]}
        out = await graph.ainvoke(given, config) if use_async else graph.invoke(given, config)
        texts = [message.text for message in out["messages"]]
    assert texts[:4] == ["go", "hello", "GO", "3"]
    assert texts[4:] == (["more", "hello", "MORE", "7"] if saving else [])


def test_thread_id_without_a_checkpointer_names_the_argument() -> None:
    with pytest.raises(DefinitionError, match="thread_id='t' needs a checkpointer"):
        Flow("f").step(same).compile().run("x", thread_id="t")


def test_a_mermaid_diagram_names_every_step() -> None:
    flow = (
        Flow("f")
        .step(increase)
        .map(lambda value: value, name="reword")
        .tap(print, name="told")
        .branch({"small": (bool, same)}, name="size")
        .step(Flow("inner").step(same))
    )
    for name in ("increase", "reword", "told", "size", "inner", "same"):
        assert name in flow.mermaid()
    assert flow.mermaid() == flow.compile().mermaid()
