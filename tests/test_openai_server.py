from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import openai
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from tests.openai_server import (
    Dropped,
    Hang,
    HttpError,
    OpenAIServer,
    Refusal,
    Replies,
    ToolCalls,
    Truncated,
)


class Verdict(BaseModel):
    approved: bool
    reason: str


@tool
def search(query: str) -> str:
    """Look something up."""
    return query


def model_at(server: OpenAIServer, **options: Any) -> BaseChatModel:
    return ChatOpenAI(
        model="gpt-4o",
        base_url=server.base_url,
        api_key=SecretStr("x"),
        stream_usage=True,
        max_retries=0,
        **options,
    )


@asynccontextmanager
async def async_model_at(server: OpenAIServer) -> AsyncGenerator[BaseChatModel, None]:
    # The client that the engine keeps per process would outlive this test's event loop.
    async with httpx.AsyncClient() as client:
        yield model_at(server, http_async_client=client)


def streamed(replies: Replies, **bound: Any) -> tuple[list[AIMessageChunk], AIMessageChunk]:
    with OpenAIServer(replies) as server:
        chunks = list(model_at(server).stream("go", **bound))
    return chunks, sum(chunks[1:], chunks[0])


# --- text


def test_replies_are_given_in_order() -> None:
    with OpenAIServer(["one", "two"]) as server:
        model = model_at(server)
        assert [model.invoke("go").text, model.invoke("go").text] == ["one", "two"]


def test_a_function_answers_from_the_request() -> None:
    with OpenAIServer(lambda body: body["messages"][-1]["content"].upper()) as server:
        assert model_at(server).invoke("loud").text == "LOUD"


def test_the_requests_are_on_record_in_order() -> None:
    with OpenAIServer(["one", "two"]) as server:
        model = model_at(server)
        model.invoke("first")
        model.invoke("second", stop=["END"])
    assert [body["messages"][0]["content"] for body in server.requests] == ["first", "second"]
    assert (server.requests[1]["model"], server.requests[1]["stop"]) == ("gpt-4o", ["END"])


def test_a_text_streams_in_pieces() -> None:
    chunks, joined = streamed(["a longer answer, with ümlaut"])
    assert joined.text == "a longer answer, with ümlaut"
    assert len([chunk for chunk in chunks if chunk.text]) > 3


async def test_the_async_client_gets_the_text() -> None:
    with OpenAIServer(["one"]) as server:
        async with async_model_at(server) as model:
            assert (await model.ainvoke("go")).text == "one"


async def test_the_async_client_streams() -> None:
    with OpenAIServer(["one two"]) as server:
        async with async_model_at(server) as model:
            assert "".join([chunk.text async for chunk in model.astream("go")]) == "one two"


async def test_parallel_requests_are_answered_at_the_same_time() -> None:
    together = threading.Barrier(4, timeout=5)

    def reply(body: dict[str, Any]) -> str:
        together.wait()
        return str(body["messages"][0]["content"])

    with OpenAIServer(reply) as server:
        async with async_model_at(server) as model:
            answers = await asyncio.gather(*(model.ainvoke(str(number)) for number in range(4)))
    assert [answer.text for answer in answers] == ["0", "1", "2", "3"]


# --- usage


def test_a_plain_answer_has_usage() -> None:
    with OpenAIServer(["one"]) as server:
        usage = model_at(server).invoke("go").usage_metadata
    assert usage is not None
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0


def test_a_streamed_answer_has_usage_once_and_it_equals_the_plain_one() -> None:
    with OpenAIServer(["one", "one"]) as server:
        model = model_at(server)
        chunks, whole = list(model.stream("go")), model.invoke("go")
    reported = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    assert reported == [whole.usage_metadata]


def test_a_stream_has_no_usage_unless_it_is_asked_for() -> None:
    chunks, _ = streamed(["one"], stream_usage=False)
    assert not any(chunk.usage_metadata for chunk in chunks)


# --- tools and structured answers

TWO_CALLS = ToolCalls([("search", {"query": "a long query"}), ("search", {"query": "b"})])


def test_tool_calls_arrive() -> None:
    with OpenAIServer([TWO_CALLS]) as server:
        calls = model_at(server).bind_tools([search]).invoke("go").tool_calls
    assert [call["args"] for call in calls] == [{"query": "a long query"}, {"query": "b"}]
    assert server.requests[0]["tools"][0]["function"]["name"] == "search"


def test_tool_calls_stream_in_pieces() -> None:
    chunks, joined = streamed([TWO_CALLS])
    assert [call["args"] for call in joined.tool_calls] == [
        {"query": "a long query"},
        {"query": "b"},
    ]
    assert len([chunk for chunk in chunks if chunk.tool_call_chunks]) > 4


def test_a_structured_answer_arrives() -> None:
    with OpenAIServer([{"approved": True, "reason": "fine"}]) as server:
        answer = model_at(server).with_structured_output(Verdict).invoke("go")
    assert answer == Verdict(approved=True, reason="fine")
    assert server.requests[0]["response_format"]["type"] == "json_schema"


