"""What stands in for a cluster: the model server that follows rules, and the reader of tests."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest
from langchain_openai import ChatOpenAI
from openai import InternalServerError

from tests.chainsaw import mismatches, read, status_of
from tests.mock_llm import CHAT, MockLLM, calls, completion, rules_of, says


def ask(server: MockLLM, *said: tuple[str, str], stream: bool = False) -> str:
    model = ChatOpenAI(model="m", base_url=server.base_url, api_key="x", max_retries=0)  # type: ignore[arg-type]  # it takes a plain text
    if stream:
        return "".join(str(chunk.content) for chunk in model.stream(list(said)))
    return str(model.invoke(list(said)).content)


def test_the_last_rule_that_holds_wins() -> None:
    rules = [says(0, "sea", "first"), says(0, "sea", "second"), says(-1, "sky", "third")]
    with MockLLM(rules) as server:
        assert ask(server, ("system", "the sea"), ("user", "hello")) == "second"
        assert ask(server, ("system", "the sea"), ("user", "sky")) == "third"


def test_a_sequence_stays_at_its_last_answer() -> None:
    with MockLLM([says(0, "sea", "one", "two")]) as server:
        assert [ask(server, ("system", "sea")) for _ in range(3)] == ["one", "two", "two"]


@pytest.mark.parametrize("streams", [True, False])
def test_the_same_content_is_streamed_or_not(streams: bool) -> None:
    with MockLLM([says(0, "sea", "A rather long answer.", usage=9)], streams=streams) as server:
        assert ask(server, ("system", "sea")) == "A rather long answer."
        assert server.requests[0]["messages"] == [{"role": "system", "content": "sea"}]
        if streams:
            assert ask(server, ("system", "sea"), stream=True) == "A rather long answer."


def test_tool_calls_and_usage_come_through_a_stream() -> None:
    rule = says(0, "sea", calls(("swim", {"far": 3})), usage=9)
    with MockLLM([rule]) as server:
        model = ChatOpenAI(
            model="m",
            base_url=server.base_url,
            api_key="x",  # type: ignore[arg-type]  # it takes a plain text
            stream_usage=True,
        )
        whole = next(stream := model.stream([("system", "sea")]))
        for chunk in stream:
            whole += chunk
    assert [(call["name"], call["args"]) for call in whole.tool_calls] == [("swim", {"far": 3})]
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["total_tokens"] == 9


def test_a_status_of_a_rule_is_that_of_the_answer() -> None:
    response = {"status": 500, "content": '"Unrecognised agent"'}
    with MockLLM([{"path": CHAT, "response": response}]) as server:
        with pytest.raises(InternalServerError, match="500"):
            ask(server, ("system", "sea"))


def test_rules_are_read_from_values_and_hold_for_other_paths_too(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    rule = {"path": "/v1/models", "method": "GET", "response": {"status": 200, "content": "{}"}}
    values.write_text(json.dumps({"config": {"rules": [rule]}}))
    with MockLLM(rules_of(values)) as server:
        with urllib.request.urlopen(f"{server.base_url}/models") as answer:
            assert answer.read() == b"{}"
        assert server.methods == ["GET /v1/models"]
        assert server.requests == []


def test_a_completion_tells_its_usage_only_where_there_is_some() -> None:
    assert "usage" not in json.loads(completion("x"))
    assert json.loads(completion("x", 9))["usage"]["total_tokens"] == 9


PRINTED = {
    "phase": "done",
    "responses": [
        {
            "target": {"type": "team", "name": "t"},
            "phase": "done",
            "content": "SUMMARY: all",
            "raw": [{"role": "assistant", "content": "RESEARCH: some"}],
        }
    ],
    "tokenUsage": {"totalTokens": 51},
}


@pytest.mark.parametrize(
    ("tree", "holds"),
    [
        ({"phase": "done"}, True),
        ({"phase": "error"}, False),
        ({"(response != null)": True}, True),
        ({"(response.target.name)": "t"}, True),
        ({"(length(responses))": 1}, True),
        ({"(length(responses[0].content) > `12`)": True}, False),
        ({"(length(join('', responses[*].content)) > `11`)": True}, True),
        ({"(contains(responses[*].target.name, 't'))": True}, True),
        ({"(contains(response.raw, 'RESEARCH:'))": True}, True),
        ({"(contains(response.content, 'x') || contains(response.content, 'all'))": True}, True),
        ({"(tokenUsage.totalTokens > `50`)": True}, True),
        ({"(conditions[?type == 'Completed'])": [{"status": "True"}]}, True),
        ({"(conditions[?type == 'Completed'])": [{"status": "False"}]}, False),
        ({"(conditions[?type == 'Other'])": [{"status": "True"}]}, False),
        ({"conditions": [{"type": "Completed"}, {"type": "Other"}]}, False),
    ],
)
def test_an_assertion_holds_or_not(tree: dict[str, object], holds: bool) -> None:
    assert (mismatches(tree, status_of(PRINTED)) == []) is holds


def test_a_test_is_read_with_what_it_passes_over(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("")
    steps = [
        {"script": {"content": "helm"}},
        {"apply": {"file": "*.yaml"}},
        {"apply": {"resource": {"kind": "Secret"}}},
        {"wait": {"kind": "Query", "name": "q"}},
        {"wait": {"kind": "Model", "name": "m", "for": {"condition": {"name": "Available"}}}},
        {
            "assert": {
                "resource": {
                    "kind": "Agent",
                    "metadata": {"name": "a"},
                    "status": {"conditions": [{"type": "Available", "status": "True"}]},
                }
            }
        },
        {"error": {"resource": {"kind": "Team", "metadata": {"name": "t"}}}},
    ]
    file = tmp_path / "chainsaw-test.json"
    file.write_text(json.dumps({"spec": {"steps": [{"try": steps, "catch": [{"events": {}}]}]}}))
    test = read(file)
    assert (test.applied, test.inline) == ([tmp_path / "one.yaml"], [{"kind": "Secret"}])
    assert [(check.kind, check.name) for check in test.checks] == [("Query", "q"), ("Agent", "a")]
    assert test.query == "q"
    assert test.checks[1].tree == {"metadata": {"name": "a"}}
    assert test.passed_over == [
        "script",
        "wait: Model Available",
        "assert: Agent status Available",
        "error: Team",
        "catch: events",
    ]
