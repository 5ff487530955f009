from __future__ import annotations

import asyncio
import copy
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import (
    create_agent,  # pyright: ignore[reportUnknownVariableType] - a type parameter is left open
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] - it is typed inline
    START,
    MessagesState,
    StateGraph,
)
from pydantic import BaseModel, Field

from flowcompose.core.testing import ScriptedModel, ScriptExhausted


class Verdict(BaseModel):
    """What the referee found."""

    approved: bool
    reason: str = Field(alias="why")


VERDICT = {"approved": True, "why": "sources hold"}


@tool
def search(query: str) -> str:
    """Look something up."""
    return f"found {query}"


def as_agent(name: str, **metadata: Any) -> RunnableConfig:
    return {"metadata": {"agent_name": name, **metadata}}


def streamed(model: ScriptedModel, **kwargs: Any) -> tuple[list[AIMessageChunk], AIMessageChunk]:
    chunks = list(model.stream("go", **kwargs))
    return chunks, sum(chunks[1:], chunks[0])


# --- who is answered, and in which order


def test_replies_come_in_the_order_they_were_written() -> None:
    model = ScriptedModel(["first", "second"])
    assert [model.invoke("go").text, model.invoke("go").text] == ["first", "second"]


async def test_the_async_path_goes_on_with_the_same_script() -> None:
    model = ScriptedModel(["first", "second"])
    assert [model.invoke("go").text, (await model.ainvoke("go")).text] == ["first", "second"]


def test_each_agent_gets_its_own_replies_in_any_order_of_calls() -> None:
    model = ScriptedModel(by_agent={"writer": ["draft"], "referee": ["fine"]})
    assert model.invoke("go", as_agent("referee")).text == "fine"
    assert model.invoke("go", as_agent("writer")).text == "draft"


def test_a_streamed_call_finds_its_agent_too() -> None:
    model = ScriptedModel(by_agent={"writer": ["a draft"]})
    assert "".join(chunk.text for chunk in model.stream("go", as_agent("writer"))) == "a draft"


async def test_an_async_streamed_call_finds_its_agent_too() -> None:
    model = ScriptedModel(by_agent={"writer": ["a draft"]})
    chunks = [chunk.text async for chunk in model.astream("go", as_agent("writer"))]
    assert "".join(chunks) == "a draft"


def message_graph(model: BaseChatModel) -> Any:
    call: RunnableConfig = {"metadata": {"round": 2}}

    def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"], call)]}

    async def aspeak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"], call)]}

    builder: Any = StateGraph(MessagesState)
    node = RunnableLambda(speak, aspeak)
    builder.add_node("speak", node, metadata={"agent_name": "writer"})
    builder.add_edge(START, "speak")
    return builder.compile()


def test_a_call_inside_a_node_that_the_engine_streams_carries_node_and_call_metadata() -> None:
    model = ScriptedModel(by_agent={"writer": ["a draft"]})
    stream = message_graph(model).stream({"messages": ["go"]}, stream_mode="messages")
    assert "".join(chunk.text for chunk, _ in stream) == "a draft"
    assert (model.calls[0].agent_name, model.calls[0].metadata["round"]) == ("writer", 2)


async def test_an_async_call_inside_a_streamed_node_carries_node_and_call_metadata() -> None:
    model = ScriptedModel(by_agent={"writer": ["a draft"]})
    stream = message_graph(model).astream({"messages": ["go"]}, stream_mode="messages")
    assert "".join([chunk.text async for chunk, _ in stream]) == "a draft"
    assert (model.calls[0].agent_name, model.calls[0].metadata["round"]) == ("writer", 2)


def test_metadata_of_a_finished_stream_does_not_reach_the_next_call() -> None:
    model = ScriptedModel(["one two", "three"])
    half_read = model.stream("go", as_agent("writer"))
    next(half_read)
    list(model.stream("go"))
    assert [call.agent_name for call in model.calls] == ["writer", None]


def test_the_models_own_metadata_names_the_agent() -> None:
    model = ScriptedModel(by_agent={"writer": ["draft"]}, metadata={"agent_name": "writer"})
    assert [chunk.text for chunk in model.stream("go")] == ["draft"]


# --- what a reply may be


def test_a_function_answers_every_call_from_its_messages() -> None:
    model = ScriptedModel(lambda messages: f"heard {messages[-1].text}")
    assert [model.invoke(word).text for word in ("a", "b")] == ["heard a", "heard b"]


def test_an_agents_script_may_be_a_function() -> None:
    model = ScriptedModel(by_agent={"writer": lambda messages: messages[-1].text.upper()})
    assert model.invoke("go", as_agent("writer")).text == "GO"