# The engine serialises the answer that it has just parsed, against a schema without it.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_a_structured_answer_streams() -> None:
    with OpenAIServer([{"approved": True, "reason": "fine"}]) as server:
        answers = list(model_at(server).with_structured_output(Verdict).stream("go"))
    assert answers[-1] == Verdict(approved=True, reason="fine")


async def test_an_async_structured_answer_arrives() -> None:
    with OpenAIServer([{"approved": True, "reason": "fine"}]) as server:
        async with async_model_at(server) as model:
            answer = await model.with_structured_output(Verdict).ainvoke("go")
    assert answer == Verdict(approved=True, reason="fine")


# --- what goes wrong


def test_an_error_arrives_with_its_message_and_headers() -> None:
    with (
        OpenAIServer([HttpError(429, "slow down", {"retry-after-ms": "5"})]) as server,
        pytest.raises(openai.RateLimitError, match="slow down") as raised,
    ):
        model_at(server).invoke("go")
    assert raised.value.response.headers["retry-after-ms"] == "5"


def test_an_error_arrives_on_a_streamed_request() -> None:
    with pytest.raises(openai.InternalServerError, match="overloaded"):
        streamed([HttpError(503, "overloaded")])


def test_the_connection_serves_on_after_an_error() -> None:
    with OpenAIServer([HttpError(429, "slow down"), "fine"]) as server:
        model = model_at(server)
        with pytest.raises(openai.RateLimitError):
            model.invoke("go")
        assert model.invoke("go").text == "fine"


def test_a_truncated_text_says_so() -> None:
    with OpenAIServer([Truncated("half a")]) as server:
        answer = model_at(server).invoke("go")
    assert (answer.text, answer.response_metadata["finish_reason"]) == ("half a", "length")


def test_a_truncated_structured_answer_is_an_error_of_the_client() -> None:
    with (
        OpenAIServer([Truncated('{"approved": tr')]) as server,
        pytest.raises(openai.LengthFinishReasonError),
    ):
        model_at(server).with_structured_output(Verdict).invoke("go")


def test_a_refusal_arrives_in_its_own_field() -> None:
    with OpenAIServer([Refusal("I will not")]) as server:
        answer = model_at(server).invoke("go")
    assert (answer.text, answer.additional_kwargs["refusal"]) == ("", "I will not")


def test_a_refusal_streams() -> None:
    # Read with the bare client: the engine loses a refusal that is streamed.
    with (
        OpenAIServer([Refusal("I will not")]) as server,
        openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client,
    ):
        stream = client.chat.completions.create(model="gpt-4o", messages=[], stream=True)
        pieces = [chunk.choices[0].delta.refusal or "" for chunk in stream]
    assert "".join(pieces) == "I will not"


def test_a_hanging_answer_runs_into_the_clients_timeout_and_does_not_hold_up_the_end() -> None:
    with OpenAIServer([Hang(3600)]) as server, pytest.raises(openai.APITimeoutError):
        model_at(server, timeout=0.05).invoke("go")


def test_after_hanging_the_connection_is_closed_without_an_answer() -> None:
    with OpenAIServer([Hang(0)]) as server, pytest.raises(openai.APIConnectionError):
        model_at(server).invoke("go")


def test_a_dropped_stream_breaks_off_after_some_text() -> None:
    received: list[str] = []
    with OpenAIServer([Dropped("a text that never ends")]) as server:
        stream = model_at(server).stream("go")
        with pytest.raises(openai.APIConnectionError):
            received.extend(chunk.text for chunk in stream)
    assert "".join(received) == "a text that "


def test_a_dropped_plain_answer_is_a_connection_error() -> None:
    with OpenAIServer([Dropped("a text")]) as server, pytest.raises(openai.APIConnectionError):
        model_at(server).invoke("go")


def test_a_server_without_a_reply_left_says_so_in_an_error_that_is_not_retried() -> None:
    with (
        OpenAIServer([]) as server,
        pytest.raises(openai.BadRequestError, match="request 1, but the server has 0"),
    ):
        model_at(server).invoke("go")


def test_a_failing_reply_function_is_an_error_of_the_api() -> None:
    with (
        OpenAIServer(lambda body: body["nonsense"]) as server,
        pytest.raises(openai.BadRequestError, match="KeyError"),
    ):
        model_at(server).invoke("go")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unknown_path_is_a_json_404(method: str) -> None:
    with OpenAIServer([]) as server:
        answer = httpx.request(method, f"{server.base_url}/models")
    assert answer.status_code == 404
    assert "/v1/models" in answer.json()["error"]["message"]


# --- the end


def test_closing_does_not_wait_for_a_client_that_keeps_its_connection() -> None:
    with httpx.Client() as client, OpenAIServer(["one"]) as server:
        model_at(server, http_client=client).invoke("go")


def test_no_thread_outlives_the_server() -> None:
    before = threading.active_count()
    with OpenAIServer(["one"]) as server:
        model_at(server).invoke("go")
    assert threading.active_count() == before
