"""Functions as named blocks, and blocks as tools of a generator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt
from pydantic import BaseModel

from flowcompose import (
    Context,
    DefinitionError,
    Flow,
    Pattern,
    RosterEntry,
    TurnInput,
    generator,
    handler,
    resource,
    round_robin,
)
from flowcompose.core.events import Emitted, Token, ToolCalled, ToolReturned
from flowcompose.core.testing import ModelCall, ScriptedModel


class Tally(BaseModel):
    count: int = 0


class Point(BaseModel):
    x: int
    y: int = 0


def calling(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[tool_call(name=name, args=args, id="c1")])


def tool_texts(call: ModelCall) -> list[tuple[str, str]]:
    return [(m.status, str(m.text)) for m in call.messages if isinstance(m, ToolMessage)]


def offered(call: ModelCall) -> dict[str, Any]:
    function: dict[str, Any] = call.kwargs["tools"][0]["function"]
    return function


def alone(block: Any, **options: Any) -> Pattern[Any]:
    roster = [RosterEntry(name="m", block=block)]
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    return build(
        **{"name": "p", "roster": roster, "max_rounds": 1, "synthesizer": False, **options}
    )


# --- handler


def test_a_handler_is_a_block_with_its_own_name_and_still_the_function() -> None:
    @handler(name="word count")
    def count(text: str) -> int:
        """Count the words."""
        return len(text.split())

    assert (count.name, count("a b c"), count.__doc__) == ("word count", 3, "Count the words.")


def test_a_handler_takes_its_name_from_the_function() -> None:
    @handler
    def speak(turn: TurnInput) -> str:
        return turn.agent_name

    assert speak.name == "speak"
    assert alone(speak).run("go").contributions[0].text == "m"


async def test_a_handler_may_be_async_and_may_take_the_context() -> None:
    @handler
    async def speak(turn: TurnInput, ctx: Context) -> str:
        await asyncio.sleep(0)
        return f"{ctx.goal} {ctx.agent_name}"

    assert (await alone(speak).arun("go")).contributions[0].text == "go m"
    assert speak.async_only


def test_a_handler_of_a_handler_gets_the_new_name_and_resources() -> None:
    tally = resource("tally", Tally)
    first = handler(lambda turn, ctx: str(ctx.resources[tally].state.count), name="first")
    second = handler(first, name="second", resources=[tally])
    assert (second.name, alone(second).run("go").contributions[0].text) == ("second", "0")


def _stream(turn: TurnInput) -> Any:
    yield "x"


def _three(a: int, b: int, c: int) -> str:
    return "x"


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (7, "handler '7': must be a function, got 7"),
        (Tally, "must be a function, got <class"),
        (_stream, "handler '_stream': _stream is a generator function; give the whole"),
        (_three, r"_three\(.*\) .*must take one argument \(the value\) or two"),
    ],
)
def test_what_is_no_function_of_one_or_two_arguments_is_refused(
    function: Any, problem: str
) -> None:
    with pytest.raises(DefinitionError, match=problem):
        handler(function)


def test_all_problems_of_a_handler_are_told_at_once() -> None:
    with pytest.raises(DefinitionError) as caught:
        handler(_stream, name=" ", resources=["notes"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType, reportCallIssue] - wrong on purpose
    assert len(caught.value.problems) == 3


# --- blocks as tools


@handler
def shout(text: str) -> str:
    """Say it in capitals."""
    return text.upper()


@handler(name="point maker")
def move(point: Point) -> Point:
    """Move a point to the right."""
    return Point(x=point.x + 1, y=point.y)


def test_a_handler_is_a_tool_with_one_text() -> None:
    model = ScriptedModel([calling("shout", input="hey"), "done"])
    assert generator("g", model=model, tools=[shout]).invoke("go") == "done"
    assert tool_texts(model.calls[1]) == [("success", "HEY")]
    told = offered(model.calls[0])
    assert (told["name"], told["description"]) == ("shout", "Say it in capitals.")
    assert list(told["parameters"]["properties"]) == ["input"]


def test_a_handler_of_a_model_is_a_tool_with_its_fields_and_answers_in_json() -> None:
    model = ScriptedModel([calling("point-maker", x=2), "done"])
    generator("g", model=model, tools=[move]).invoke("go")
    assert tool_texts(model.calls[1]) == [("success", '{"x":3,"y":0}')]
    assert list(offered(model.calls[0])["parameters"]["properties"]) == ["x", "y"]


def test_a_model_is_told_what_was_wrong_with_its_arguments() -> None:
    model = ScriptedModel([calling("point-maker", x="far"), "done"])
    generator("g", model=model, tools=[move]).invoke("go")
    ((status, text),) = tool_texts(model.calls[1])
    assert status == "error"
    assert "x" in text


def test_a_function_that_gives_a_model_answers_in_json() -> None:
    def origin() -> Point:
        """Give the origin."""
        return Point(x=0)

    model = ScriptedModel([calling("origin"), "done"])
    generator("g", model=model, tools=[origin]).invoke("go")
    assert tool_texts(model.calls[1]) == [("success", '{"x":0,"y":0}')]


async def test_an_async_handler_is_a_tool_on_the_async_path_only() -> None:
    @handler
    async def later(text: str) -> str:
        """Take its time."""
        await asyncio.sleep(0)
        return f"{text}!"

    model = ScriptedModel([calling("later", input="hey"), "done"])
    asking = generator("g", model=model, tools=[later])
    assert asking.async_tools == ("later",)
    assert await asking.ainvoke("go") == "done"
    assert tool_texts(model.calls[1]) == [("success", "hey!")]


def costing(message: AIMessage, tokens: int) -> AIMessage:
    message.usage_metadata = UsageMetadata(
        input_tokens=tokens, output_tokens=0, total_tokens=tokens
    )
    return message


def test_a_generator_is_a_tool_and_its_tokens_are_the_callers() -> None:
    expert = ScriptedModel([costing(AIMessage("the moon is far"), 100)])
    first = costing(calling("expert", input="how far?"), 10)
    model = ScriptedModel([first, costing(AIMessage("done"), 1)])
    ask = generator("expert", "You know.", model=expert).as_tool(description="Ask an expert.")
    result = alone(generator("g", model=model, tools=[ask])).run("go")
    assert tool_texts(model.calls[1]) == [("success", "the moon is far")]
    assert [m.text for m in expert.calls[0].messages] == ["You know.", "how far?"]
    assert result.usage.by_member["m"].total_tokens == 111


def test_a_generator_without_a_description_is_refused_as_a_tool() -> None:
    bare = generator("expert", model="offline")
    problem = "tools: 'expert' as a tool: it has no description .*pass .as_tool"
    with pytest.raises(DefinitionError, match=problem):
        generator("g", model="offline", tools=[bare])
    with pytest.raises(DefinitionError, match="description must be a non-empty string, got ' '"):
        bare.as_tool(description=" ")
    with pytest.raises(DefinitionError, match="name must be letters, digits.* got 'two words'"):
        bare.as_tool(name="two words", description="x")


def panel(**options: Any) -> Pattern[Any]:
    roster = [
        RosterEntry(name="bull", role="an optimist", block=lambda turn: f"yes to {turn.goal}"),
        RosterEntry(name="bear", role="a pessimist", block=lambda turn: "no"),
    ]
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    given = {"name": "risk panel", "roster": roster, "max_rounds": 1}
    return build(**{**given, "synthesizer": lambda shape: f"{shape.rounds} round", **options})


def test_a_pattern_is_a_tool_that_works_on_the_goal_that_the_model_gives() -> None:
    asked: list[str] = []

    def tell(turn: TurnInput) -> str:
        asked.append(turn.goal)
        return "x"

    model = ScriptedModel([calling("risk-panel", goal="buy?"), "done"])
    tool = panel(roster=[RosterEntry(name="bull", role="an optimist", block=tell)])
    assert alone(generator("g", model=model, tools=[tool])).run("outer").stop.reason == "max_rounds"
    assert asked == ["buy?"]
    assert tool_texts(model.calls[1]) == [("success", "1 round")]
    told = offered(model.calls[0])
    assert told["description"] == "Let a panel work on a goal: bull (an optimist)."
    assert list(told["parameters"]["properties"]) == ["goal"]


async def test_a_pattern_is_a_tool_on_the_async_path() -> None:
    model = ScriptedModel([calling("ask", goal="buy?"), "done"])
    tool = panel().as_tool(name="ask", description="Ask the panel.")
    await alone(generator("g", model=model, tools=[tool])).arun("go")
    assert tool_texts(model.calls[1]) == [("success", "1 round")]


def test_the_tokens_of_a_pattern_as_a_tool_count_for_the_callers_turn() -> None:
    inner = ScriptedModel([costing(AIMessage("a"), 100), costing(AIMessage("b"), 1000)])
    tool = panel(roster=[{"name": "a"}], synthesizer=None, model=inner)
    first = costing(calling("risk-panel", goal="buy?"), 10)
    model = ScriptedModel([first, costing(AIMessage("done"), 1)])
    usage = alone(generator("g", model=model, tools=[tool])).run("go").usage
    assert usage.by_member["m"].total_tokens == usage.total_tokens == 1111


def test_a_pattern_as_a_tool_streams_in_the_events_of_the_run() -> None:
    def speak(turn: TurnInput, ctx: Context) -> str:
        ctx.emit({"at": turn.agent_name})
        return "x"

    tool = panel(roster=[RosterEntry(name="inner", block=speak)])
    model = ScriptedModel([calling("risk-panel", goal="buy?"), "done"])
    events = list(alone(generator("g", model=model, tools=[tool])).events("go"))
    assert [type(e) for e in events if isinstance(e, (ToolCalled, ToolReturned, Emitted))] == [
        ToolCalled,
        Emitted,
        ToolReturned,
    ]
    assert "".join(e.text for e in events if isinstance(e, Token)) == "done"


def test_a_pattern_as_a_tool_keeps_no_checkpoints_of_its_own() -> None:
    asked: list[str] = []

    def tell(turn: TurnInput) -> str:
        asked.append(turn.goal)
        return "x"

    @handler
    def person(text: str) -> str:
        """Ask a person."""
        return str(interrupt(text))

    tool = panel(roster=[RosterEntry(name="bull", block=tell)], checkpointer=InMemorySaver())
    person_asked = calling("person", input="ok?")
    first, second = calling("risk-panel", goal="first"), calling("risk-panel", goal="second")
    model = ScriptedModel([first, person_asked, second, person_asked, "done"])
    pattern = alone(generator("g", model=model, tools=[tool, person]), checkpointer=InMemorySaver())
    assert pattern.run("go", thread_id="t").interrupts == ["ok?"]
    assert pattern.resume("t", "yes").contributions[0].text == "done"
    assert asked == ["first", "second"]


def counting(tally: Any) -> Callable[[Any, Context], str]:
    def count(value: Any, ctx: Context) -> str:
        """Count up."""
        number = ctx.resources[tally].state.count + 1
        ctx.resources[tally].patch(count=number)
        return str(number)

    return count


@pytest.mark.parametrize("scope", ["run", "session", "user"])
def test_tools_share_the_resources_of_the_caller(scope: Any) -> None:
    tally = resource("tally", Tally, scope=scope)
    count = handler(counting(tally), resources=[tally])
    tool = panel(roster=[RosterEntry(name="a", block=count)])
    model = ScriptedModel(
        [
            calling("count", input="x"),
            calling("risk-panel", goal="x"),
            calling("count", input="x"),
            "done",
        ]
    )
    roster = [
        RosterEntry(name="g", block=generator("g", model=model, tools=[count, tool])),
        RosterEntry(name="after", block=count),
    ]
    pattern = round_robin(
        name="p", roster=roster, max_rounds=1, synthesizer=False, store=InMemoryStore()
    )
    result = pattern.run("go", config={"configurable": {"user_id": "u"}})
    assert [text for _, text in tool_texts(model.calls[-1])] == ["1", "1 round", "3"]
    assert result.contributions[-1].text == "4"


async def test_tools_share_the_resources_of_the_caller_on_the_async_path() -> None:
    tally = resource("tally", Tally)
    count = handler(counting(tally), resources=[tally])
    tool = panel(roster=[RosterEntry(name="a", block=count)])
    model = ScriptedModel([calling("risk-panel", goal="x"), calling("count", input="x"), "done"])
    pattern = alone(generator("g", model=model, tools=[tool, count]), max_rounds=1)
    output = await pattern.ainvoke({"goal": "go"})
    assert output["resource_writes"]["tally"]["fields"] == {"count": 2}


def writing_then_failing(tally: Any) -> Any:
    @handler(name="fail", resources=[tally])
    def fail(text: str, ctx: Context) -> str:
        """Fail."""
        ctx.resources[tally].patch(count=5)
        raise ValueError("no")

    return fail


@pytest.mark.parametrize("path", ["sync", "async"])
@pytest.mark.parametrize("handled", [False, True])
async def test_what_a_failed_tool_wrote_is_gone_though_the_step_goes_on(
    path: str, handled: bool
) -> None:
    tally = resource("tally", Tally)
    tool = writing_then_failing(tally).as_tool()
    tool.handle_tool_error = handled
    failing, count = calling("fail", input="x"), handler(counting(tally), resources=[tally])
    model = ScriptedModel([calling("count", input="x"), failing, calling("count", input="x"), "x"])
    flow = Flow("f").step(generator("g", model=model, tools=[count, tool]))
    read = flow.step(lambda value, ctx: ctx.resources[tally].state.count)
    result = read.run("go") if path == "sync" else await read.arun("go")
    assert result.output == 2
    assert [status for status, _ in tool_texts(model.calls[-1])] == ["success", "error", "success"]


async def test_what_others_wrote_while_a_tool_failed_stays() -> None:
    tally, other = resource("tally", Tally), resource("other", Tally)
    wrote, failed = asyncio.Event(), asyncio.Event()

    @handler(resources=[tally, other])
    async def fail(text: str, ctx: Context) -> str:
        """Fail."""
        ctx.resources[tally].patch(count=5)
        ctx.resources[other].patch(count=5)
        wrote.set()
        await failed.wait()
        raise ValueError("no")

    @handler(resources=[tally])
    async def succeed(text: str, ctx: Context) -> str:
        """Succeed."""
        await wrote.wait()
        ctx.resources[tally].patch(count=9)
        failed.set()
        return "ok"

    calls = [
        tool_call(name=each.name, args={"input": "x"}, id=each.name) for each in (fail, succeed)
    ]
    model = ScriptedModel([AIMessage("", tool_calls=calls), "done"])
    flow = Flow("f").step(generator("g", model=model, tools=[fail, succeed]))
    read = flow.step(lambda v, ctx: [ctx.resources[r].state.count for r in (tally, other)])
    assert (await read.arun("go")).output == [9, 0]


async def test_tools_that_count_at_the_same_time_see_each_other() -> None:
    tally = resource("tally", Tally)
    counted = asyncio.Event()

    @handler(resources=[tally])
    async def count(text: str, ctx: Context) -> str:
        """Count up, and stay at work."""
        ctx.resources[tally].patch(count=ctx.resources[tally].state.count + 1)
        if ctx.resources[tally].state.count == 2:
            counted.set()
        await counted.wait()
        return "ok"

    calls = [tool_call(name="count", args={"input": "x"}, id=each) for each in ("c1", "c2")]
    model = ScriptedModel([AIMessage("", tool_calls=calls), "done"])
    flow = Flow("f").step(generator("g", model=model, tools=[count]))
    read = flow.step(lambda value, ctx: ctx.resources[tally].state.count)
    assert (await read.arun("go")).output == 2


def test_what_a_failed_tool_of_an_agent_inside_wrote_is_gone() -> None:
    tally = resource("tally", Tally)
    tool = writing_then_failing(tally).as_tool()
    tool.handle_tool_error = True
    again: Any = RunnableLambda(lambda value, config: tool.invoke({"input": "x"}, config))
    tolerant = again.with_fallbacks([RunnableLambda(lambda value: "in vain")])
    flow = Flow("f", resources=[tally]).step(tolerant, name="t")
    read = flow.step(lambda value, ctx: (value, ctx.resources[tally].state.count))
    assert read.run("go").output == ("in vain", 0)


# --- flows as tools in a run that is saved


def test_a_flow_as_a_tool_may_hold_any_value_though_the_caller_is_saved() -> None:
    look = Flow("look").step(lambda v: object(), name="open").map(lambda v: type(v).__name__)
    model = ScriptedModel([calling("look", input="x"), "done"])
    flow = Flow("f").step(generator("g", model=model, tools=[look.as_tool()]))
    flow.compile(checkpointer=InMemorySaver()).run("x")
    assert tool_texts(model.calls[1]) == [("success", "object")]


def test_a_pattern_in_a_flow_as_a_tool_leaves_no_checkpoints() -> None:
    saver = InMemorySaver()
    look = Flow("look").step(panel()).map(lambda value: "looked")
    model = ScriptedModel([calling("look", input="x"), "done"])
    flow = Flow("f").step(generator("g", model=model, tools=[look.as_tool()]))
    flow.compile(checkpointer=saver).run("x", thread_id="t")
    assert list(saver.storage["t"]) == [""]


def test_a_question_in_a_pattern_in_a_flow_as_a_tool_is_answered() -> None:
    roster = [RosterEntry(name="bull", block=lambda turn: str(interrupt("ok?")))]
    inner = panel(roster=roster, synthesizer=lambda shape: shape.contributions[0].text)
    look = Flow("look").step(inner)
    look_at = calling("look", input="x")
    model = ScriptedModel([look_at, look_at, "done"])
    flow = Flow("f").step(generator("g", model=model, tools=[look.as_tool()]))
    app = flow.compile(checkpointer=InMemorySaver())
    assert app.run("x", thread_id="t").interrupts == ["ok?"]
    assert app.resume("t", "yes").output == "done"
    assert tool_texts(model.calls[-1]) == [("success", "yes")]


def test_a_tool_that_a_step_of_a_flow_as_a_tool_calls_writes_in_that_step() -> None:
    tally = resource("tally", Tally)
    count = handler(counting(tally), name="count", resources=[tally]).as_tool()
    agent: Any = RunnableLambda(lambda v, config: count.invoke({"input": "x"}, config) and 1 // 0)
    inner = (
        Flow("inner", resources=[tally])
        .step(agent, name="agent")
        .rescue(lambda error: type(error).__name__)
        .step(lambda value, ctx: f"{value} {ctx.resources[tally].state.count}", name="read")
    )
    model = ScriptedModel([calling("inner", input="x"), "done"])
    generator("g", model=model, tools=[inner]).invoke("x")
    assert tool_texts(model.calls[1]) == [("success", "ZeroDivisionError 0")]


def test_a_flow_among_the_tools_shares_its_resources_with_the_step() -> None:
    tally = resource("tally", Tally)
    tool = Flow("look", resources=[tally]).step(counting(tally), name="count")
    model = ScriptedModel([calling("look", input="x"), "done"])
    flow = Flow("f").step(generator("g", model=model, tools=[tool]))
    read = flow.step(lambda value, ctx: ctx.resources[tally].state.count)
    assert read.run("go").output == 1


def test_two_tools_with_different_resources_of_one_name_are_refused() -> None:
    one, two = resource("tally", Tally), resource("tally", Tally)
    tools = [
        handler(counting(one), name="one", resources={"a": one}),
        handler(counting(two), name="two", resources={"b": two}),
    ]
    with pytest.raises(DefinitionError, match="named 'tally', of tool 'one' and of tool 'two'"):
        generator("g", model="offline", tools=tools)


def test_blocks_are_tools_of_a_plain_langchain_agent() -> None:
    model = ScriptedModel(
        [calling("risk-panel", goal="buy?"), calling("shout", input="hey"), "done"]
    )
    agent: Any = create_agent(model, tools=[panel().as_tool(), shout.as_tool()])
    messages = agent.invoke({"messages": [("human", "go")]})["messages"]
    assert [m.text for m in messages if isinstance(m, ToolMessage)] == ["1 round", "HEY"]


async def test_blocks_are_tools_of_a_plain_langchain_agent_on_the_async_path() -> None:
    model = ScriptedModel([calling("risk-panel", goal="buy?"), "done"])
    agent: Any = create_agent(model, tools=[panel().as_tool()])
    messages = (await agent.ainvoke({"messages": [("human", "go")]}))["messages"]
    assert [m.text for m in messages if isinstance(m, ToolMessage)] == ["1 round"]


def test_a_pattern_with_tools_forwards_blocks_to_its_members() -> None:
    model = ScriptedModel([calling("shout", input="hey"), "done"])
    pattern = round_robin(
        name="p",
        roster=[{"name": "a"}],
        tools=[shout],
        model=model,
        max_rounds=1,
        synthesizer=False,
    )
    pattern.run("go")
    assert tool_texts(model.calls[1]) == [("success", "HEY")]