def test_one_reply_of_a_list_may_be_a_function() -> None:
    model = ScriptedModel(["first", lambda messages: f"heard {messages[-1].text}"])
    assert [model.invoke("go").text for _ in range(2)] == ["first", "heard go"]


def test_a_function_with_kwargs_gets_what_was_bound() -> None:
    def reply(messages: list[BaseMessage], **kwargs: Any) -> str:
        return ", ".join(item["function"]["name"] for item in kwargs["tools"])

    assert ScriptedModel(reply).bind_tools([search]).invoke("go").text == "search"


@pytest.mark.parametrize("failure", [TimeoutError("too slow"), TimeoutError])
def test_an_exception_is_raised(failure: Exception | type[Exception]) -> None:
    with pytest.raises(TimeoutError):
        ScriptedModel([failure]).invoke("go")


def test_an_exception_is_raised_from_a_stream() -> None:
    with pytest.raises(TimeoutError, match="too slow"):
        list(ScriptedModel([TimeoutError("too slow")]).stream("go"))


def test_a_message_is_sent_as_it_is_and_can_be_used_again() -> None:
    reply = AIMessage("see", tool_calls=[tool_call(name="search", args={"query": "x"}, id="c1")])
    before = reply.model_copy(deep=True)
    model = ScriptedModel([reply, reply])
    answers = [model.invoke("go"), model.invoke("go")]
    assert [answer.tool_calls for answer in answers] == [before.tool_calls] * 2
    assert answers[0].id != answers[1].id
    assert reply == before


def test_a_reply_of_another_type_is_named_in_the_error() -> None:
    reply: Any = 42
    with pytest.raises(TypeError, match=r"a reply must be str, dict.* not 42"):
        ScriptedModel([reply]).invoke("go")


# --- structured answers


@pytest.mark.parametrize("reply", [VERDICT, Verdict(approved=True, why="sources hold")])
def test_a_structured_request_gives_the_model(reply: dict[str, Any] | Verdict) -> None:
    answer = ScriptedModel([reply]).with_structured_output(Verdict).invoke("go")
    assert answer == Verdict(approved=True, why="sources hold")


async def test_an_async_structured_request_gives_the_model() -> None:
    answer = await ScriptedModel([VERDICT]).with_structured_output(Verdict).ainvoke("go")
    assert answer == Verdict(approved=True, why="sources hold")


def test_a_structured_request_by_json_schema_gives_a_dict() -> None:
    schema = {"title": "verdict", "type": "object", "properties": {"ok": {"type": "boolean"}}}
    assert ScriptedModel([{"ok": True}]).with_structured_output(schema).invoke("go") == {"ok": True}


def test_include_raw_gives_the_message_and_what_was_parsed() -> None:
    structured = ScriptedModel([VERDICT]).with_structured_output(Verdict, include_raw=True)
    answer: Any = structured.invoke("go")
    assert answer["parsed"] == Verdict(approved=True, why="sources hold")
    assert answer["raw"].tool_calls[0]["name"] == "Verdict"
    assert answer["parsing_error"] is None


def test_a_wrong_structured_answer_is_a_parsing_error() -> None:
    structured = ScriptedModel([{"approved": True}]).with_structured_output(
        Verdict, include_raw=True
    )
    answer: Any = structured.invoke("go")
    assert answer["parsed"] is None
    assert "why" in str(answer["parsing_error"])


def test_a_structured_answer_streams() -> None:
    final = list(ScriptedModel([VERDICT]).with_structured_output(Verdict).stream("go"))[-1]
    assert final == Verdict(approved=True, why="sources hold")


def test_a_structured_reply_without_a_forced_tool_is_json_text() -> None:
    model = ScriptedModel([VERDICT, Verdict(approved=True, why="sources hold")])
    texts = [model.bind_tools([search]).invoke("go").text for _ in range(2)]
    assert texts == ['{"approved": true, "why": "sources hold"}'] * 2


@pytest.mark.parametrize("choice", ["Verdict", {"function": {"name": "Verdict"}}])
def test_a_structured_reply_calls_the_tool_that_was_chosen(choice: str | dict[str, Any]) -> None:
    bound = ScriptedModel([VERDICT]).bind_tools([Verdict, search]).bind(tool_choice=choice)
    assert bound.invoke("go").tool_calls[0]["name"] == "Verdict"


def test_among_several_forced_tools_the_answer_calls_the_one_that_fits() -> None:
    bound = ScriptedModel([{"query": "x"}]).bind_tools([search, Verdict], tool_choice="any")
    assert bound.invoke("go").tool_calls[0]["name"] == "search"


def test_the_same_request_gives_the_same_tool_call_id() -> None:
    bound = ScriptedModel([{"query": "x"}] * 2).bind_tools([search], tool_choice="any")
    assert bound.invoke("go").tool_calls == bound.invoke("go").tool_calls


