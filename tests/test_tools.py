from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from pydantic import BaseModel

from flowcompose import (
    DefinitionError,
    Pattern,
    RosterEntry,
    RunError,
    capability,
    generator,
    round_robin,
)
from flowcompose.core.events import ToolCalled, ToolReturned
from flowcompose.core.exchange import MAX_TOOL_ROUNDS
from flowcompose.core.testing import ModelCall, Reply, ScriptedModel
from flowcompose.patterns.round_robin import create_referee, create_roster_agent


class Verdict(BaseModel):
    approved: bool
    reason: str


@tool
def search(query: str) -> str:
    """Look something up."""
    return f"found {query}"


@tool
async def fetch(url: str) -> str:
    """Get a page."""
    await asyncio.sleep(0)
    return f"page of {url}"


def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


@tool
def broken() -> str:
    """Never works."""
    msg = "the disk is full"
    raise OSError(msg)


def calling(*calls: tuple[str, Mapping[str, Any]]) -> AIMessage:
    return AIMessage(
        "",
        tool_calls=[
            tool_call(name=name, args=dict(args), id=f"c{number}")
            for number, (name, args) in enumerate(calls, 1)
        ],
    )


def panel_of(model: ScriptedModel, **options: Any) -> Pattern[Any]:
    given: dict[str, Any] = {"roster": [{"name": "a"}], "max_rounds": 1, "synthesizer": False}
    return round_robin(name="panel", model=model, **{**given, **options})


def tool_messages(call: ModelCall) -> list[ToolMessage]:
    return [message for message in call.messages if isinstance(message, ToolMessage)]


def offered(call: ModelCall) -> list[str]:
    return [each["function"]["name"] for each in call.kwargs.get("tools", ())]


def told(model: ScriptedModel) -> list[tuple[str, str]]:
    """What the last request says of the tools: status and text."""
    return [(message.status, str(message.text)) for message in tool_messages(model.calls[-1])]


# --- the loop


def test_a_member_calls_a_tool_and_speaks_of_what_it_found() -> None:
    model = ScriptedModel([calling(("search", {"query": "x"})), "It says: found x."])
    result = panel_of(model, tools=[search]).run("go")
    assert [entry.text for entry in result.contributions] == ["It says: found x."]
    assert told(model) == [("success", "found x")]
    model.assert_complete()


def test_the_request_goes_on_where_the_call_left_it() -> None:
    model = ScriptedModel([calling(("search", {"query": "x"})), "done"])
    panel_of(model, tools=[search]).run("go")
    first, second = model.calls
    assert second.messages[: len(first.messages)] == first.messages
    asked, answered = second.messages[len(first.messages) :]
    assert isinstance(asked, AIMessage)
    assert isinstance(answered, ToolMessage)
    assert asked.tool_calls[0]["id"] == answered.tool_call_id


def test_several_calls_of_one_answer_are_answered_in_their_order() -> None:
    calls = calling(("search", {"query": "x"}), ("count_words", {"text": "a b c"}))
    model = ScriptedModel([calls, "done"])
    panel_of(model, tools=[search, count_words]).run("go")
    assert told(model) == [("success", "found x"), ("success", "3")]
    assert [message.tool_call_id for message in tool_messages(model.calls[-1])] == ["c1", "c2"]


async def test_on_the_async_path_the_calls_of_one_answer_run_at_the_same_time() -> None:
    both = asyncio.Barrier(2)

    @tool
    async def meet(who: str) -> str:
        """Wait for the other."""
        await asyncio.wait_for(both.wait(), 5)
        return f"met {who}"

    model = ScriptedModel([calling(("meet", {"who": "x"}), ("meet", {"who": "y"})), "done"])
    await panel_of(model, tools=[meet]).arun("go")
    assert told(model) == [("success", "met x"), ("success", "met y")]


