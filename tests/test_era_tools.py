"""Tools of ARK documents: http, agents and teams as tools, and targets that are tools or models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.ark_documents import (
    E2,
    ERAS,
    GOAL,
    Doc,
    Ran,
    agent,
    asked,
    document,
    flowcompose_here,
    flowcompose_there,
    model,
    problems_of,
    query,
    run,
    team,
    tools_of,
    write,
)
from tests.mock_llm import MockLLM, Rule, calls, says
from tests.openai_server import Hang, OpenAIServer, Replies, ToolCalls

each_era = pytest.mark.parametrize("era", ERAS)

SCHEMA = {
    "type": "object",
    "properties": {"q": {"type": "string"}, "day": {"type": "integer"}},
    "required": ["q"],
}
FOUND = {"status": 200, "content": '{"metres": 7}'}


def finder(server: MockLLM, path: str, **http: Any) -> Doc:
    """A tool that asks the same server."""
    url = f"{server.base_url.removesuffix('/v1')}{path}"
    spec = {"type": "http", "description": "Finds tides", "inputSchema": SCHEMA}
    return document("Tool", "find", **spec, http={"url": url, **http})


def ask_with_tool(
    folder: Path, arguments: Mapping[str, object], rules: list[Rule], path: str, **http: Any
) -> tuple[Ran, list[str]]:
    """An agent calls the tool once and then answers. Also what the server was asked."""
    a = agent("a", tools=[{"type": "custom", "name": "find"}])
    answers = says(0, "You are a", calls(("find", arguments)), "Seven metres.")
    with MockLLM([*rules, answers]) as server:
        file = write(folder, a, finder(server, path, **http), query("a", kind="agent"))
        ran = flowcompose_here("run", file, "--base-url", server.base_url, "--json")
        return Ran(ran.code, ran.out, ran.err, server.requests), server.methods


def test_an_http_tool_is_offered_with_its_schema_and_called_with_escaped_arguments(
    tmp_path: Path,
) -> None:
    given = {"q": "high tide & ../low?", "day": 3}
    path = "/find?q={q}&day={day}"
    told, seen = ask_with_tool(tmp_path, given, [], path)
    (tool,) = told.requests[0]["tools"]
    assert tool["function"]["name"] == "find"
    assert tool["function"]["description"] == "Finds tides"
    assert tool["function"]["parameters"]["properties"]["q"] == {"type": "string"}
    assert tool["function"]["parameters"]["required"] == ["q"]
    (asked_for,) = [each.removeprefix("GET ") for each in seen if each.startswith("GET ")]
    assert urlsplit(asked_for).path == "/find"
    assert parse_qs(urlsplit(asked_for).query) == {"q": [given["q"]], "day": ["3"]}


def test_what_an_http_tool_finds_is_what_the_agent_hears(tmp_path: Path) -> None:
    rule = {"path": "/find?q=tide", "method": "GET", "response": FOUND}
    ran, _ = ask_with_tool(tmp_path, {"q": "tide"}, [rule], "/find?q={q}")
    assert (ran.code, ran.response["content"]) == (0, "Seven metres.")
    assert asked(ran.requests[1])[-1][2] == '{"metres": 7}'
    assert [role for role, _, _ in ran.raw] == ["assistant", "tool", "assistant"]
    assert problems_of(ran.requests) == []


def test_an_http_tool_that_fails_says_how(tmp_path: Path) -> None:
    ran, _ = ask_with_tool(tmp_path, {"q": "tide"}, [], "/nowhere")
    assert "HTTP error 404" in ran.out


def test_an_http_tool_posts_a_body(tmp_path: Path) -> None:
    rule = {
        "path": "/find",
        "method": "POST",
        "match": "body.want == 'a \"high\" tide'",
        "response": FOUND,
    }
    http = {"method": "POST", "body": '{"want": "a {{.input.q}} tide"}'}
    ran, _ = ask_with_tool(tmp_path, {"q": '"high"'}, [rule], "/find", **http)
    assert asked(ran.requests[1])[-1][2] == '{"metres": 7}'


@each_era
@pytest.mark.parametrize("kind", ["agent", "team"])
def test_an_agent_can_ask_another_agent_or_a_team(tmp_path: Path, era: str, kind: str) -> None:
    other = "b" if kind == "agent" else "pair"
    spec = {"type": kind, "description": "Knows", kind: {"name": other}}
    a = agent("a", tools=[{"type": kind, "name": "expert"}])
    documents = (a, agent("b"), agent("c"), team("pair", "b c"), document("Tool", "expert", **spec))
    call = ToolCalls([("expert", {"input": "How high?"})])
    replies: Replies = [call, "Seven.", "Of metres.", "7"]
    if kind == "agent":
        replies = [call, "Of metres.", "7"]
    ran = run(tmp_path, era, replies, *documents, query("a", kind="agent"))
    assert (ran.code, ran.response["content"]) == (0, "7")
    assert ran.speakers == (["a", "b", "a"] if kind == "agent" else ["a", "b", "c", "a"])
    (tool,) = ran.requests[0]["tools"]
    assert list(tool["function"]["parameters"]["properties"]) == ["input"]
    assert tool["function"]["parameters"]["required"] == ["input"]
    assert asked(ran.requests[1])[1:] == [("user", None, "How high?")]  # and no history
    assert asked(ran.requests[-1])[-1][2] == "Of metres."


def test_a_tool_that_a_server_would_bring_is_not_offered(tmp_path: Path) -> None:
    a = agent("a", tools=[{"type": "mcp", "name": "files"}, {"type": "built-in", "name": "noop"}])
    ran = run(tmp_path, E2, ["Hi."], a, query("a", kind="agent"))
    assert (ran.code, tools_of(ran.requests[0])) == (0, ["noop"])
    assert "MCP" in ran.err


def test_a_model_can_be_asked_without_any_agent(tmp_path: Path) -> None:
    asking = query("small", kind="model")
    ran = run(tmp_path, E2, ["Seven."], model("small", "gpt-small"), asking)
    assert (ran.code, ran.response["content"]) == (0, "Seven.")
    assert ran.response["target"] == {"type": "model", "name": "small"}
    (body,) = ran.requests
    assert (body["model"], asked(body)) == ("gpt-small", [("user", None, GOAL)])


@pytest.mark.parametrize("given", ['{"q": "tide"}', json.dumps({"q": "tide", "day": 2})])
def test_a_tool_can_be_asked_without_any_agent(tmp_path: Path, given: str) -> None:
    rule = {"path": "/find?q=tide", "method": "GET", "response": FOUND}
    with MockLLM([rule]) as server:
        asking = query("find", given, kind="tool")
        file = write(tmp_path, finder(server, "/find?q={q}"), asking)
        ran = flowcompose_here("run", file, "--base-url", server.base_url, "--json")
    assert (ran.code, ran.response["content"]) == (0, '{"metres": 7}')
    assert ran.response["target"] == {"type": "tool", "name": "find"}


def test_a_query_that_takes_too_long_keeps_what_was_said(tmp_path: Path) -> None:
    asking = query("line", timeout="1s")
    file = write(tmp_path, agent("a"), agent("b"), team("line", "a b"), asking)
    with OpenAIServer(["1", Hang(30)]) as server:
        # In a process of its own, which takes the request with it that nobody waits for.
        ran = flowcompose_there("run", file, "--base-url", server.base_url, "--json")
    assert (ran.code, ran.json["phase"]) == (1, "error")
    assert "timed out after 1 s" in ran.response["error"]
    assert [text for _, _, text in ran.raw] == ["1"]