def test_an_agent_of_langchain_runs_its_tools_and_gives_its_structured_answer() -> None:
    call = AIMessage("", tool_calls=[tool_call(name="search", args={"query": "x"}, id="c1")])
    model = ScriptedModel([call, VERDICT])
    agent: Any = create_agent(  # pyright: ignore[reportUnknownVariableType] - as above
        model, [search], response_format=ToolStrategy(Verdict)
    )
    state = agent.invoke({"messages": [HumanMessage("go")]})
    assert state["structured_response"] == Verdict(approved=True, why="sources hold")
    assert "found x" in [message.text for message in state["messages"]]
    model.assert_complete()


# --- streams


@pytest.mark.parametrize("text", ["one two  three\nfour ", "", " ", "word"])
@pytest.mark.parametrize("size", [None, 1, 4])
def test_stream_and_invoke_give_equal_text(text: str, size: int | None) -> None:
    model = ScriptedModel([text, text], chunk_size=size)
    assert streamed(model)[1].text == model.invoke("go").text == text


def test_a_text_streams_word_by_word() -> None:
    chunks, _ = streamed(ScriptedModel(["one two three"]))
    assert [chunk.text for chunk in chunks] == ["one ", "two ", "three"]


def test_chunk_size_cuts_a_text_into_slices() -> None:
    chunks, _ = streamed(ScriptedModel(["abcde"], chunk_size=2))
    assert [chunk.text for chunk in chunks] == ["ab", "cd", "e"]


async def test_the_async_stream_gives_the_same_chunks() -> None:
    chunks = [chunk async for chunk in ScriptedModel(["one two"]).astream("go")]
    assert [chunk.text for chunk in chunks] == ["one ", "two"]
    assert [chunk.usage_metadata is None for chunk in chunks] == [True, False]


def test_a_tool_call_streams_in_chunks_and_joins_to_the_same_call() -> None:
    calls = [
        tool_call(name="search", args={"query": "two words"}, id="c1"),
        tool_call(name="search", args={"query": "more"}, id="c2"),
    ]
    chunks, joined = streamed(ScriptedModel([AIMessage("I look", tool_calls=calls)], chunk_size=3))
    assert len([chunk for chunk in chunks if chunk.tool_call_chunks]) > 2
    assert (joined.text, joined.tool_calls) == ("I look", calls)


def test_content_blocks_stream_as_they_are() -> None:
    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": "one two"}]
    _, joined = streamed(ScriptedModel([AIMessage(blocks)]))
    assert joined.content == blocks


def test_usage_comes_once_with_the_last_chunk() -> None:
    chunks, joined = streamed(ScriptedModel(["one two three"]))
    assert [chunk.usage_metadata is None for chunk in chunks] == [True, True, False]
    assert joined.usage_metadata == chunks[-1].usage_metadata


# --- usage


def test_usage_is_counted_from_the_characters() -> None:
    usage = ScriptedModel(["12345"]).invoke("1234567890").usage_metadata
    assert usage == {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}


def test_stream_and_invoke_cost_the_same() -> None:
    model = ScriptedModel(["one two", "one two"])
    assert streamed(model)[1].usage_metadata == model.invoke("go").usage_metadata


def test_a_message_with_its_own_usage_keeps_it() -> None:
    own = UsageMetadata(input_tokens=7, output_tokens=1, total_tokens=8)
    assert ScriptedModel([AIMessage("x", usage_metadata=own)]).invoke("go").usage_metadata == own


def test_the_engines_usage_callback_counts_the_answers() -> None:
    with get_usage_metadata_callback() as counted:
        ScriptedModel(["12345"]).invoke("1234")
    assert counted.usage_metadata["scripted"]["total_tokens"] == 3


# --- the record of calls


def test_every_request_is_on_record() -> None:
    model = ScriptedModel(["a"])
    model.bind_tools([search], tool_choice="auto").invoke(
        "go", as_agent("writer", round=2, turn=5), stop=["END"]
    )
    (call,) = model.calls
    assert [message.text for message in call.messages] == ["go"]
    assert call.kwargs["tools"][0]["function"]["name"] == "search"
    assert (call.kwargs["tool_choice"], call.kwargs["stop"]) == ("auto", ["END"])
    assert (call.agent_name, call.metadata["round"], call.metadata["turn"]) == ("writer", 2, 5)


def test_a_streamed_request_is_on_record() -> None:
    model = ScriptedModel(["a"])
    list(model.stream("go", as_agent("writer", round=2), stop=["END"]))
    (call,) = model.calls
    assert (call.agent_name, call.metadata["round"]) == ("writer", 2)
    assert call.kwargs == {"stop": ["END"]}


