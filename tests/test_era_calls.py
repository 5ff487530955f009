"""Calls of tools in agents of ARK documents: their order, their failures, and what ends a team."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from langgraph.checkpoint.memory import InMemorySaver

from flowcompose import MemberError
from flowcompose.core.pattern import Pattern
from flowcompose.runner.agents.endpoint import Endpoint
from flowcompose.runner.manifest import Manifest, load_text
from flowcompose.runner.teams import Answer
from flowcompose.runner.teams.jobs import jobs_for
from tests.ark_documents import (
    E1,
    E2,
    E3,
    ERAS,
    Doc,
    agent,
    asked,
    document,
    flowcompose_here,
    problems_of,
    query,
    run,
    said,
    team,
    terminating,
    write,
)
from tests.mock_llm import CHAT, MockLLM, Rule, calls, says
from tests.openai_server import HttpError, OpenAIServer, Replies, Reply, ToolCalls

each_era = pytest.mark.parametrize("era", ERAS)

BUILT_IN = [{"type": "built-in", "name": each} for each in ("terminate", "noop")]
ANSWER = ("terminate", {"response": "THE ANSWER"})
NOOP = ("noop", {"message": "?"})
ENDING = ToolCalls([ANSWER, NOOP])
SAID = [("assistant", "a", ""), ("tool", None, "THE ANSWER")]


# --- what ends a team


@each_era
@pytest.mark.parametrize("kind", ["team", "agent"])
def test_the_answer_of_terminate_stays_the_answer_whatever_is_called_after_it(
    tmp_path: Path, era: str, kind: str
) -> None:
    documents = (agent("a", tools=BUILT_IN), team("line", "a"))
    asking = query("line" if kind == "team" else "a", kind=kind)
    ran = run(tmp_path, era, [ENDING], *documents, asking)
    assert (ran.code, ran.stop, ran.raw) == (0, "terminate_tool", SAID)
    assert ran.response["content"] == ("" if era == E3 else "THE ANSWER")


@pytest.mark.parametrize("era", [E1, E2])
def test_nothing_but_the_answer_is_printed(tmp_path: Path, era: str) -> None:
    file = write(tmp_path, agent("a", tools=BUILT_IN), team("line", "a"), query("line"))
    with OpenAIServer([ENDING]) as server:
        options = ("--base-url", server.base_url, "--compat", era, "--quiet")
        ran = flowcompose_here("run", file, *options)
    assert (ran.code, ran.out.strip()) == (0, "THE ANSWER")


@pytest.mark.parametrize("era", [E1, E2])
def test_the_answer_of_an_inner_team_is_that_of_the_team_around_it(
    tmp_path: Path, era: str
) -> None:
    teams = (team("inner", "a"), team("outer", "b team:inner"))
    documents = (agent("a", tools=BUILT_IN), agent("b"), *teams)
    ran = run(tmp_path, era, ["1", ENDING], *documents, query("outer"))
    assert (ran.code, ran.response["content"]) == (0, "THE ANSWER")
    assert ran.raw == [*said("b=1"), *SAID]


@each_era
def test_each_call_of_an_inner_team_is_answered_in_what_the_next_ones_hear(
    tmp_path: Path, era: str
) -> None:
    teams = (team("inner", "a"), team("outer", "team:inner c d"))
    documents = (agent("a", tools=BUILT_IN), agent("c"), agent("d"), *teams)
    ran = run(tmp_path, era, [ENDING, "2", "3"], *documents, query("outer"))
    assert (ran.code, problems_of(ran.requests)) == (0, [])
    heard = [*SAID, ("tool", None, "not run")]
    assert asked(ran.requests[1])[1:-1] == heard
    assert asked(ran.requests[2])[1:-1] == [*heard, *said("c=2")]


@each_era
@pytest.mark.parametrize("kind", ["agent", "team"])
def test_a_tool_that_ends_itself_answers_with_its_response(
    tmp_path: Path, era: str, kind: str
) -> None:
    inner = {"agent": {"name": "a"}} if kind == "agent" else {"team": {"name": "line"}}
    tool = document("Tool", "expert", type=kind, description="Knows", **inner)
    asking = agent("b", tools=[{"type": "custom", "name": "expert"}])
    documents = (asking, agent("a", tools=BUILT_IN), team("line", "a"), tool)
    replies: Replies = [ToolCalls([("expert", {"input": "?"})]), ENDING, "Done."]
    ran = run(tmp_path, era, replies, *documents, query("b", kind="agent"))
    words = "" if era == E3 and kind == "team" else "THE ANSWER"
    assert (ran.code, asked(ran.requests[-1])[-1]) == (0, ("tool", None, words))


# --- what fails

SCHEMA = {"type": "object", "properties": {}}
PAID: Rule = {"path": "/pay", "method": "POST", "response": {"status": 200, "content": "Paid."}}


def http(server: MockLLM, name: str, method: str) -> Doc:
    url = f"{server.base_url.removesuffix('/v1')}/{name}"
    spec = {"type": "http", "description": "Does it", "inputSchema": SCHEMA}
    return document("Tool", name, **spec, http={"url": url, "method": method, "body": "{}"})


def load_documents(documents: list[Doc]) -> Manifest:
    return load_text(yaml.safe_dump_all(documents))


def at_once(pattern: Pattern[Any], goal: Any) -> Any:
    return pattern.run(goal)


def in_a_loop(pattern: Pattern[Any], goal: Any) -> Any:
    return asyncio.run(pattern.arun(goal))


both_paths = pytest.mark.parametrize("runs", [at_once, in_a_loop])
Runs = Callable[[Pattern[Any], Any], Any]


def act(runs: Runs, first: Mapping[str, Any], *, streams: bool = True) -> tuple[Answer, list[str]]:
    """Run an agent whose first answer makes these calls; also what its tools' server was asked."""
    named = [{"type": "custom", "name": each} for each in ("bad", "pay", "look")]
    a = agent("a", tools=[*named, *BUILT_IN])
    looked: Rule = {"path": "/look", "response": {"status": 200, "content": "Seen."}}
    rules = [PAID, looked, says(0, "You are a", first, "Done.")]
    with MockLLM(rules, streams=streams) as server:
        tools = (http(server, "bad", "GET"), http(server, "pay", "POST"))
        documents = [a, *tools, http(server, "look", "GET"), team("line", "a")]
        endpoint = Endpoint(base_url=server.base_url, api_key="key-of-the-test")
        (made,) = jobs_for(load_documents(documents), team="line", input="Go.", endpoint=endpoint)
        try:
            answer = made.answer(runs(made.pattern, made.goal))
        except MemberError as error:
            answer = made.failure(error)
        sent = [each for each in server.methods if not each.endswith(CHAT)]
    return answer, sent


