"""Values that documents take from elsewhere: of the query, of Secrets, of ConfigMaps; or lack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ark_documents import (
    ERAS,
    Doc,
    agent,
    asked,
    document,
    flowcompose_here,
    query,
    run,
    team,
    write,
)
from tests.loopback import Answer, Loopback, Request
from tests.openai_server import Replies, ToolCalls

each_era = pytest.mark.parametrize("era", ERAS)

OF_QUERY = {"valueFrom": {"queryParameterRef": {"name": "qp"}}}
OF_SECRET = {"valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}}
OF_CONFIG = {"valueFrom": {"configMapKeyRef": {"name": "words", "key": "style"}}}
OF_SERVICE = {"valueFrom": {"serviceRef": {"name": "files"}}}
GIVEN = [{"name": "qp", "value": "QP"}]
SCHEMA = {
    "type": "object",
    "properties": {"v": {"type": "string"}, "x": {"type": "string"}},
    "required": ["v", "x"],
}


def sender(url: str, **http: Any) -> Doc:
    body = {"body": "v=[{{.qp}}] x=[{{.input.x}}]", "bodyParameters": [{"name": "qp", **OF_QUERY}]}
    spec = {"url": url, "method": "POST", **body, **http}
    return document("Tool", "send", type="http", inputSchema=SCHEMA, http=spec)


def taking(request: Request) -> Answer:
    return Answer(200, b"taken")


CALLED: Replies = [ToolCalls([("send", {"x": "1"})]), "Sent."]
A = agent("a", tools=[{"type": "custom", "name": "send"}])
ASKING = query("a", kind="agent", parameters=GIVEN)


def test_a_parameter_of_the_query_stands_in_the_body_of_an_http_tool(tmp_path: Path) -> None:
    with Loopback(taking) as server:
        ran = run(tmp_path, "auto", CALLED, A, sender(server.url), ASKING)
    assert (ran.code, ran.response["content"]) == (0, "Sent.")
    assert [each.body for each in server.requests] == [b"v=[QP] x=[1]"]


def test_a_parameter_of_the_query_stands_in_a_header_of_an_http_tool(tmp_path: Path) -> None:
    with Loopback(taking) as server:
        tool = sender(server.url, headers=[{"name": "X-Tone", "value": OF_QUERY}])
        ran = run(tmp_path, "auto", CALLED, A, tool, ASKING)
    assert ran.code == 0
    assert [each.headers["x-tone"] for each in server.requests] == ["QP"]


def test_a_parameter_of_the_query_is_an_argument_that_the_model_does_not_choose(
    tmp_path: Path,
) -> None:
    fixed = {"parameters": [{"name": "v", **OF_QUERY}]}
    a = agent("a", tools=[{"type": "custom", "name": "send", "partial": fixed}])
    with Loopback(taking) as server:
        tool = sender(server.url, body="{{.input.v}} {{.input.x}}", bodyParameters=[])
        ran = run(tmp_path, "auto", CALLED, a, tool, ASKING)
    offered = ran.requests[0]["tools"][0]["function"]["parameters"]
    assert (list(offered["properties"]), offered["required"]) == (["x"], ["x"])
    assert [each.body for each in server.requests] == [b"QP 1"]


def test_an_argument_takes_the_place_of_no_parameter_that_is_nowhere(tmp_path: Path) -> None:
    replies: Replies = [ToolCalls([("send", {"x": "1", "qp": "mine"})])]
    with Loopback(taking) as server:
        ran = run(tmp_path, "auto", replies, A, sender(server.url), query("a", kind="agent"))
    assert (ran.code, server.requests) == (1, [])
    assert "parameter 'qp': query parameter 'qp' not found" in ran.response["error"]


def test_a_model_chooses_no_argument_that_is_set_to_a_value_that_is_nowhere(
    tmp_path: Path,
) -> None:
    fixed = {"parameters": [{"name": "v", **OF_QUERY}]}
    a = agent("a", tools=[{"type": "custom", "name": "send", "partial": fixed}])
    ran = run(tmp_path, "auto", [], a, sender("http://h/"), query("a", kind="agent"))
    assert (ran.code, ran.requests) == (1, [])
    assert "parameter 'v': query parameter 'qp' not found" in ran.response["error"]


@each_era
@pytest.mark.parametrize(
    ("source", "lack"),
    [
        (OF_QUERY, "query parameter 'qp' not found"),
        (OF_SECRET, "secret 'keys' does not exist in namespace 'default'"),
        (OF_CONFIG, "key 'style' not found in configMap 'words'"),
        (OF_SERVICE, "the service 'files' of a cluster is not found here"),
    ],
)
def test_the_turn_of_an_agent_fails_if_a_parameter_is_nowhere(
    tmp_path: Path, era: str, source: Doc, lack: str
) -> None:
    b = agent("b", "Be {{.tone}}.", parameters=[{"name": "tone", **source}])
    words = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words"}, "data": {}}
    ran = run(tmp_path, era, ["One."], agent("a"), b, words, team("line", "a b"), query("line"))
    told = f"agent default/b prompt resolution failed: parameter 'tone': {lack}"
    assert (ran.code, ran.json["phase"], ran.response["error"]) == (1, "error", told)
    assert ran.raw == [("assistant", "a", "One.")]
    assert ran.speakers == ["a"]


def test_nothing_is_asked_with_a_parameter_of_the_query_that_is_nowhere(tmp_path: Path) -> None:
    lacking = query("a", "Use {{.tone}}.", kind="agent", parameters=[{"name": "tone", **OF_SECRET}])
    ran = run(tmp_path, "auto", [], agent("a"), lacking)
    assert (ran.code, ran.requests) == (2, [])
    told = [each["message"] for each in ran.json["problems"] if each["severity"] == "error"]
    assert told == [
        "Query 'ask': parameter 'tone': secret 'keys' does not exist in namespace 'default'"
    ]


def test_a_team_that_is_asked_without_a_query_has_no_parameters_of_one(tmp_path: Path) -> None:
    file = write(tmp_path, agent("a", "Be {{.qp}}.", parameters=[{"name": "qp", **OF_QUERY}]))
    offline = ("--team", "a", "--input", "go", "--model", "offline", "--json")
    ran = flowcompose_here("run", file, *offline)
    assert ran.code == 1
    told = (
        "agent default/a prompt resolution failed: parameter 'qp': query parameter 'qp' not found"
    )
    assert ran.response["error"] == told


def test_a_placeholder_that_nothing_is_declared_for_stays_without_a_value(tmp_path: Path) -> None:
    a = agent("a", "{{.qp}} {{.none}}", parameters=[{"name": "qp", **OF_QUERY}])
    ran = run(tmp_path, "auto", ["1"], a, ASKING)
    assert asked(ran.requests[0])[0][2] == "QP <no value>"


@pytest.mark.parametrize("era", ["v0.1.50", "v0.1.67"])
def test_a_selector_agent_without_a_value_for_its_prompt_fails_its_team(
    tmp_path: Path, era: str
) -> None:
    judge = agent("judge", "Be {{.tone}}.", parameters=[{"name": "tone", **OF_QUERY}])
    choosing = team("panel", "a b", "selector", selector={"agent": "judge"}, maxTurns=2)
    ran = run(tmp_path, era, ["One."], agent("a"), agent("b"), judge, choosing, query("panel"))
    assert ran.code == 1
    assert "agent default/judge prompt resolution failed: parameter 'tone'" in ran.response["error"]


@each_era
def test_what_validate_takes_for_a_slot_is_filled_in(tmp_path: Path, era: str) -> None:
    asking = {"agent": "judge", "selectorPrompt": "{{- .Participants -}} or {{ .Other }}"}
    # The second choice is one in every era.
    choosing = team("panel", "a b", "selector", selector=asking, maxTurns=2)
    documents = (agent("a"), agent("b"), agent("judge"), choosing, query("panel"))
    told = flowcompose_here("validate", write(tmp_path, *documents), "--compat", era, "--json").json
    warned = [each["message"] for each in told["problems"] if "filled in" in each["message"]]
    assert [each.split(" is ")[0] for each in warned] == ["{{.Other}}"]
    ran = run(tmp_path, era, lambda body: "a", *documents)
    prompts = [text for body in ran.requests for role, _, text in asked(body) if role == "system"]
    assert any(each.startswith("a, b or {{ .Other }}") for each in prompts)