async def test_the_async_path_runs_sync_and_async_tools_and_plain_functions() -> None:
    calls = calling(
        ("search", {"query": "x"}), ("fetch", {"url": "u"}), ("count_words", {"text": "a b"})
    )
    model = ScriptedModel([calls, "done"])
    await panel_of(model, tools=[search, fetch, count_words]).arun("go")
    assert [text for _, text in told(model)] == ["found x", "page of u", "2"]


def test_answers_with_calls_may_follow_each_other() -> None:
    model = ScriptedModel([*[calling(("search", {"query": str(n)})) for n in range(3)], "done"])
    panel_of(model, tools=[search]).run("go")
    assert [text for _, text in told(model)] == ["found 0", "found 1", "found 2"]


def test_after_so_many_rounds_the_model_is_asked_without_tools() -> None:
    model = ScriptedModel([calling(("search", {"query": "x"}))] * MAX_TOOL_ROUNDS + ["enough"])
    result = panel_of(model, tools=[search]).run("go")
    assert result.contributions[0].text == "enough"
    assert [bool(offered(call)) for call in model.calls] == [True] * MAX_TOOL_ROUNDS + [False]
    assert len(tool_messages(model.calls[-1])) == MAX_TOOL_ROUNDS


def test_the_tokens_of_all_answers_count_for_the_turn() -> None:
    spent = UsageMetadata(input_tokens=10, output_tokens=2, total_tokens=12)
    asking = calling(("search", {"query": "x"})).model_copy(update={"usage_metadata": spent})
    model = ScriptedModel([asking, AIMessage("done", usage_metadata=spent)])
    usage = panel_of(model, tools=[search]).run("go").usage
    assert (usage.total_tokens, usage.by_member["a"].total_tokens) == (24, 24)


# --- what goes wrong is told to the model


FAILING: dict[str, tuple[tuple[str, Mapping[str, Any]], str]] = {
    "unknown": (("nowhere", {}), "no tool 'nowhere'; there is: search, broken"),
    "raising": (("broken", {}), "OSError: the disk is full"),
    "wrong arguments": (("search", {"question": "x"}), "query"),
}


@pytest.mark.parametrize("use", ["sync", "async"])
@pytest.mark.parametrize("failing", FAILING)
def test_a_call_that_fails_is_told_to_the_model(use: str, failing: str) -> None:
    call, expected = FAILING[failing]
    model = ScriptedModel([calling(call), "then without"])
    panel = panel_of(model, tools=[search, broken])
    result = panel.run("go") if use == "sync" else asyncio.run(panel.arun("go"))
    ((status, text),) = told(model)
    assert status == "error"
    assert expected in text
    assert result.contributions[0].text == "then without"


@pytest.mark.parametrize("use", ["sync", "async"])
def test_a_call_whose_arguments_are_no_json_is_told_to_the_model(use: str) -> None:
    unreadable = AIMessage(
        "",
        tool_calls=[tool_call(name="search", args={"query": "x"}, id="c1")],
        invalid_tool_calls=[invalid_tool_call(name="search", args='{"qu', id="c2", error="bad")],
    )
    model = ScriptedModel([unreadable, "then without"])
    panel = panel_of(model, tools=[search])
    result = panel.run("go") if use == "sync" else asyncio.run(panel.arun("go"))
    assert told(model) == [
        ("success", "found x"),
        ("error", 'the arguments are no JSON object: {"qu'),
    ]
    assert [message.tool_call_id for message in tool_messages(model.calls[-1])] == ["c1", "c2"]
    assert result.contributions[0].text == "then without"


def test_an_async_tool_under_a_sync_run_is_refused_before_anything_runs() -> None:
    model = ScriptedModel(["never asked"])
    with pytest.raises(RunError, match=r"async parts \(tool 'fetch' of .*\): use arun"):
        panel_of(model, tools=[fetch]).run("go")
    with pytest.raises(RunError, match="tool 'fetch' of 'alone' is async: use arun"):
        generator("alone", model=model, tools=[fetch]).invoke("go")
    assert model.calls == []