NOT_FOUND = "agent default/a execution failed: tool bad: HTTP error 404: Not Found"


@both_paths
def test_a_call_that_fails_keeps_those_after_it_from_being_run(runs: Runs) -> None:
    made = calls(("look", {}), ("bad", {}), ("pay", {}))
    answer, sent = act(runs, made)
    assert sent == ["GET /look", "GET /bad"]
    assert (answer.phase, answer.error) == ("error", NOT_FOUND)
    texts = [each["content"] for each in answer.raw]
    assert texts == [None, "Seen.", "HTTP error 404: Not Found"]


@both_paths
def test_a_call_that_fails_is_not_forgotten_because_the_next_one_ends_the_team(runs: Runs) -> None:
    answer, _ = act(runs, calls(("bad", {}), ANSWER))
    assert (answer.phase, answer.error) == ("error", NOT_FOUND)


@both_paths
def test_nothing_is_called_after_what_ends_the_team(runs: Runs) -> None:
    answer, sent = act(runs, calls(("look", {}), ANSWER, ("bad", {}), ("pay", {})))
    assert (answer.phase, answer.content, sent) == ("done", "THE ANSWER", ["GET /look"])


@both_paths
def test_calls_are_made_in_their_order(runs: Runs) -> None:
    named = ["pay", "look", "look", "pay", "look"]
    answer, sent = act(runs, calls(*((each, {}) for each in named)))
    assert [each.rpartition("/")[2] for each in sent] == named
    assert answer.content == "Done."


@both_paths
def test_an_unknown_tool_ends_the_turn(runs: Runs) -> None:
    answer, sent = act(runs, calls(("nowhere", {}), ("pay", {})))
    assert answer.error == "agent default/a execution failed: tool nowhere not found"
    assert answer.raw[-1]["content"] == "tool nowhere not found"
    assert sent == []


@both_paths
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("name", ["look", "nowhere"])
def test_arguments_that_are_no_json_end_the_turn(runs: Runs, name: str, *, streams: bool) -> None:
    made = calls((name, {}), ("pay", {}))
    made["tool_calls"][0]["function"]["arguments"] = '{"cut o'
    answer, sent = act(runs, made, streams=streams)
    told = {
        "look": 'tool look: the arguments are no JSON object: {"cut o',
        "nowhere": "tool nowhere not found",
    }
    assert answer.error == f"agent default/a execution failed: {told[name]}"
    assert answer.raw[-1]["tool_call_id"] == "call_1"
    assert sent == []