def test_bound_arguments_are_on_record() -> None:
    model = ScriptedModel(["a"])
    model.bind(response_format={"type": "json_object"}).invoke("go")
    assert model.calls[0].kwargs == {"response_format": {"type": "json_object"}}


def test_a_failed_request_is_on_record() -> None:
    model = ScriptedModel([TimeoutError()])
    with pytest.raises(TimeoutError):
        model.invoke("go")
    assert len(model.calls) == 1


@pytest.mark.parametrize("deep", [False, True])
def test_a_copy_goes_on_with_the_same_script(deep: bool) -> None:
    model = ScriptedModel(["first", "second"])
    twin = copy.deepcopy(model) if deep else model.model_copy(update={"chunk_size": 1})
    assert [model.invoke("go").text, twin.invoke("go").text] == ["first", "second"]
    assert len(model.calls) == 2


def test_two_models_do_not_share_their_calls() -> None:
    one, other = ScriptedModel(["a"]), ScriptedModel(["a"])
    one.invoke("go")
    assert (len(one.calls), len(other.calls)) == (1, 0)


def test_parallel_threads_get_every_reply_once() -> None:
    replies = [str(number) for number in range(200)]
    model = ScriptedModel(replies)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(model.invoke, replies))
    assert sorted(answer.text for answer in answers) == sorted(replies)
    model.assert_complete()


# --- scripts that do not fit


def test_a_script_that_runs_out_says_who_asked_and_what_for() -> None:
    model = ScriptedModel(by_agent={"writer": ["draft"]})
    model.invoke("go", as_agent("writer"))
    expected = r"agent 'writer' asked for reply 2, but the script holds 1.* 'please revise'"
    with pytest.raises(ScriptExhausted, match=expected):
        model.invoke("please revise", as_agent("writer"))


def test_a_script_that_runs_out_shows_only_the_end_of_a_long_message() -> None:
    with pytest.raises(ScriptExhausted) as raised:
        ScriptedModel([]).invoke("x" * 5000 + " the end")
    assert "the end" in str(raised.value)
    assert len(str(raised.value)) < 400


def test_running_out_is_a_failed_assertion() -> None:
    with pytest.raises(AssertionError):
        ScriptedModel([]).invoke("go")


def test_an_unknown_agent_is_told_which_agents_there_are() -> None:
    model = ScriptedModel(by_agent={"writer": ["a"], "referee": ["b"]})
    expected = "agent 'critic' has no replies in by_agent; known agents: 'writer', 'referee'"
    with pytest.raises(AssertionError, match=expected):
        model.invoke("go", as_agent("critic"))


def test_a_call_without_a_name_is_told_which_agents_there_are() -> None:
    with pytest.raises(AssertionError, match=r"without agent_name .* known agents: 'writer'"):
        ScriptedModel(by_agent={"writer": ["a"]}).invoke("go")


def test_assert_complete_passes_when_everything_was_said() -> None:
    model = ScriptedModel(by_agent={"writer": ["a"], "critic": lambda _: "b"})
    model.invoke("go", as_agent("writer"))
    model.assert_complete()


def test_assert_complete_shows_the_replies_left_over_per_agent() -> None:
    model = ScriptedModel(by_agent={"writer": ["a", "never said"], "critic": ["nor this"]})
    model.invoke("go", as_agent("writer"))
    with pytest.raises(AssertionError) as raised:
        model.assert_complete()
    assert "agent 'writer': 1 of 2 replies left over:\n    'never said'" in str(raised.value)
    assert "agent 'critic': 1 of 1 replies left over:\n    'nor this'" in str(raised.value)


def test_assert_complete_tells_of_calls_that_found_no_reply() -> None:
    model = ScriptedModel([])
    with pytest.raises(ScriptExhausted):
        model.invoke("go")
    with pytest.raises(AssertionError, match="asked for reply 1, but the script holds 0"):
        model.assert_complete()


def test_replies_and_by_agent_exclude_each_other() -> None:
    with pytest.raises(TypeError, match="one of the two"):
        ScriptedModel(["a"], by_agent={"writer": ["b"]})


def test_a_bare_text_is_not_taken_for_a_list_of_letters() -> None:
    with pytest.raises(TypeError, match="must be a list of replies or a function, not 'hello'"):
        ScriptedModel("hello")


# --- latency


def test_latency_is_spent_on_every_sync_call(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    model = ScriptedModel(["a", "b"], latency=0.5)
    model.invoke("go")
    list(model.stream("go"))
    assert slept == [0.5, 0.5]


async def test_latency_does_not_block_the_event_loop() -> None:
    model = ScriptedModel(["a"], latency=3600)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(model.ainvoke("go"), 0.01)