def test_one_failed_call_leaves_the_others_their_answers() -> None:
    model = ScriptedModel([calling(("broken", {}), ("search", {"query": "x"})), "done"])
    panel_of(model, tools=[search, broken]).run("go")
    assert [status for status, _ in told(model)] == ["error", "success"]


def test_a_tool_may_ask_a_person() -> None:
    @tool
    def approve(what: str) -> str:
        """Ask a person."""
        return f"the answer is {interrupt(what)}"

    model = ScriptedModel([*[calling(("approve", {"what": "ship?"}))] * 2, "shipped"])
    panel = panel_of(model, tools=[approve], checkpointer=InMemorySaver())
    waiting = panel.run("go", thread_id="t")
    assert (waiting.stop.reason, waiting.interrupts) == ("interrupted", ["ship?"])
    assert panel.resume("t", "yes").contributions[0].text == "shipped"
    assert told(model) == [("success", "the answer is yes")]


# --- who gets the tools


def test_default_members_and_the_synthesizer_get_the_tools() -> None:
    model = ScriptedModel(lambda _: "words")
    roster = [{"name": "a"}, {"name": "b"}]
    panel_of(model, roster=roster, tools=[search], synthesizer=None).run("go")
    assert [(call.agent_name, offered(call)) for call in model.calls] == [
        ("a", ["search"]),
        ("b", ["search"]),
        ("synthesizer", ["search"]),
    ]


def test_blocks_of_ones_own_do_not_get_the_patterns_tools() -> None:
    model = ScriptedModel(lambda _: "words")
    roster = [
        RosterEntry(name="a", block=generator("a", tools=[count_words])),
        RosterEntry(name="b", block=create_roster_agent(agent_name="b")),
    ]
    panel_of(model, roster=roster, tools=[search]).run("go")
    assert [offered(call) for call in model.calls] == [["count_words"], []]


def test_a_capability_brings_its_tools() -> None:
    model = ScriptedModel([calling(("count_words", {"text": "a b"})), "two"])
    uses = [capability("counting", tools=[count_words])]
    panel_of(model, tools=[search], uses=uses).run("go")
    assert offered(model.calls[0]) == ["search", "count_words"]
    assert told(model) == [("success", "2")]


def test_a_tool_that_comes_twice_is_offered_once() -> None:
    model = ScriptedModel(["words"])
    uses = [capability("one", tools=[search]), capability("two", tools=[search, count_words])]
    panel_of(model, tools=[count_words], uses=uses).run("go")
    assert offered(model.calls[0]) == ["count_words", "search"]


# --- what a tool may be


class Nothing:
    pass


def undocumented(text: str) -> str:
    return text


def ill_typed(text: str) -> str:
    """Look."""
    return text


ill_typed.__annotations__["text"] = "Nowhere"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (undocumented, "docstring"),
        (ill_typed, "Nowhere"),
        (Nothing, "a tool is a LangChain tool or a function with a docstring"),
        ("search", "a tool is a LangChain tool or a function with a docstring"),
    ],
)
def test_what_cannot_be_a_tool_is_a_definition_error(given: Any, expected: str) -> None:
    with pytest.raises(DefinitionError, match=expected):
        panel_of(ScriptedModel([]), tools=[given])


@tool("search")
def other_search(query: str) -> str:
    """Look elsewhere."""
    return query


DEFINITIONS: dict[str, Callable[[], object]] = {
    "tools": lambda: generator("g", tools=[search, other_search]),
    "tools and uses": lambda: generator(
        "g", tools=[search], uses=[capability("c", tools=[other_search])]
    ),
    "one capability": lambda: capability("c", tools=[search, other_search]),
    "two capabilities": lambda: panel_of(
        ScriptedModel([]),
        uses=[capability("c", tools=[search]), capability("d", tools=[other_search])],
    ),
}


