"""The tool `terminate`: a member gives its final response and ends its team."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from flowcompose import (
    Context,
    Flow,
    MemberError,
    Pattern,
    Result,
    RosterEntry,
    TurnInput,
    capability,
    generator,
    round_robin,
)
from flowcompose.core.block_tool import block_tool
from flowcompose.core.events import RunStopped, ToolCalled, ToolReturned, TurnCompleted
from flowcompose.core.testing import Reply, ScriptedModel
from flowcompose.core.tools import terminate

Path = Literal["sync", "async"]


@pytest.fixture(params=["sync", "async"])
def path(request: pytest.FixtureRequest) -> Path:
    given: Path = request.param
    return given


class Verdict(BaseModel):
    approved: bool


@tool
def search(query: str) -> str:
    """Look something up."""
    return f"found {query}"


def calling(*calls: tuple[str, Mapping[str, Any]], text: str = "") -> AIMessage:
    return AIMessage(
        text,
        tool_calls=[
            tool_call(name=name, args=dict(args), id=f"c{number}")
            for number, (name, args) in enumerate(calls, 1)
        ],
    )


def ending(response: str = "bye") -> AIMessage:
    return calling(("terminate", {"response": response}))


def asked(block: Any, path: Path, value: Any = "go") -> Any:
    """Use a generator or a graph on its own."""
    return block.invoke(value) if path == "sync" else asyncio.run(block.ainvoke(value))


def run(pattern: Any, path: Path, goal: str = "go") -> Result[Any]:
    result: Result[Any] = pattern.run(goal) if path == "sync" else asyncio.run(pattern.arun(goal))
    return result


def events_of(pattern: Pattern[Any], path: Path) -> list[Any]:
    async def collect() -> list[Any]:
        return [event async for event in pattern.aevents("go")]

    return list(pattern.events("go")) if path == "sync" else asyncio.run(collect())


def panel(*roster: Any, **options: Any) -> Pattern[Any]:
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    given = {"name": "panel", "max_rounds": 2, "synthesizer": False}
    return build(roster=[*roster], **{**given, **options})


def speaker(name: str) -> RosterEntry:
    return RosterEntry(name=name, block=lambda turn: f"{name} speaks")


def agent_of(*replies: Reply, **options: Any) -> Any:
    return create_agent(
        ScriptedModel([*replies]), tools=[search, terminate], name="agent", **options
    )


def texts(result: Result[Any]) -> list[str]:
    return [entry.text for entry in result.contributions]


def ends(result: Result[Any]) -> tuple[str, str | None]:
    return result.stop.reason, result.stop.by


# --- what the model is shown


def test_the_model_is_shown_one_required_text() -> None:
    shown = convert_to_openai_tool(terminate)["function"]
    assert shown["name"] == "terminate"
    assert shown["parameters"]["required"] == ["response"]
    assert shown["parameters"]["properties"]["response"]["type"] == "string"
    assert len(shown["parameters"]["properties"]) == 1


def test_the_package_does_not_load_the_tool_before_it_is_asked_for() -> None:
    code = (
        "import sys, flowcompose.core.tools as tools; "
        "print('flowcompose.core.terminate' in sys.modules, tools.terminate.name)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "terminate"]


def test_called_by_hand_it_gives_the_response(path: Path) -> None:
    assert asked(terminate, path, {"response": "bye"}) == "bye"
    assert asked(terminate, path, {}) == ""


# --- a generator


def test_the_response_is_the_value_and_the_model_is_not_asked_again(path: Path) -> None:
    model = ScriptedModel([calling(("search", {"query": "x"})), ending("bye")])
    assert asked(generator("g", model=model, tools=[search, terminate]), path) == "bye"
    model.assert_complete()


def test_without_a_call_of_it_nothing_changes(path: Path) -> None:
    model = ScriptedModel([calling(("search", {"query": "x"})), "words"])
    assert asked(generator("g", model=model, tools=[search, terminate]), path) == "words"


def test_a_capability_may_bring_it(path: Path) -> None:
    model = ScriptedModel([ending("bye")])
    assert asked(generator("g", model=model, uses=[capability("c", tools=[terminate])]), path) == (
        "bye"
    )


def test_it_may_be_described_in_ones_own_words(path: Path) -> None:
    own = terminate.model_copy(update={"name": "finish", "description": "We are done."})
    model = ScriptedModel([calling(("finish", {"response": "bye"}))])
    assert asked(generator("g", model=model, tools=[own]), path) == "bye"
    assert model.calls[0].kwargs["tools"][0]["function"]["description"] == "We are done."


def test_another_tool_of_its_name_is_a_tool_as_any(path: Path) -> None:
    @tool("terminate")
    def other(response: str) -> str:
        """End a process."""
        return f"ended {response}"

    model = ScriptedModel([ending("process 7"), "it has ended"])
    assert asked(generator("g", model=model, tools=[other]), path) == "it has ended"


def test_with_a_schema_the_value_is_the_response_all_the_same(path: Path) -> None:
    model = ScriptedModel([ending("no verdict")])
    block = generator("g", model=model, tools=[terminate], output_schema=Verdict)
    assert asked(block, path) == "no verdict"
    model.assert_complete()


ODD: dict[str, tuple[AIMessage, str]] = {
    "missing": (calling(("terminate", {}), text="beside it"), "beside it"),
    "missing everywhere": (calling(("terminate", {})), ""),
    "null": (calling(("terminate", {"response": None}), text="beside it"), "beside it"),
    "blank": (calling(("terminate", {"response": " "}), text="beside it"), "beside it"),
    "a number": (calling(("terminate", {"response": 42})), "42"),
    "zero": (calling(("terminate", {"response": 0}), text="beside it"), "0"),
    "a list": (calling(("terminate", {"response": ["a", "b"]})), "['a', 'b']"),
    "more than asked for": (calling(("terminate", {"response": "bye", "why": "done"})), "bye"),
    "another name": (calling(("terminate", {"answer": "bye"})), "bye"),
    "both": (calling(("terminate", {"response": "bye"}), text="beside it"), "bye"),
}


@pytest.mark.parametrize("odd", ODD)
def test_a_response_of_any_form_ends_the_exchange(path: Path, odd: str) -> None:
    answer, expected = ODD[odd]
    model = ScriptedModel([answer])
    assert asked(generator("g", model=model, tools=[terminate]), path) == expected
    model.assert_complete()


def test_arguments_that_are_no_json_are_told_to_the_model_and_end_nothing(path: Path) -> None:
    unreadable = AIMessage(
        "",
        invalid_tool_calls=[
            invalid_tool_call(name="terminate", args='{"resp', id="c1", error="bad")
        ],
    )
    model = ScriptedModel([unreadable, "words"])
    assert asked(generator("g", model=model, tools=[terminate]), path) == "words"
    told = model.calls[-1].messages[-1]
    assert (told.text, getattr(told, "status", "")) == (
        'the arguments are no JSON object: {"resp',
        "error",
    )


# --- other calls of the same answer


def test_calls_before_it_are_run_and_calls_after_it_are_not(path: Path) -> None:
    done: list[str] = []

    @tool
    def work(what: str) -> str:
        """Work."""
        done.append(what)
        return "worked"

    answer = calling(
        ("work", {"what": "first"}),
        ("nowhere", {}),
        ("terminate", {"response": "bye"}),
        ("work", {"what": "after"}),
        ("terminate", {"response": "again"}),
    )
    model = ScriptedModel([answer])
    pattern = panel({"name": "a"}, model=model, tools=[work, terminate])
    seen = [e for e in events_of(pattern, path) if isinstance(e, ToolCalled | ToolReturned)]
    assert done == ["first"]
    assert [e.tool for e in seen if isinstance(e, ToolCalled)] == [
        *("work", "nowhere", "terminate", "work", "terminate")
    ]
    refused = ("error", "not run: the team has ended")
    returned = [(e.tool, e.status, e.text) for e in seen if isinstance(e, ToolReturned)]
    assert sorted(returned[:2]) == [
        ("nowhere", "error", "no tool 'nowhere'; there is: work, terminate"),
        ("work", "success", "worked"),
    ]
    assert returned[2:] == [
        ("terminate", "success", "bye"),
        ("work", *refused),
        ("terminate", *refused),
    ]
    model.assert_complete()


def test_the_tools_of_a_turn_are_those_that_were_run(path: Path) -> None:
    unknown = calling(("nowhere", {}), ("search", {"query": "x"}))
    both = calling(("terminate", {"response": "bye"}), ("search", {"query": "y"}))
    model = ScriptedModel([unknown, both])
    result = run(panel({"name": "a"}, model=model, tools=[search, terminate]), path)
    assert result.contributions[0].tools == ("search", "terminate")


async def test_on_the_async_path_calls_before_it_run_at_the_same_time_and_it_runs_last() -> None:
    both, order = asyncio.Barrier(2), list[str]()

    @tool
    async def meet(who: str) -> str:
        """Wait for the other."""
        await asyncio.wait_for(both.wait(), 5)
        order.append(who)
        return f"met {who}"

    calls = calling(("meet", {"who": "x"}), ("meet", {"who": "y"}), ("terminate", {"response": ""}))
    model = ScriptedModel([calls])
    pattern = panel({"name": "a"}, model=model, tools=[meet, terminate])
    seen = [e async for e in pattern.aevents("go") if isinstance(e, ToolReturned)]
    assert sorted(order) == ["x", "y"]
    assert seen[-1].tool == "terminate"


def test_a_question_to_a_person_before_it_is_asked(path: Path) -> None:
    @tool
    def approve(what: str) -> str:
        """Ask a person."""
        return f"the answer is {interrupt(what)}"

    calls = calling(("approve", {"what": "ship?"}), ("terminate", {"response": "shipped"}))
    model = ScriptedModel([calls] * 2)
    pattern = panel(
        {"name": "a"}, model=model, tools=[approve, terminate], checkpointer=InMemorySaver()
    )
    if path == "sync":
        waiting, done = pattern.run("go", thread_id="t"), pattern.resume("t", "yes")
    else:
        waiting = asyncio.run(pattern.arun("go", thread_id="t"))
        done = asyncio.run(pattern.aresume("t", "yes"))
    assert (waiting.stop.reason, waiting.interrupts) == ("interrupted", ["ship?"])
    assert (texts(done), ends(done)) == (["shipped"], ("terminate_tool", "a"))


# --- whose turn it ends


def used_by(
    model: ScriptedModel, tools: Sequence[Any], seen: list[str | None], path: Path
) -> RosterEntry:
    """A member that asks a generator in its own context, and notes what that sees afterwards."""
    block = generator("g", model=model, tools=[*tools])

    def speak(turn: TurnInput, ctx: Context) -> str:
        said = str(block.run(turn, ctx))
        seen.append(ctx.termination)
        return said

    async def aspeak(turn: TurnInput, ctx: Context) -> str:
        said = str(await block.arun(turn, ctx))
        seen.append(ctx.termination)
        return said

    return RosterEntry(name="m", block=speak if path == "sync" else aspeak)


def test_the_context_of_the_turn_knows_the_response(path: Path) -> None:
    seen: list[str | None] = []
    model = ScriptedModel(["words", ending("bye")])
    run(panel(used_by(model, [terminate], seen, path)), path)
    assert seen == [None, "bye"]


def test_a_generator_that_is_a_tool_ends_its_own_exchange_only(path: Path) -> None:
    expert = ScriptedModel([calling(("search", {"query": "x"})), ending("the moon is far")])
    ask = generator("expert", model=expert, tools=[search, terminate]).as_tool(description="Ask.")
    model = ScriptedModel([calling(("expert", {"input": "how far?"})), "Far.", "Still far."])
    member = RosterEntry(name="m", block=generator("g", model=model, tools=[ask, terminate]))
    result = run(panel(member), path)
    assert model.calls[1].messages[-1].text == "the moon is far"
    assert (texts(result), ends(result)) == (["Far.", "Still far."], ("max_rounds", None))
    assert [entry.tools for entry in result.contributions] == [("expert",), ()]


def test_experts_at_the_same_time_end_nothing_but_their_own_exchanges() -> None:
    expert = ScriptedModel([ending("one"), ending("two")])
    ask = generator("expert", model=expert, tools=[terminate]).as_tool(description="Ask.")
    both = calling(("expert", {"input": "a"}), ("expert", {"input": "b"}))
    model = ScriptedModel([both, "done"])
    member = RosterEntry(name="m", block=generator("g", model=model, tools=[ask]))
    result = run(panel(member, max_rounds=1), "async")
    assert ends(result) == ("max_rounds", None)
    assert sorted(m.text for m in model.calls[1].messages if isinstance(m, ToolMessage)) == [
        *("one", "two")
    ]


def test_an_agent_inside_a_tool_ends_nothing(path: Path) -> None:
    agent = agent_of(ending("inner"))

    @tool
    def delegate(task: str, config: RunnableConfig) -> str:
        """Let another work on it."""
        return str(agent.invoke({"messages": [("human", task)]}, config)["messages"][-1].text)

    model = ScriptedModel([calling(("delegate", {"task": "x"})), "words"])
    member = RosterEntry(name="m", block=generator("g", model=model, tools=[delegate]))
    result = run(panel(member, max_rounds=1), path)
    assert (texts(result), ends(result)) == (["words"], ("max_rounds", None))


def test_an_agent_that_is_a_tool_answers_with_the_response(path: Path) -> None:
    ask = block_tool(agent_of(ending("from the agent")), description="Ask.")
    model = ScriptedModel([calling(("agent", {"input": "x"})), "words"])
    member = RosterEntry(name="m", block=generator("g", model=model, tools=[ask]))
    assert ends(run(panel(member, max_rounds=1), path)) == ("max_rounds", None)
    assert model.calls[1].messages[-1].text == "from the agent"


def _messages(turn: TurnInput) -> list[BaseMessage]:
    return turn.messages


def test_a_generator_in_a_chain_ends_the_team_of_the_member(path: Path) -> None:
    before: Any = RunnableLambda(_messages)
    model = ScriptedModel([calling(("search", {"query": "x"})), ending("bye")])
    block = generator("g", model=model, tools=[search, terminate])
    member = RosterEntry(name="m", block=before | block | str.upper)
    result = run(panel(member, speaker("b")), path)
    assert (texts(result), ends(result)) == (["bye"], ("terminate_tool", "m"))
    assert result.contributions[0].tools == ("search", "terminate")


def test_a_generator_in_a_graph_ends_the_team_of_the_member(path: Path) -> None:
    model = ScriptedModel([ending("bye")])
    block = generator("g", model=model, tools=[terminate])

    def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [AIMessage(block.invoke(state["messages"], config) + "?")]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    result = run(panel(RosterEntry(name="m", block=graph.compile()), speaker("b")), path)
    assert (texts(result), ends(result)) == (["bye"], ("terminate_tool", "m"))
    assert result.contributions[0].tools == ("terminate",)


def test_what_a_function_starts_without_the_turns_config_is_a_run_of_its_own(path: Path) -> None:
    agent: Any = create_agent(ScriptedModel([ending("bye")]), tools=[terminate])

    def alone(turn: TurnInput) -> str:
        return str(agent.invoke({"messages": turn.messages})["messages"][-1].text)

    result = run(panel(RosterEntry(name="m", block=alone), max_rounds=1), path)
    assert (texts(result), ends(result)) == (["bye"], ("max_rounds", None))


def test_what_a_function_starts_with_the_turns_config_ends_its_team(path: Path) -> None:
    agent: Any = create_agent(ScriptedModel([ending("bye")]), tools=[terminate])

    def with_config(turn: TurnInput, ctx: Context) -> str:
        agent.invoke({"messages": turn.messages}, ctx.config)
        return "something else"

    result = run(panel(RosterEntry(name="m", block=with_config), speaker("b")), path)
    assert (texts(result), ends(result)) == (["bye"], ("terminate_tool", "m"))


# --- agents of LangChain


def test_an_agent_that_calls_it_ends_its_team(path: Path) -> None:
    agent = agent_of(calling(("search", {"query": "x"})), ending("bye"))
    result = run(panel(speaker("a"), agent, speaker("b")), path)
    assert texts(result) == ["a speaks", "bye"]
    assert ends(result) == ("terminate_tool", "agent")
    assert result.contributions[-1].tools == ("search", "terminate")
    assert result.usage.by_member["agent"].output_tokens > 0


def test_an_agent_that_gives_no_response_ends_with_what_it_said_beside_it(path: Path) -> None:
    agent = agent_of(calling(("terminate", {}), text="I am done."))
    assert texts(run(panel(agent), path)) == ["I am done."]


def test_an_agent_that_calls_other_tools_beside_it_ends_its_team(path: Path) -> None:
    both = calling(("search", {"query": "x"}), ("terminate", {"response": "bye"}))
    result = run(panel(agent_of(both, "The engine asks it again."), speaker("b")), path)
    assert (texts(result), ends(result)) == (["bye"], ("terminate_tool", "agent"))


def test_the_tools_of_an_agent_are_noted_though_it_goes_on(path: Path) -> None:
    result = run(panel(agent_of(calling(("search", {"query": "x"})), "words"), max_rounds=1), path)
    assert (texts(result), result.contributions[0].tools) == (["words"], ("search",))


def test_an_agent_in_a_step_of_a_flow_gives_the_response(path: Path) -> None:
    flow = Flow("f").step(agent_of(ending("bye"))).map(lambda text: text.upper())
    assert run(flow, path).output == "BYE"


def test_a_termination_is_known_after_a_crash_later_in_the_members_graph() -> None:
    failing = iter([True, False])

    def later(state: MessagesState) -> None:
        if next(failing):
            raise OSError("the disk is full")

    graph: Any = StateGraph(MessagesState)
    graph.add_node("agent", agent_of(calling(("search", {"query": "x"})), ending("bye")))
    graph.add_node("later", later)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "later")
    member = RosterEntry(name="m", block=graph.compile(name="g"))
    pattern = panel(member, speaker("b"), checkpointer=InMemorySaver())
    with pytest.raises(MemberError, match="the disk is full"):
        pattern.run("go", thread_id="t")
    result = pattern.resume("t")
    assert (texts(result), ends(result)) == (["bye"], ("terminate_tool", "m"))
    assert result.contributions[0].tools == ("search", "terminate")


def test_an_agent_that_remembers_a_termination_goes_on_in_the_next_run() -> None:
    replies: list[Reply] = [calling(("search", {"query": "x"})), ending("bye"), "words"]
    agent = agent_of(*replies, checkpointer=True)
    pattern = panel(agent, max_rounds=1, checkpointer=InMemorySaver())
    assert ends(pattern.run("go", thread_id="t")) == ("terminate_tool", "agent")
    again = pattern.run("go on", thread_id="t")
    assert (texts(again), ends(again)) == (["words"], ("max_rounds", None))
    assert again.contributions[0].tools == ()
    assert again.usage.by_member["agent"].output_tokens == 2  # of the second run alone


# --- the team


def team(model: ScriptedModel, **options: Any) -> Pattern[Any]:
    members = [{"name": "a"}, {"name": "b"}, {"name": "c"}]
    return panel(*members, model=model, tools=[terminate], **options)


def test_the_team_of_the_member_ends_and_keeps_what_was_said(path: Path) -> None:
    model = ScriptedModel(["first", ending("bye")])
    result = run(team(model), path)
    assert (texts(result), ends(result)) == (["first", "bye"], ("terminate_tool", "b"))
    assert [entry.tools for entry in result.contributions] == [(), ("terminate",)]
    assert (result.turns, [task.status for task in result.tasks]) == (2, ["completed"] * 2)
    model.assert_complete()


def test_the_referee_is_not_asked_and_the_synthesizer_is(path: Path) -> None:
    audited: list[int] = []

    def audit(turn: TurnInput) -> dict[str, str]:
        audited.append(turn.round)
        return {"critique": "hm"}

    model = ScriptedModel(["a", "b", "c", "a", "b", ending("bye")])
    result = run(
        team(
            model,
            referee=audit,
            synthesizer=lambda made: [entry.text for entry in made.contributions],
        ),
        path,
    )
    assert audited == [1]
    assert ends(result) == ("terminate_tool", "c")
    assert result.output == ["a", "b", "c", "a", "b", "bye"]


def test_it_comes_before_other_conditions(path: Path) -> None:
    model = ScriptedModel(["a", "b", ending("bye")])
    result = run(team(model, max_rounds=1, terminate_when=lambda ctx: True), path)
    assert ends(result) == ("terminate_tool", "c")


def test_a_member_with_a_schema_ends_the_team_with_its_response(path: Path) -> None:
    model = ScriptedModel([ending("no verdict")])
    block = generator("g", model=model, tools=[terminate], output_schema=Verdict)
    result = run(panel(RosterEntry(name="judge", block=block)), path)
    (entry,) = result.contributions
    assert (entry.text, entry.data) == ("no verdict", None)
    assert ends(result) == ("terminate_tool", "judge")


def test_a_member_with_a_time_limit_ends_the_team(path: Path) -> None:
    model = ScriptedModel(["first", ending("bye")])
    assert ends(run(team(model, turn_timeout=10), path)) == ("terminate_tool", "b")


def test_events_tell_of_the_termination_in_order(path: Path) -> None:
    told = events_of(team(ScriptedModel([ending("bye")])), path)
    seen = [facts for event in told if (facts := _facts(event))]
    assert seen == [
        ("called", "a", "terminate", {"response": "bye"}),
        ("returned", "a", "bye", "success"),
        ("completed", "a", "bye"),
        ("stopped", "terminate_tool", "a"),
    ]


def _facts(event: object) -> tuple[object, ...] | None:
    match event:
        case ToolCalled():
            return "called", event.agent_name, event.tool, event.args
        case ToolReturned():
            return "returned", event.agent_name, event.text, event.status
        case TurnCompleted():
            return "completed", event.agent_name, event.contribution.text
        case RunStopped():
            return "stopped", event.stop.reason, event.stop.by
        case _:
            return None


def test_a_termination_ends_one_run_and_not_the_next(path: Path) -> None:
    model = ScriptedModel([ending("bye"), *["words"] * 6])
    pattern = team(model)
    assert ends(run(pattern, path)) == ("terminate_tool", "a")
    assert ends(run(pattern, path)) == ("max_rounds", None)


def test_runs_at_once_end_each_for_itself() -> None:
    def reply(messages: Sequence[Any]) -> Any:
        stop = any("stop at once" in str(message.text) for message in messages)
        return ending("bye") if stop else "words"

    pattern = team(ScriptedModel(reply))

    async def both() -> list[Result[Any]]:
        runs: list[Awaitable[Result[Any]]] = [
            pattern.arun("stop at once") if number % 2 else pattern.arun("go")
            for number in range(20)
        ]
        return list(await asyncio.gather(*runs))

    reasons = [result.stop.reason for result in asyncio.run(both())]
    assert reasons == ["max_rounds", "terminate_tool"] * 10


def test_a_nested_team_ends_itself_and_the_outer_one_goes_on(path: Path) -> None:
    inner = panel(
        {"name": "i"},
        speaker("j"),
        name="inner",
        model=ScriptedModel([ending("inner bye")] * 2),
        tools=[terminate],
        synthesizer=lambda made: f"{len(made.contributions)} said",
    )
    result = run(panel(speaker("a"), inner, speaker("b")), path)
    assert texts(result) == ["a speaks", "1 said", "b speaks"] * 2
    assert ends(result) == ("max_rounds", None)
    assert {entry.tools for entry in result.contributions} == {()}


def test_an_agent_in_a_nested_team_ends_that_team_only(path: Path) -> None:
    inner = panel(
        agent_of(ending("bye")),
        speaker("j"),
        name="inner",
        synthesizer=lambda made: "|".join(entry.text for entry in made.contributions),
    )
    result = run(panel(inner, speaker("b"), max_rounds=1), path)
    assert (texts(result), ends(result)) == (["bye", "b speaks"], ("max_rounds", None))


def test_a_function_in_a_nested_team_does_not_reach_the_outer_one(path: Path) -> None:
    agent = agent_of(ending("bye"))

    def alone(turn: TurnInput) -> str:
        return str(agent.invoke({"messages": turn.messages})["messages"][-1].text)

    inner = panel(RosterEntry(name="i", block=alone), name="inner", max_rounds=1)
    result = run(panel(inner, speaker("b"), max_rounds=1), path)
    assert ends(result) == ("max_rounds", None)


def test_a_flow_is_no_team_and_its_steps_end_nothing(path: Path) -> None:
    model = ScriptedModel([ending("bye")])
    flow = Flow("f").step(generator("g", model=model, tools=[terminate])).map(str.upper)
    result = run(panel(RosterEntry(name="f", block=flow), speaker("b"), max_rounds=1), path)
    assert (texts(result), ends(result)) == (["BYE", "b speaks"], ("max_rounds", None))
