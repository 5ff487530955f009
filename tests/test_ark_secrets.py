"""Ways by which a model, a server or a tool repeats a secret, other than in plain words."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.outputs.chat_generation import merge_chat_generation_chunks
from openai.types.chat import ChatCompletion

from flowcompose.runner.agents.chat import EndpointChat
from flowcompose.runner.agents.hushing import ahushed_pieces, hushed, hushed_pieces
from flowcompose.runner.secrets import Redactor

SECRET = "s3cr3t-of-the-vault"

Hush = Callable[[list[ChatGenerationChunk], Redactor], list[ChatGenerationChunk]]


def hush(pieces: list[ChatGenerationChunk], redactor: Redactor) -> list[ChatGenerationChunk]:
    return list(hushed_pieces(iter(pieces), redactor))


def ahush(pieces: list[ChatGenerationChunk], redactor: Redactor) -> list[ChatGenerationChunk]:
    async def given() -> AsyncIterator[ChatGenerationChunk]:
        for each in pieces:
            yield each

    async def heard() -> list[ChatGenerationChunk]:
        return [each async for each in ahushed_pieces(given(), redactor)]

    return asyncio.run(heard())


both = pytest.mark.parametrize("how", [hush, ahush])


def piece(content: Any = "", reason: str | None = None, **more: Any) -> ChatGenerationChunk:
    info = {"finish_reason": reason} if reason else None
    return ChatGenerationChunk(
        message=AIMessageChunk(content=content, **more), generation_info=info
    )


def called(arguments: str) -> dict[str, Any]:
    return {"name": "t", "args": arguments, "id": "c", "index": 0, "type": "tool_call_chunk"}


def whole(pieces: list[ChatGenerationChunk]) -> AIMessage:
    merged = merge_chat_generation_chunks(pieces)
    assert merged is not None
    assert isinstance(merged.message, AIMessage)
    return merged.message


@both
def test_a_secret_around_the_call_of_a_tool_is_not_heard(how: Hush) -> None:
    pieces = [
        piece("It is s3cr3t"),
        piece(tool_call_chunks=[called('{"a": ')]),
        piece("-of-the-vault."),
        piece(tool_call_chunks=[called("1}")]),
        piece(reason="tool_calls"),
    ]
    message = whole(how(pieces, Redactor([SECRET])))
    assert message.content == "It is ***."
    assert [each["args"] for each in message.tool_calls] == [{"a": 1}]


@both
def test_a_secret_around_the_reason_of_the_end_is_not_heard(how: Hush) -> None:
    pieces = [piece("s3cr3t", reason="stop"), piece("-of-the-vault"), piece(chunk_position="last")]
    assert whole(how(pieces, Redactor([SECRET]))).content == "***"


@both
def test_a_secret_in_pieces_of_a_part_is_not_heard(how: Hush) -> None:
    """The Responses API gives a text so, which some models speak only."""
    texts = ("It is s3c", "r3t-of-the", "-vault, or s3c")
    pieces = [piece([{"type": "text", "text": each, "index": 1}]) for each in texts]
    message = whole(how([*pieces, piece([], chunk_position="last")], Redactor([SECRET])))
    assert message.content == [{"type": "text", "text": "It is ***, or s3c", "index": 1}]


@both
def test_parts_that_break_off_are_heard_to_their_end(how: Hush) -> None:
    pieces = [piece([{"type": "text", "text": each, "index": 0}]) for each in ("It is ", "s3c")]
    message = whole(how(pieces, Redactor([SECRET])))
    assert message.content == [{"type": "text", "text": "It is s3c", "index": 0}]


@both
def test_a_secret_in_pieces_of_a_refusal_is_not_heard(how: Hush) -> None:
    texts = ("Not s3cr3t", "-of-the-vault", ", nor s3c")
    pieces = [piece(additional_kwargs={"refusal": each}) for each in texts]
    message = whole(how(pieces, Redactor([SECRET])))
    assert message.additional_kwargs == {"refusal": "Not ***, nor s3c"}


def test_thoughts_and_refusals_of_whole_answers_hold_no_secret() -> None:
    call = {"type": "function_call", "arguments": SECRET}
    message = AIMessage(
        content=[{"type": "thinking", "thinking": f"It is {SECRET}"}, call],
        additional_kwargs={"refusal": f"Not {SECRET}", "tool_calls": [SECRET]},
    )
    result = ChatResult(generations=[ChatGeneration(message=message)])
    heard = hushed(result, Redactor([SECRET])).generations[0].message
    assert heard.content == [{"type": "thinking", "thinking": "It is ***"}, call]
    assert heard.additional_kwargs == {"refusal": "Not ***", "tool_calls": [SECRET]}


@both
def test_answers_without_secrets_are_the_same_objects(how: Hush) -> None:
    pieces = [
        piece("Hello", additional_kwargs={"refusal": "no"}),
        piece([{"type": "text", "text": "x", "index": 0}, {"type": "image", "n": 1}]),
        piece(tool_call_chunks=[called("{}")]),
        piece(reason="stop"),
    ]
    heard = how(pieces, Redactor([SECRET]))
    assert all(one is other for one, other in zip(heard, pieces, strict=True))


def test_an_answer_that_cannot_be_read_is_not_quoted() -> None:
    """Pydantic's error holds what it was given, and cannot be cleaned."""
    model = EndpointChat(model="m", api_key=SECRET)  # type: ignore[arg-type]  # a plain text is taken
    message = {"role": "assistant", "content": {"odd": SECRET}}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    answer = ChatCompletion.construct(id="1", model="m", created=0, choices=[choice])
    with pytest.raises(ValueError, match="valid string") as raised:
        model._create_chat_result(answer)  # pyright: ignore[reportPrivateUsage]
    assert SECRET not in "".join(traceback.format_exception(raised.value))
    assert [raised.value.__cause__, raised.value.__context__] == [None, None]


def test_a_number_that_is_a_secret_is_hidden() -> None:
    redactor = Redactor(["73914628", "12345678901234567890", "12.75", "1.00", "0001"])
    given = {"a": 73914628, "b": [12345678901234567890, 12.75, 73914628.0]}
    assert redactor.clean_json(given) == {"a": "***", "b": ["***", "***", "***"]}
    others = [73914629, 739146280, 1, True, False, None, 1.0, float("inf"), 10**400]
    assert redactor.clean_json(others) == others


CREDENTIALS = ["Bearer abc-def-ghi", "token  abc-def-ghi", "ApiKey abc-def-ghi\n", "abc-def-ghi"]


@pytest.mark.parametrize("value", CREDENTIALS)
def test_a_credential_is_known_without_its_scheme(value: str) -> None:
    """A tool's server answers `{"token": "abc-def-ghi"}`."""
    assert Redactor([value]).clean('{"token": "abc-def-ghi"}') == '{"token": "***"}'


def test_words_of_a_secret_are_not_credentials() -> None:
    assert Redactor(["correct horsebattery"]).clean("horsebattery") == "horsebattery"
