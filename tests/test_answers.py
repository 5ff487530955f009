"""An answer is read the same way, whether it comes whole or in pieces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

from flowcompose.runner.agents.endpoint import Endpoint, model_for
from flowcompose.runner.manifest import load_text
from tests.loopback import Answer, Loopback, Request
from tests.openai_server import OpenAIServer
from tests.openai_wire import Refusal, ToolCalls

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}

Asking = Callable[[BaseChatModel], AIMessage]


def whole(model: BaseChatModel) -> AIMessage:
    return model.invoke("Hi")


def streamed(model: BaseChatModel) -> AIMessage:
    return model.invoke("Hi", stream=True)


def streamed_in_a_loop(model: BaseChatModel) -> AIMessage:
    return asyncio.run(model.ainvoke("Hi", stream=True))


WAYS = pytest.mark.parametrize("ask", [whole, streamed, streamed_in_a_loop])


def model_at(url: str) -> BaseChatModel:
    return model_for(load_text(""), None, Endpoint(base_url=url, api_key="none"), None)


def serving(*choices: dict[str, Any]) -> Loopback:
    """A server whose answer has these choices, each in one piece if it is streamed."""

    def reply(request: Request) -> Answer:
        head = {"id": "c", "created": 1, "model": "m"}
        if not request.json().get("stream"):
            body = {**head, "object": "chat.completion", "choices": choices, "usage": USAGE}
            return Answer(200, json.dumps(body).encode(), {"content-type": "application/json"})
        head["object"] = "chat.completion.chunk"
        deltas = [
            {"index": each["index"], "delta": each["message"], "finish_reason": None}
            for each in choices
        ]
        events: list[dict[str, Any]] = [
            *({**head, "choices": [each]} for each in deltas),
            {**head, "choices": [], "usage": USAGE},
        ]
        text = "".join(f"data: {json.dumps(each)}\n\n" for each in events) + "data: [DONE]\n\n"
        return Answer(200, text.encode(), {"content-type": "text/event-stream"})

    return Loopback(reply)


def choice(index: int = 0, **message: Any) -> dict[str, Any]:
    return {"index": index, "message": {"role": "assistant", **message}, "finish_reason": "stop"}


@WAYS
@pytest.mark.parametrize("arguments", ['{"text": "cut off he', "[1]", "[]", '"a"', "{bad", "5"])
def test_arguments_that_are_no_whole_object_call_nothing(ask: Asking, arguments: str) -> None:
    with OpenAIServer([ToolCalls([("noop", arguments)])]) as server:
        said = ask(model_at(server.base_url))
    assert bool(server.requests[0].get("stream")) is (ask is not whole)
    assert said.tool_calls == []
    (call,) = said.invalid_tool_calls
    assert (call["name"], call["args"], call["id"]) == ("noop", arguments, "call_1")
    assert said.usage_metadata
    assert said.usage_metadata["total_tokens"] > 0


@WAYS
@pytest.mark.parametrize(
    ("arguments", "read"), [("null", {}), ("", {}), ('{"a": "x\ny"}', {"a": "x\ny"})]
)
def test_arguments_may_be_null(ask: Asking, arguments: str, read: dict[str, Any]) -> None:
    with OpenAIServer([ToolCalls([("noop", arguments)])]) as server:
        said = ask(model_at(server.base_url))
    assert [(each["name"], each["args"]) for each in said.tool_calls] == [("noop", read)]
    assert said.invalid_tool_calls == []


@WAYS
def test_a_call_that_is_cut_off_does_not_hide_the_others(ask: Asking) -> None:
    calls = ToolCalls([("one", {"a": 1}), ("two", '{"b'), ("three", {})])
    with OpenAIServer([calls]) as server:
        said = ask(model_at(server.base_url))
    assert [each["name"] for each in said.tool_calls] == ["one", "three"]
    assert [each["name"] for each in said.invalid_tool_calls] == ["two"]


@WAYS
def test_a_call_without_an_id_or_a_number_gets_one(ask: Asking) -> None:
    call = {"type": "function", "function": {"name": "noop", "arguments": "{}"}}
    with serving(choice(content=None, tool_calls=[call])) as server:
        said = ask(model_at(server.url))
    assert [each["name"] for each in said.tool_calls] == ["noop"]
    assert said.tool_calls[0]["id"]


@WAYS
def test_an_answer_without_a_choice_is_an_error(ask: Asking) -> None:
    with serving() as server, pytest.raises(ValueError, match="received empty response"):
        ask(model_at(server.url))


@WAYS
def test_of_several_choices_the_first_counts(ask: Asking) -> None:
    with serving(choice(content="one"), choice(1, content="two")) as server:
        assert ask(model_at(server.url)).text == "one"


@WAYS
def test_a_refusal_is_kept(ask: Asking) -> None:
    with OpenAIServer([Refusal("I would rather not.")]) as server:
        said = ask(model_at(server.base_url))
    assert said.additional_kwargs["refusal"] == "I would rather not."