@pytest.mark.parametrize("where", DEFINITIONS)
def test_two_tools_of_one_name_are_a_definition_error(where: str) -> None:
    with pytest.raises(DefinitionError, match="duplicate tool name 'search'"):
        DEFINITIONS[where]()


# --- events


def test_events_tell_who_called_which_tool_and_when() -> None:
    looking: list[Reply] = [
        calling(("search", {"query": "x"})),
        "b",
        calling(("broken", {})),
        "a",
        "b",
    ]
    panel = panel_of(
        ScriptedModel(["a", *looking]),
        roster=[{"name": "a"}, {"name": "b"}],
        tools=[search, broken],
        max_rounds=2,
    )
    seen = [e for e in panel.events("go") if isinstance(e, ToolCalled | ToolReturned)]
    called, returned, failing, failed = seen
    assert (called.agent_name, called.round, called.turn) == ("b", 1, 2)
    assert (failed.agent_name, failed.round, failed.turn) == ("a", 2, 3)
    assert isinstance(called, ToolCalled)
    assert (called.tool, called.args) == ("search", {"query": "x"})
    assert isinstance(returned, ToolReturned)
    assert (returned.tool, returned.text, returned.status) == ("search", "found x", "success")
    assert isinstance(failing, ToolCalled)
    assert isinstance(failed, ToolReturned)
    assert (failed.text, failed.status) == ("OSError: the disk is full", "error")


async def test_events_of_tools_come_on_the_async_path_too() -> None:
    model = ScriptedModel([calling(("search", {"query": "x"}), ("fetch", {"url": "u"})), "done"])
    panel = panel_of(model, tools=[search, fetch])
    seen = [event async for event in panel.aevents("go")]
    assert [e.tool for e in seen if isinstance(e, ToolCalled)] == ["search", "fetch"]
    assert sorted(e.text for e in seen if isinstance(e, ToolReturned)) == ["found x", "page of u"]
    assert {e.agent_name for e in seen if isinstance(e, ToolCalled | ToolReturned)} == {"a"}


def test_the_synthesizers_tool_calls_bear_its_name() -> None:
    model = ScriptedModel(["words", calling(("search", {"query": "x"})), "done"])
    panel = panel_of(model, tools=[search], synthesizer=None)
    assert [e.agent_name for e in panel.events("go") if isinstance(e, ToolCalled)] == [
        "synthesizer"
    ]


# --- tools and a schema


def test_with_a_schema_the_tools_are_used_before_the_answer_is_given_its_form() -> None:
    verdict = {"approved": True, "reason": "found x"}
    model = ScriptedModel(["words", calling(("search", {"query": "x"})), "I approve.", verdict])
    output = panel_of(model, tools=[search], synthesizer=None, output_schema=Verdict).run("go")
    assert output.output == Verdict(approved=True, reason="found x")
    assert [offered(call) for call in model.calls[1:]] == [["search"], ["search"], ["Verdict"]]


def test_what_the_tools_found_is_in_the_request_for_the_form() -> None:
    verdict = {"approved": True, "reason": "found x"}
    model = ScriptedModel(["words", calling(("search", {"query": "x"})), "I approve.", verdict])
    panel_of(model, tools=[search], synthesizer=None, output_schema=Verdict).run("go")
    before, last = model.calls[2], model.calls[3]
    assert last.messages[: len(before.messages)] == before.messages
    assert told(model) == [("success", "found x")]
    assert last.messages[-2].text == "I approve."


async def test_a_referee_with_tools_gives_its_critique_after_using_them() -> None:
    model = ScriptedModel(
        ["words", calling(("fetch", {"url": "u"})), "No support.", {"critique": "No support."}]
    )
    panel = panel_of(model, referee=create_referee(tools=[fetch]))
    result = await panel.arun("go")
    assert [critique.critique for critique in result.referee_critiques] == ["No support."]
    model.assert_complete()
