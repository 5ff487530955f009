from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from pydantic import BaseModel, SecretStr

from flowcompose import (
    DefinitionError,
    MemberError,
    Pattern,
    RosterEntry,
    TurnInput,
    generator,
    round_robin,
)
from flowcompose.core.events import Event, RunCompleted, Token, TurnCompleted, TurnRetried
from flowcompose.core.retry import Retry
from flowcompose.core.testing import ScriptedModel
from flowcompose.patterns.round_robin import create_referee
from tests.openai_server import Dropped, HttpError, OpenAIServer, Reply


class Verdict(BaseModel):
    approved: bool


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, which are recorded instead of spent."""
    recorded: list[float] = []
    pause = asyncio.sleep

    def sleep(seconds: float) -> None:
        recorded.extend([seconds] if seconds else [])

    async def asleep(seconds: float) -> None:
        recorded.extend([seconds] if seconds else [])
        await pause(0)

    monkeypatch.setattr("tenacity.nap.time.sleep", sleep)
    monkeypatch.setattr(asyncio, "sleep", asleep)
    return recorded


def openai_at(base_url: str, **options: Any) -> ChatOpenAI:
    given: dict[str, Any] = {"max_retries": 0, "stream_usage": True, **options}
    return ChatOpenAI(model="gpt-4o", base_url=base_url, api_key=SecretStr("x"), **given)


@asynccontextmanager
async def async_openai_at(server: OpenAIServer, **options: Any) -> AsyncGenerator[ChatOpenAI, None]:
    # The client that the engine keeps per process would outlive this test's event loop.
    async with httpx.AsyncClient() as client:
        yield openai_at(server.base_url, http_async_client=client, **options)


def panel_of(model: Any, **options: Any) -> Pattern[Any]:
    given: dict[str, Any] = {"roster": [{"name": "a"}], "max_rounds": 1, "synthesizer": False}
    return round_robin(name="panel", model=model, **{**given, **options})


TRANSIENT: dict[str, Reply] = {
    "rate limit": HttpError(429, "slow down", {"retry-after-ms": "5"}),
    "server error": HttpError(500, "oops"),
    "overload": HttpError(503, "busy"),
    "timeout": HttpError(408, "late"),
    "dropped": Dropped("an answer that breaks off"),
}
FINAL = {"wrong request": 400, "wrong key": 401, "forbidden": 403, "unknown model": 404}

# --- what is tried again


@pytest.mark.parametrize("use", ["run", "events"])
@pytest.mark.parametrize("failure", TRANSIENT)
def test_a_failure_that_may_pass_is_tried_again(failure: str, use: str, waits: list[float]) -> None:
    replies: list[Reply] = [TRANSIENT[failure]] * 2 + ["Hello."]
    with OpenAIServer(replies) as server:
        panel = panel_of(openai_at(server.base_url))
        result = panel.run("go") if use == "run" else result_of(list(panel.events("go")))
    assert result.contributions[0].text == "Hello."
    assert (len(server.requests), len(waits)) == (3, 2)


@pytest.mark.parametrize("use", ["run", "events"])
@pytest.mark.parametrize("failure", TRANSIENT)
async def test_the_async_path_tries_again_too(failure: str, use: str, waits: list[float]) -> None:
    replies: list[Reply] = [TRANSIENT[failure]] * 2 + ["Hello."]
    with OpenAIServer(replies) as server:
        async with async_openai_at(server) as model:
            panel = panel_of(model)
            result = (
                await panel.arun("go")
                if use == "run"
                else result_of([event async for event in panel.aevents("go")])
            )
    assert result.contributions[0].text == "Hello."
    assert (len(server.requests), len(waits)) == (3, 2)


def result_of(events: Sequence[Event]) -> Any:
    assert isinstance(events[-1], RunCompleted)
    return events[-1].result


def test_a_refused_connection_is_tried_again(waits: list[float]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    panel = panel_of(openai_at(f"http://127.0.0.1:{port}/v1"), retry=Retry(attempts=3))
    with pytest.raises(MemberError, match="Connection error"):
        panel.run("go")
    assert len(waits) == 2


@pytest.mark.parametrize("failure", FINAL)
def test_a_failure_that_stays_is_never_tried_again(failure: str, waits: list[float]) -> None:
    final = HttpError(FINAL[failure], "never", {"retry-after": "1"})
    with OpenAIServer([final]) as server, pytest.raises(MemberError, match="never"):
        panel_of(openai_at(server.base_url)).run("go")
    assert (len(server.requests), waits) == (1, [])


@pytest.mark.parametrize("failure", FINAL)
async def test_the_async_path_never_tries_a_failure_that_stays(
    failure: str, waits: list[float]
) -> None:
    with OpenAIServer([HttpError(FINAL[failure], "never")]) as server:
        async with async_openai_at(server) as model:
            with pytest.raises(MemberError, match="never"):
                await panel_of(model).arun("go")
    assert (len(server.requests), waits) == (1, [])


class ProviderError(Exception):
    def __init__(self, status_code: int | None = None, is_retryable: bool | None = None) -> None:
        super().__init__(f"{status_code} {is_retryable}")
        self.status_code = status_code
        self.is_retryable = is_retryable


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (TimeoutError("late"), 2),
        (ConnectionResetError("gone"), 2),
        (ProviderError(status_code=429), 2),
        (ProviderError(status_code=529), 2),
        (ProviderError(is_retryable=True), 2),
        (ProviderError(status_code=400), 1),
        (ProviderError(status_code=429, is_retryable=False), 1),
        (ProviderError(), 1),
        (ValueError("wrong"), 1),
    ],
    ids=repr,
)
def test_errors_of_other_providers_are_told_apart(
    error: Exception, asked: int, waits: list[float]
) -> None:
    model = ScriptedModel([error, error])
    with pytest.raises(MemberError) as raised:
        panel_of(model, retry=Retry(attempts=2)).run("go")
    assert len(model.calls) == asked
    assert raised.value.__cause__ is error


# --- how often


@pytest.mark.parametrize(("retry", "requests"), [(None, 4), (Retry(attempts=2), 2)])
def test_the_budget_is_kept_to_the_request(
    retry: Retry | None, requests: int, waits: list[float]
) -> None:
    failing = HttpError(500, "oops")
    with OpenAIServer(lambda _: failing) as server, pytest.raises(MemberError, match="oops"):
        panel_of(openai_at(server.base_url), retry=retry).run("go")
    assert (len(server.requests), len(waits)) == (requests, requests - 1)


def test_one_attempt_means_no_second_one(waits: list[float]) -> None:
    model = ScriptedModel([TimeoutError("late")])
    with pytest.raises(MemberError):
        panel_of(model, retry=Retry(attempts=1)).run("go")
    assert waits == []


def test_each_answer_has_a_budget_of_its_own(waits: list[float]) -> None:
    late = TimeoutError("late")
    model = ScriptedModel([late, "a", late, "b"])
    roster = [{"name": "a"}, {"name": "b"}]
    result = panel_of(model, roster=roster, retry=Retry(attempts=2)).run("go")
    assert [said.text for said in result.contributions] == ["a", "b"]


def test_failures_and_wrong_answers_have_separate_budgets(waits: list[float]) -> None:
    late = TimeoutError("late")
    model = ScriptedModel([late, "prose", late, {"approved": True}])
    block = generator("g", model=model, output_schema=Verdict, retry=Retry(attempts=2, reasks=1))
    assert block.invoke("go") == Verdict(approved=True)
    model.assert_complete()


def test_the_referee_and_the_synthesizer_try_again_as_well(waits: list[float]) -> None:
    late = TimeoutError("late")
    model = ScriptedModel(["words", late, {"critique": "c"}, late, "done"])
    panel = panel_of(
        model, referee=create_referee(retry=Retry(attempts=2)), synthesizer=None, retry=Retry()
    )
    seen = list(panel.events("go"))
    assert [event.agent_name for event in seen if isinstance(event, TurnRetried)] == [
        "referee",
        "synthesizer",
    ]


@pytest.mark.parametrize("own", [None, 2])
def test_a_client_that_retries_on_its_own_is_not_multiplied(
    own: int | None, waits: list[float]
) -> None:
    failing = HttpError(500, "oops", {"retry-after-ms": "1"})
    with OpenAIServer(lambda _: failing) as server, pytest.raises(MemberError, match="oops"):
        panel_of(openai_at(server.base_url, max_retries=own)).run("go")
    assert len(server.requests) == 3


def test_a_client_that_retries_on_its_own_is_still_asked_again_for_its_form() -> None:
    with OpenAIServer(["prose", {"approved": True}]) as server:
        model = openai_at(server.base_url, max_retries=2)
        block = generator("g", model=model, output_schema=Verdict)
        assert block.invoke("go") == Verdict(approved=True)


def test_a_budget_that_asks_nothing_is_refused() -> None:
    wrong: Any = {"attempts": 0, "reasks": -1, "max_wait": "long"}
    with pytest.raises(DefinitionError) as raised:
        Retry(**wrong)
    assert raised.value.problems == (
        "attempts must be a whole number >= 1, got 0",
        "reasks must be a whole number >= 0, got -1",
        "max_wait must be seconds >= 0, got 'long'",
    )


# --- after which wait


def waits_for(headers: dict[str, str], retry: Retry | None = None) -> None:
    replies: list[Reply] = [HttpError(429, "slow down", headers), "Hello."]
    with OpenAIServer(replies) as server:
        panel_of(openai_at(server.base_url), retry=retry).run("go")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
    ],
)
def test_the_provider_says_how_long_to_wait(
    headers: dict[str, str], expected: float, waits: list[float]
) -> None:
    waits_for(headers)
    assert waits == [expected]


async def test_the_async_path_waits_as_long_as_the_provider_says(waits: list[float]) -> None:
    replies: list[Reply] = [HttpError(429, "slow down", {"retry-after": "7"}), "Hello."]
    with OpenAIServer(replies) as server:
        async with async_openai_at(server) as model:
            await panel_of(model).arun("go")
    assert waits == [7.0]


def test_the_provider_may_give_a_date(waits: list[float]) -> None:
    at = datetime.now(UTC) + timedelta(seconds=40)
    waits_for({"retry-after": format_datetime(at, usegmt=True)})
    assert 30 < waits[0] <= 40


def test_no_wait_is_longer_than_allowed(waits: list[float]) -> None:
    waits_for({"retry-after": "3600"}, Retry(max_wait=3))
    assert waits == [3]


def test_without_a_word_of_the_provider_the_waits_double_with_some_jitter(
    waits: list[float],
) -> None:
    waits_for({"retry-after": "soon"})
    model = ScriptedModel([*[TimeoutError("late")] * 3, "Hello."])
    panel_of(model).run("go")
    for waited, middle in zip(waits, (0.5, 0.5, 1.0, 2.0), strict=True):
        assert middle / 2 <= waited <= middle * 1.5


# --- what is told


def retold(events: list[Event]) -> tuple[list[Token], TurnRetried, list[Token]]:
    """The tokens before and after the notice of a new attempt, of which there is one."""
    (at,) = [at for at, event in enumerate(events) if isinstance(event, TurnRetried)]
    notice = events[at]
    assert isinstance(notice, TurnRetried)
    tokens = [[e for e in part if isinstance(e, Token)] for part in (events[:at], events[at:])]
    return tokens[0], notice, tokens[1]


BROKEN: list[Reply] = [Dropped("an answer that breaks off"), "the whole answer"]


def check_retold(events: list[Event]) -> None:
    before, notice, after = retold(events)
    assert "an answer that breaks off".startswith("".join(token.text for token in before))
    assert "".join(token.text for token in after) == "the whole answer"
    ids = {token.message_id for token in before}, {token.message_id for token in after}
    assert (len(ids[0]), len(ids[1])) == (1, 1)
    assert ids[0].isdisjoint(ids[1])
    assert (notice.agent_name, notice.round, notice.turn) == ("a", 1, 1)
    assert "OpenAIConnectionError" in notice.reason
    (completed,) = [event for event in events if isinstance(event, TurnCompleted)]
    assert completed.contribution.text == "the whole answer"


def test_a_new_attempt_is_told_before_its_tokens_which_have_another_id(
    waits: list[float],
) -> None:
    with OpenAIServer(BROKEN) as server:
        seen = list(panel_of(openai_at(server.base_url)).events("go"))
    check_retold(seen)
    assert [event.wait for event in seen if isinstance(event, TurnRetried)] == waits


async def test_the_async_path_tells_of_a_new_attempt_as_well(waits: list[float]) -> None:
    with OpenAIServer(BROKEN) as server:
        async with async_openai_at(server) as model:
            seen = [event async for event in panel_of(model).aevents("go")]
    check_retold(seen)


def test_an_attempt_that_is_the_last_announces_no_other(waits: list[float]) -> None:
    told: list[Event] = []
    model = ScriptedModel([TimeoutError("late")] * 2)
    with pytest.raises(MemberError):
        told.extend(panel_of(model, retry=Retry(attempts=2)).events("go"))
    assert len([event for event in told if isinstance(event, TurnRetried)]) == 1


# --- what is never tried again


def test_an_interrupt_is_not_tried_again(waits: list[float]) -> None:
    @tool
    def approve(what: str) -> str:
        """Ask a person."""
        return str(interrupt(what))

    call = tool_call(name="approve", args={"what": "ship?"}, id="c1")
    model = ScriptedModel([AIMessage("", tool_calls=[call])])
    result = panel_of(model, tools=[approve], checkpointer=InMemorySaver()).run("go")
    assert result.interrupts == ["ship?"]
    assert (len(model.calls), waits) == (1, [])


async def test_a_cancelled_call_is_not_made_again() -> None:
    model = ScriptedModel(lambda _: "too late", latency=3600)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(panel_of(model).arun("go"), 0.05)
    assert len(model.calls) == 1


async def test_a_turn_that_is_out_of_time_is_not_taken_again() -> None:
    model = ScriptedModel(lambda _: "too late", latency=3600)
    with pytest.raises(MemberError, match="turn_timeout"):
        await panel_of(model, turn_timeout=0.05).arun("go")
    assert len(model.calls) == 1


def failing(calls: list[int]) -> Callable[[TurnInput], str]:
    def member(turn: TurnInput) -> str:
        calls.append(turn.turn)
        msg = "late"
        raise TimeoutError(msg)

    return member


@pytest.mark.parametrize("use", ["sync", "async"])
def test_a_function_of_ones_own_is_called_once(use: str, waits: list[float]) -> None:
    calls: list[int] = []
    roster = [RosterEntry(name="a", block=failing(calls))]
    panel = panel_of(ScriptedModel([]), roster=roster, retry=Retry(attempts=5))
    with pytest.raises(MemberError, match="late"):
        panel.run("go") if use == "sync" else asyncio.run(panel.arun("go"))
    assert (calls, waits) == ([1], [])
