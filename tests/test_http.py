"""A whole panel over HTTP: the real client against a server on this machine."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, SecretStr

from flowcompose import Pattern, Result, RoundRobinFinalShape, round_robin, sequential
from flowcompose.core.events import (
    Event,
    RunCompleted,
    Token,
    ToolCalled,
    ToolReturned,
    TurnCompleted,
    TurnStarted,
)
from flowcompose.patterns.round_robin import create_referee
from tests.openai_server import OpenAIServer, ToolCalls
from tests.openai_wire import Answer, completion

ROSTER = [
    {"name": "writer", "role": "writer of the draft"},
    {"name": "checker", "role": "checker of every claim"},
    {"name": "editor", "role": "editor of the prose"},
]
NAMES = [member["name"] for member in ROSTER]


class Verdict(BaseModel):
    """What the panel decides."""

    approved: bool
    reason: str


@tool
def search(query: str) -> str:
    """Look something up."""
    return f"found {query}"


def asked(body: dict[str, Any]) -> tuple[str, int]:
    """Who is asked by a request of the panel, and in which round."""
    last = body["messages"][-1]["content"]
    named = re.match(r"You are (\w+), .* It is round (\d+)", last)
    if named:
        return named[1], int(named[2])
    audit = re.match(r"You are the referee. Round (\d+)", last)
    return ("referee", int(audit[1])) if audit else ("synthesizer", 0)


def reply(body: dict[str, Any]) -> Answer:
    name, number = asked(body)
    if name == "referee":
        return {"critique": f"Round {number} had no sources."}
    if name == "synthesizer":
        structured = "response_format" in body
        return {"approved": True, "reason": "ümlaut"} if structured else "The whole deliverable."
    goal = body["messages"][1]["content"]
    return f"The {name} speaks in round {number} on {goal!r}, at some length."


class Bill:
    """Answers as `reply` does, and keeps what the server says that it cost."""

    def __init__(self) -> None:
        self.tokens: Counter[str] = Counter()

    def __call__(self, body: dict[str, Any]) -> Answer:
        answer = reply(body)
        self.tokens[asked(body)[0]] += completion(answer, body)["usage"]["total_tokens"]
        return answer


def review_panel(model: ChatOpenAI) -> Pattern[Verdict]:
    return round_robin(
        name="panel",
        roster=ROSTER,
        referee=create_referee(),
        max_rounds=2,
        output_schema=Verdict,
        model=model,
    )


def text_panel(model: ChatOpenAI) -> Pattern[str]:
    return round_robin(name="panel", roster=ROSTER, max_rounds=1, model=model)


def tool_panel(model: ChatOpenAI) -> Pattern[RoundRobinFinalShape]:
    return round_robin(
        name="panel",
        roster=[{"name": "a"}],
        synthesizer=False,
        max_rounds=1,
        tools=[search],
        model=model,
    )


def model_at(server: OpenAIServer, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(
        model="gpt-4o",
        base_url=server.base_url,
        api_key=SecretStr("x"),
        stream_usage=True,
        max_retries=0,
        **options,
    )


@asynccontextmanager
async def async_model_at(server: OpenAIServer) -> AsyncGenerator[ChatOpenAI, None]:
    # The client that the engine keeps per process would outlive this test's event loop.
    async with httpx.AsyncClient() as client:
        yield model_at(server, http_async_client=client)


Build = Callable[[ChatOpenAI], Pattern[Any]]
GOAL = "Review the draft."
STREAMS = ["events", "aevents"]
RUNS = ["run", "arun"]


def followed(use: str, server: OpenAIServer, build: Build = review_panel) -> list[Event]:
    async def follow() -> list[Event]:
        async with async_model_at(server) as model:
            return [event async for event in build(model).aevents(GOAL)]

    if use == "events":
        return list(build(model_at(server)).events(GOAL))
    return asyncio.run(follow())


def completed(seen: Sequence[Event]) -> Result[Any]:
    assert isinstance(seen[-1], RunCompleted)
    return seen[-1].result


def finished(use: str, server: OpenAIServer, build: Build = review_panel) -> Result[Any]:
    async def finish() -> Result[Any]:
        async with async_model_at(server) as model:
            return await build(model).arun(GOAL)

    if use in STREAMS:
        return completed(followed(use, server, build))
    return build(model_at(server)).run(GOAL) if use == "run" else asyncio.run(finish())


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(reply) as running:
        yield running


# --- the result


@pytest.mark.parametrize("use", RUNS + STREAMS)
def test_a_panel_runs_over_http(use: str, server: OpenAIServer) -> None:
    result = finished(use, server)
    assert result.output == Verdict(approved=True, reason="ümlaut")
    assert [(said.round, said.agent_name) for said in result.contributions] == [
        (number, name) for number in (1, 2) for name in NAMES
    ]
    assert result.contributions[4].text == (
        "The checker speaks in round 2 on 'Goal: Review the draft.', at some length."
    )
    assert [critique.critique for critique in result.referee_critiques] == [
        "Round 1 had no sources.",
        "Round 2 had no sources.",
    ]
    assert result.stop.reason == "max_rounds"


@pytest.mark.parametrize("use", RUNS + STREAMS)
def test_each_turn_is_one_request(use: str, server: OpenAIServer) -> None:
    finished(use, server)
    each_round = [*NAMES, "referee"]
    assert [asked(body)[0] for body in server.requests] == [*each_round * 2, "synthesizer"]


@pytest.mark.parametrize("use", RUNS)
def test_nothing_is_streamed_where_nobody_listens(use: str, server: OpenAIServer) -> None:
    finished(use, server)
    assert [body for body in server.requests if body.get("stream")] == []


@pytest.mark.parametrize("use", STREAMS)
def test_members_are_streamed_where_somebody_listens(use: str, server: OpenAIServer) -> None:
    followed(use, server)
    streamed = [asked(body)[0] for body in server.requests if body.get("stream")]
    assert streamed == NAMES * 2


@pytest.mark.parametrize("use", RUNS + STREAMS)
def test_the_usage_is_what_the_server_reported(use: str) -> None:
    bill = Bill()
    with OpenAIServer(bill) as server:
        usage = finished(use, server).usage
    spent = {name: tokens.total_tokens for name, tokens in usage.by_member.items()}
    spent |= {"referee": usage.referee.total_tokens, "synthesizer": usage.synthesizer.total_tokens}
    assert spent == dict(bill.tokens)
    assert usage.total_tokens == bill.tokens.total()
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens


async def test_panels_that_run_at_once_do_not_mix(server: OpenAIServer) -> None:
    goals = [f"Review draft {number}." for number in range(8)]
    async with async_model_at(server) as model:
        results = await asyncio.gather(*map(review_panel(model).arun, goals))
    for goal, result in zip(goals, results, strict=True):
        assert [goal in said.text for said in result.contributions] == [True] * 6


# --- the stream


@pytest.mark.parametrize("use", STREAMS)
def test_tokens_joined_are_the_contributions(use: str, server: OpenAIServer) -> None:
    seen = followed(use, server)
    joined: dict[tuple[int, int, str], str] = {}
    for event in seen:
        if isinstance(event, Token):
            key = event.round, event.turn, event.agent_name
            joined[key] = joined.get(key, "") + event.text
    assert joined == {
        (said.round, said.turn, said.agent_name): said.text
        for said in completed(seen).contributions
    }


@pytest.mark.parametrize("use", STREAMS)
def test_a_contribution_comes_in_pieces_under_one_id(use: str, server: OpenAIServer) -> None:
    tokens = [event for event in followed(use, server) if isinstance(event, Token)]
    turns = {token.turn for token in tokens}
    ids = {turn: {token.message_id for token in tokens if token.turn == turn} for turn in turns}
    assert [len(each) for each in ids.values()] == [1] * 6
    assert len(set().union(*ids.values())) == 6
    assert min(Counter(token.turn for token in tokens).values()) > 5


@pytest.mark.parametrize("use", STREAMS)
def test_every_token_comes_within_the_turn_of_its_speaker(use: str, server: OpenAIServer) -> None:
    speaker, strangers = "", list[Token]()
    for event in followed(use, server):
        if isinstance(event, TurnStarted):
            speaker = event.agent_name
        elif isinstance(event, TurnCompleted):
            assert event.contribution.agent_name == speaker
            speaker = ""
        elif isinstance(event, Token) and event.agent_name != speaker:
            strangers.append(event)
    assert strangers == []


@pytest.mark.parametrize("use", STREAMS)
def test_structured_answers_leak_nothing_into_the_tokens(use: str, server: OpenAIServer) -> None:
    tokens = [event for event in followed(use, server) if isinstance(event, Token)]
    assert {token.agent_name for token in tokens} == set(NAMES)
    assert "{" not in "".join(token.text for token in tokens)


@pytest.mark.parametrize("use", STREAMS)
def test_the_text_of_a_synthesizer_is_streamed_once(use: str, server: OpenAIServer) -> None:
    seen = followed(use, server, text_panel)
    said = [e.text for e in seen if isinstance(e, Token) and e.agent_name == "synthesizer"]
    assert len(said) > 3
    assert "".join(said) == completed(seen).output == "The whole deliverable."


# --- tools


def with_tool(body: dict[str, Any]) -> Answer:
    found = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    return f"It says: {found[-1]}." if found else ToolCalls([("search", {"query": "a source"})])


@pytest.mark.parametrize("use", RUNS + STREAMS)
def test_a_tool_call_goes_to_the_tool_and_back(use: str) -> None:
    with OpenAIServer(with_tool) as server:
        result = finished(use, server, tool_panel)
    assert [said.text for said in result.contributions] == ["It says: found a source."]


@pytest.mark.parametrize("use", RUNS + STREAMS)
def test_the_answer_of_a_tool_bears_the_id_of_its_call(use: str) -> None:
    with OpenAIServer(with_tool) as server:
        finished(use, server, tool_panel)
    first, second = server.requests
    assert [each["function"]["name"] for each in first["tools"]] == ["search"]
    assert second["messages"][: len(first["messages"])] == first["messages"]
    call, answer = second["messages"][len(first["messages"]) :]
    assert call["tool_calls"][0]["function"]["name"] == "search"
    assert (answer["role"], answer["tool_call_id"]) == ("tool", call["tool_calls"][0]["id"])


@pytest.mark.parametrize("use", RUNS + STREAMS)
def test_both_requests_of_a_tool_call_are_on_the_bill(use: str) -> None:
    with OpenAIServer(with_tool) as server:
        result = finished(use, server, tool_panel)
    spent = [completion(with_tool(body), body)["usage"]["total_tokens"] for body in server.requests]
    assert (len(spent), result.usage.total_tokens) == (2, sum(spent))


@pytest.mark.parametrize("use", STREAMS)
def test_events_tell_of_the_tool_call(use: str) -> None:
    with OpenAIServer(with_tool) as server:
        seen = followed(use, server, tool_panel)
    (called,) = [event for event in seen if isinstance(event, ToolCalled)]
    (returned,) = [event for event in seen if isinstance(event, ToolReturned)]
    assert (called.tool, called.args) == ("search", {"query": "a source"})
    assert (returned.text, returned.status) == ("found a source", "success")


@pytest.mark.parametrize("use", ["run", "arun", "events"])
def test_half_a_character_in_an_answer_ends_no_run(use: str) -> None:
    def build(model: ChatOpenAI) -> Pattern[str]:
        return sequential(name="pair", roster=ROSTER[:2], model=model, checkpointer=InMemorySaver())

    replies = iter(["fine \ud83d", "and on"])
    with OpenAIServer(lambda body: next(replies)) as server:
        result = finished(use, server, build)
    assert [each.text for each in result.contributions] == ["fine \ufffd", "and on"]
