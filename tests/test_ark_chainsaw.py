"""ARK's own end-to-end tests, run through the command line against a server on this machine.

What they assert must hold, with the replies that stand beside them, or with ours where there are
none (there the original asked a real model).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from flowcompose.runner.manifest import Manifest, load
from tests.ark_documents import (
    Ran,
    asked,
    flowcompose_here,
    flowcompose_there,
    problems_of,
    tools_of,
)
from tests.ark_samples import (
    SAMPLES,
    VERSIONS,
    agent_tests,
    all_files,
    needs_samples,
    shown,
    team_tests,
)
from tests.chainsaw import ChainsawTest, mismatches, read, status_of
from tests.mock_llm import MockLLM, Rule, calls, rules_of, says

pytestmark = needs_samples

MOCKED = team_tests(mocked=True)
UNMOCKED = team_tests(mocked=False)

SELECT = "Select the next participant"
BRIEFLY = "A few words on the matter at hand."
AT_LENGTH = "Kubernetes: an Analysis with one Insight, Research Findings and a Document. " * 8

# For tests that asked a real model: who is asked, as the prompts tell, and what is answered.
ANSWERS: dict[str, Sequence[Rule]] = {
    "team-sequential": [
        says(0, "research agent", "RESEARCH: adoption grows."),
        says(0, "analysis agent", "ANALYSIS: it pays."),
        says(0, "summarization agent", "SUMMARY: AI changes work. " + AT_LENGTH),
    ],
    "team-of-teams": [
        says(0, "research specialist", BRIEFLY),
        says(0, "data analysis expert", BRIEFLY),
        says(0, "synthesis specialist", BRIEFLY),
        says(0, "coordination specialist", AT_LENGTH),
    ],
    "team-graph": [
        says(0, "research specialist", BRIEFLY),
        says(0, "data analyst", BRIEFLY),
        says(0, "quality reviewer", BRIEFLY),
        says(0, "technical writer", AT_LENGTH),
    ],
    "team-round-robin-max-turns": [
        says(0, "creative brainstormer", "IDEA: meet less."),
        says(0, "constructive critic", "CRITIQUE: meet better."),
        says(
            0,
            "meeting coordinator",
            "COORDINATION: once more.",
            calls(("terminate", {"response": AT_LENGTH})),
        ),
    ],
    "team-selector": [
        says(0, "project coordinator", calls(("terminate", {"response": AT_LENGTH}))),
        says(0, "research specialist", AT_LENGTH),
        says(0, "strategic analyst", AT_LENGTH),
        says(-1, SELECT, "researcher", "analyst", "coordinator"),
    ],
}

# With the second version the first member opens, and the coordinator only selects.
OPENED_BY_FIRST = [
    *ANSWERS["team-selector"][:3],
    says(-1, SELECT, "analyst", "researcher", "analyst", "researcher", "analyst"),
]

PASSED_OVER = {
    "script",  # helm, kubectl, bash
    "wait: Model ModelAvailable",
    "assert: Model status ModelAvailable",
    "assert: Model status phase ready",
    "assert: Agent status Available",
    "assert: Team status Available",
    "catch: events",
    "catch: describe",
    "catch: script",
    "cleanup: script",
}
"""What stands in the tests, and only a cluster has."""


def _rules(folder: Path) -> Sequence[Rule]:
    if folder.name == "team-selector" and not shown(folder).startswith("v0.1.31"):
        return OPENED_BY_FIRST
    return ANSWERS[folder.name]


def _run(server: MockLLM, paths: Sequence[Path], *options: str, in_process: bool = False) -> Ran:
    command = flowcompose_here if in_process else flowcompose_there
    ran = command("run", *paths, "--base-url", server.base_url, *options)
    return Ran(ran.code, ran.out, ran.err, server.requests)


def _differences(test: ChainsawTest, ran: Ran, loaded: Manifest) -> list[str]:
    """What does not hold of all that a test asserts."""
    printed = ran.json
    problems: list[str] = []
    for check in test.checks:
        found = _object(loaded, check.kind, check.name)
        if check.kind == "Query":
            found["status"] = status_of(printed)
        where = f"{check.kind} {check.name}"
        problems += [f"{where}: {each}" for each in mismatches(check.tree, found)]
    return problems


def _object(loaded: Manifest, kind: str, name: str) -> dict[str, Any]:
    """A document as a cluster would show it."""
    document = loaded.find(kind, name)
    assert document is not None, f"{kind} {name} was not loaded"
    assert document.spec is not None
    spec = document.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"metadata": {"name": name, "labels": dict(document.labels)}, "spec": spec}


def _ids(paths: Sequence[Path]) -> list[str]:
    return [shown(path) for path in paths]


@pytest.mark.parametrize("folder", MOCKED, ids=_ids(MOCKED))
@pytest.mark.parametrize("streams", [True, False], ids=["streams", "plain-json"])
def test_a_test_with_replies_holds_over_http(folder: Path, streams: bool) -> None:
    test = read(folder / "chainsaw-test.yaml")
    with MockLLM(rules_of(folder / "mock-llm-values.yaml"), streams=streams) as server:
        ran = _run(server, [folder / "manifests"], "--json")
    assert (ran.code, _differences(test, ran, load([folder / "manifests"]))) == (0, [])
    assert ran.json["query"] == test.query
    assert problems_of(ran.requests) == []


@pytest.mark.parametrize("folder", MOCKED, ids=_ids(MOCKED))
@pytest.mark.parametrize("streams", [True, False], ids=["streams", "plain-json"])
def test_a_test_with_replies_shows_every_word_as_a_transcript(folder: Path, streams: bool) -> None:
    rules = rules_of(folder / "mock-llm-values.yaml")
    with MockLLM(rules, streams=streams) as server:
        ran = _run(server, [folder / "manifests"], "--plain", in_process=True)
    with MockLLM(rules) as server:
        told = _run(server, [folder / "manifests"], "--json", in_process=True)
    assert (ran.code, told.code) == (0, 0)
    said = [text for role, _, text in told.raw if role == "assistant" and text]
    assert said
    assert [text for text in said if text not in " ".join(ran.out.split())] == []
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("folder", UNMOCKED, ids=_ids(UNMOCKED))
def test_a_test_that_asked_a_real_model_holds_with_our_replies(folder: Path) -> None:
    test = read(folder / "chainsaw-test.yaml")
    with MockLLM(_rules(folder)) as server:
        ran = _run(server, [folder / "manifests"], "--json", in_process=True)
    assert (ran.code, _differences(test, ran, load([folder / "manifests"]))) == (0, [])
    assert problems_of(ran.requests) == []


@pytest.mark.parametrize("file", agent_tests(), ids=_ids(agent_tests()))
def test_a_test_of_the_walkthrough_holds_with_our_replies(file: Path, tmp_path: Path) -> None:
    test = read(file)
    inline = tmp_path / "inline.yaml"
    inline.write_text(yaml.safe_dump_all(test.inline))
    with MockLLM([says(0, "You are", AT_LENGTH)]) as server:
        ran = _run(server, [*test.applied, inline], "--json", in_process=True)
    assert (ran.code, _differences(test, ran, load([*test.applied, inline]))) == (0, [])
    (asked_once,) = ran.requests
    creator = "creator" in file.name
    assert tools_of(asked_once) == ([] if creator else ["web-search"])


def test_a_whole_folder_of_a_test_runs_with_all_that_is_no_manifest_in_it() -> None:
    folder = SAMPLES / "v0.1.67rc" / "tests" / "team-of-teams"
    with MockLLM(rules_of(folder / "mock-llm-values.yaml")) as server:
        ran = _run(server, [folder], "--json", in_process=True)
    assert (ran.code, ran.response["content"]) == (0, "coordinator-output")


def test_what_is_passed_over_is_what_only_a_cluster_has() -> None:
    files = [folder / "chainsaw-test.yaml" for folder in (*MOCKED, *UNMOCKED)] + agent_tests()
    assert {each for file in files for each in read(file).passed_over} == PASSED_OVER
    assert (len(MOCKED), len(UNMOCKED), len(agent_tests())) == (5, 12, 12)


# --- what the model is sent


def test_each_member_of_the_sequence_gets_its_prompt_then_what_was_said_then_the_input() -> None:
    ran = _replayed("v0.1.50/tests/team-sequential")
    given = _input_of(ran)
    said = [
        ("assistant", "researcher", "RESEARCH: AI adoption increased 270% in 4 years."),
        ("assistant", "analyst", "ANALYSIS: AI is transitioning from optional to mandatory."),
        ("assistant", "summarizer", "SUMMARY: AI is reshaping business with 77% adoption."),
    ]
    assert [asked(body)[1:] for body in ran.requests] == [
        [("user", None, given)],
        [said[0], ("user", None, given)],
        [*said[:2], ("user", None, given)],
    ]
    assert [asked(body)[0][2].split(".")[0] for body in ran.requests] == [
        "You are a Researcher Agent",
        "You are an Analyst Agent",
        "You are a Summarizer Agent",
    ]
    assert ran.raw == said
    assert ran.response["content"] == said[-1][2]


def _input_of(ran: Ran) -> str:
    (given,) = {asked(body)[-1][2] for body in ran.requests}
    return given


def _replayed(name: str) -> Ran:
    folder = SAMPLES / name
    with MockLLM(rules_of(folder / "mock-llm-values.yaml")) as server:
        return _run(server, [folder / "manifests"], "--json", in_process=True)


def test_the_selector_of_the_last_version_chooses_by_tool_and_ends_by_tool() -> None:
    ran = _replayed("v0.1.67rc/tests/team-selector")
    choosing = ["select-next-speaker", "terminate"]
    assert [tools_of(body) for body in ran.requests] == [choosing, [], choosing, [], choosing]
    assert {body.get("tool_choice") for body in ran.requests} == {"required", None}
    enums = [
        body["tools"][0]["function"]["parameters"]["properties"]["name"]["enum"]
        for body in ran.requests[::2]
    ]
    assert enums == [["researcher", "analyst"]] * 3
    assert ran.json["era"] == "v0.1.67"
    assert ran.json["tokenUsage"] == {
        "promptTokens": 60 + 70 + 80 + 90 + 100,
        "completionTokens": 3 + 18 + 3 + 22 + 20,
        "totalTokens": 466,
    }


def test_the_selector_of_the_last_version_sees_the_input_and_what_was_said_under_names() -> None:
    ran = _replayed("v0.1.67rc/tests/team-selector")
    given = asked(ran.requests[1])[-1][2]
    last = asked(ran.requests[4])
    assert [role for role, _, _ in last] == ["system", "system", "user"]
    told = last[1][2]
    roles = "researcher: Research and data analysis specialist, analyst: Strategic analysis"
    assert f"Available roles:\n{roles} and insights expert\n" in told
    assert f"# user:\n{given}\n\n# researcher:\nRESEARCH: " in told
    assert "\n\n# analyst:\nANALYSIS: " in told
    assert "Choose from: researcher, analyst\n" in told
    assert "\n\nUse the select-next-speaker tool to express your next speaker selection." in told
    assert told.index("do not return a role. Instead call the terminate tool.") > 0


def test_what_the_selector_of_the_last_version_said_at_the_end_is_told_last() -> None:
    ran = _replayed("v0.1.67rc/tests/team-selector")
    roles = [(role, name) for role, name, _ in ran.raw]
    assert roles[:2] == [("assistant", "researcher"), ("assistant", "analyst")]
    assert [role for role, _ in roles[2:]] == ["assistant", "tool"]
    assert ran.raw[-1][2].startswith("COORDINATION: Research and analysis complete.")
    assert ran.response["content"].startswith("ANALYSIS: ")  # the last words of an assistant
    assert ran.stop == "selector_stop"


def test_teams_within_a_team_see_what_was_said_before_them() -> None:
    ran = _replayed("v0.1.67rc/tests/team-of-teams")
    before = [[text for _, _, text in asked(body)[1:-1]] for body in ran.requests]
    said = ["researcher-output", "analyst-output", "synthesizer-output"]
    assert before == [said[:count] for count in range(4)]


# --- samples that no test of theirs runs


def _samples() -> list[Path]:
    teams = [path for path in all_files() if path.match("samples/teams/*.yaml")]
    return teams + [SAMPLES / each / "samples/walkthrough/tests/manifests" for each in VERSIONS]


SPEAKERS = {
    "sequential.yaml": ["Append"] * 3,
    "graph-strategy.yaml": [
        "You are a research specialist",
        "You are a data analyst",
        "You are a quality reviewer",
        "You are a technical writer",
    ],
    "multi-model-agents.yaml": ["You're helpful agent"] * 2,
    "manifests": [
        "You are a research specialist",
        "You are an expert analyst",
        "You are a professional document creator",
    ],
}


@pytest.mark.parametrize("path", _samples(), ids=_ids(_samples()))
def test_a_published_sample_runs_as_it_stands(path: Path) -> None:
    with MockLLM([says(0, "", "Said.")]) as server:
        ran = _run(server, [path], "--json", in_process=True)
    assert (ran.code, ran.json["phase"]) == (0, "done")
    prompts = [asked(body)[0][2] for body in ran.requests]
    wanted = SPEAKERS[path.name]
    assert len(prompts) == len(wanted)
    assert [p for p, start in zip(prompts, wanted, strict=True) if not p.startswith(start)] == []
    assert {each["content"] for each in ran.json["responses"]} == {"Said."}


# --- parameters


def _parameter_sets() -> list[list[str]]:
    rest = ["a01-secret.yaml", "a02-configmap.yaml", "a03-secret-params.yaml", "a05-agent.yaml"]
    models = [f"a01-model-{each}.yaml" for each in ("azure", "openai", "bedrock")]
    alone = [["v0.1.31", "a04-model.yaml", *rest], ["v0.1.50", "a04-model.yaml", *rest]]
    return alone + [["v0.1.57", each, *rest] for each in models]


@pytest.mark.parametrize("names", _parameter_sets(), ids=lambda names: f"{names[0]}-{names[1]}")
def test_parameters_stand_in_the_prompt_and_those_of_secrets_nowhere_else(
    names: list[str],
) -> None:
    folder = SAMPLES / names[0] / "tests" / "agent-parameters" / "manifests"
    hidden = "Always include test validation in responses"
    options = ("--team", "test-agent-with-params", "--input", "Go on.", "--json")
    with MockLLM([says(0, "Test Parameter Agent", f"I shall: {hidden}")]) as server:
        ran = _run(server, [folder / each for each in names[1:]], *options, in_process=True)
    assert ran.code == 0
    ((_, _, prompt), *_rest) = asked(ran.requests[0])
    assert prompt.startswith("You are Test Parameter Agent running in enabled mode.\n")
    assert "Your role is: technical assistant\n" in prompt
    assert f"Special instructions: {hidden}\n" in prompt
    assert "{{" not in prompt
    assert ran.response["content"] == "I shall: ***"
    assert hidden not in ran.out + ran.err