def test_a_turn_that_failed_between_its_calls_is_made_anew() -> None:
    replies: Iterator[Reply] = iter(
        [ToolCalls([("nowhere", {}), NOOP]), ToolCalls([NOOP, NOOP]), "Done."]
    )
    documents = [agent("a", tools=BUILT_IN), agent("b"), team("line", "b a")]
    with OpenAIServer(lambda body: next(replies) if "tools" in body else "Hi.") as server:
        endpoint = Endpoint(base_url=server.base_url, api_key="key-of-the-test")
        manifest = load_documents(documents)
        saver = InMemorySaver()
        (made,) = jobs_for(
            manifest, team="line", input="Go.", endpoint=endpoint, checkpointer=saver
        )
        with pytest.raises(MemberError):
            made.pattern.run(made.goal, thread_id="one")
        answer = made.answer(made.pattern.resume("one"))
        assert problems_of(server.requests) == []
    assert answer.content == "Done."


# --- the words of failures

ASK_B = document("Tool", "b", type="agent", description="Knows", agent={"name": "b"})


def test_an_agent_that_is_asked_fails_in_its_own_words(tmp_path: Path) -> None:
    documents = (agent("a", tools=[{"type": "custom", "name": "b"}]), agent("b"), ASK_B)
    replies: Replies = [ToolCalls([("b", {"input": "?"})]), HttpError(400, "boom")]
    ran = run(tmp_path, E2, replies, *documents, query("a", kind="agent"))
    (_, _, told) = ran.raw[-1]
    assert ran.response["error"] == f"agent default/a execution failed: tool b: {told}"
    assert told.startswith("agent default/b execution failed: ")
    assert "boom" in told
    assert "TurnError" not in told


def test_an_agent_that_is_asked_nothing_says_what_is_missing(tmp_path: Path) -> None:
    documents = (agent("a", tools=[{"type": "custom", "name": "b"}]), agent("b"), ASK_B)
    ran = run(tmp_path, E2, [ToolCalls([("b", {})])], *documents, query("a", kind="agent"))
    told = "agent default/a execution failed: tool b: input: Field required"
    assert ran.response["error"] == told


def test_a_tool_that_is_asked_directly_fails_in_its_own_words(tmp_path: Path) -> None:
    with MockLLM([]) as server:
        file = write(tmp_path, http(server, "bad", "GET"), query("bad", "{}", kind="tool"))
        ran = flowcompose_here("run", file, "--base-url", server.base_url, "--json")
    assert ran.response["error"] == "tool bad failed: HTTP error 404: Not Found"


def test_an_empty_response_is_told_as_such(tmp_path: Path) -> None:
    rule = {"path": CHAT, "response": {"status": 200, "content": '{"choices": []}'}}
    file = write(tmp_path, agent("a"), query("a", kind="agent"))
    with MockLLM([rule], streams=False) as server:
        ran = flowcompose_here("run", file, "--base-url", server.base_url, "--json")
    assert ran.response["error"] == "agent default/a execution failed: received empty response"


SELECTOR = {"selector": {"agent": "chooser"}, "maxTurns": 2}


@pytest.mark.parametrize(
    ("reply", "told"),
    [("", "returned invalid response"), (ToolCalls([("x", {})]), "tool x not found")],
)
def test_a_selector_agent_fails_in_upstreams_words(tmp_path: Path, reply: Any, told: str) -> None:
    documents = (agent("a"), agent("b"), agent("chooser"))
    choosing = team("choosing", "a b", "selector", **SELECTOR)
    ran = run(tmp_path, E2, ["1", reply], *documents, choosing, query("choosing"))
    assert ran.response["error"] == f"selector agent call failed: {told}"


# --- names


@each_era
@pytest.mark.parametrize("name", ["a", "a.b", "a" * 70])
def test_an_agent_hears_its_own_messages_under_its_name(
    tmp_path: Path, era: str, name: str
) -> None:
    documents = (agent(name, tools=BUILT_IN), team("line", name))
    replies: Replies = [ToolCalls([NOOP]), ToolCalls([NOOP]), "Done."]
    ran = run(tmp_path, era, replies, *documents, query("line"))
    assert ran.response["content"] == "Done."
    heard = [said_by for role, said_by, _ in asked(ran.requests[2]) if role == "assistant"]
    assert heard == [name[:64]] * 2
    written = [said_by for role, said_by, _ in ran.raw if role == "assistant"]
    assert written == [name] * 3


def test_a_selector_agent_hears_its_own_messages_under_its_name(tmp_path: Path) -> None:
    chooser = agent("chooser", tools=BUILT_IN)
    choosing = team("choosing", "a b", "selector", **SELECTOR)
    replies: Replies = ["1", ToolCalls([NOOP]), "b", "2"]
    documents = (agent("a"), agent("b"), terminating("c"), chooser, choosing)
    ran = run(tmp_path, E2, replies, *documents, query("choosing"))
    assert ran.raw == said("a=1", "b=2")
    heard = [each[:2] for each in asked(ran.requests[2]) if each[0] == "assistant"]
    assert heard == [("assistant", "chooser")]
