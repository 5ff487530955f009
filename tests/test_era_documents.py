"""Agents, queries and what is refused before anything runs, in each era of ARK documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ark_documents import (
    E1,
    E2,
    E3,
    ERAS,
    GOAL,
    Doc,
    agent,
    asked,
    document,
    edges,
    flowcompose_here,
    model,
    problems_of,
    prompt_of,
    query,
    run,
    said,
    team,
    terminating,
    write,
)
from tests.openai_server import HttpError, Replies, ToolCalls

each_era = pytest.mark.parametrize("era", ERAS)

ABC = (agent("a"), agent("b"), agent("c"))
NOOP = [{"type": "built-in", "name": "noop"}]


# --- what is refused

BOUND = {"agent": "b"}

REFUSED: list[tuple[str, Doc, str]] = [
    (E1, team("t", "", "sequential"), "members"),
    (E1, team("t", "a", "freestyle"), "unsupported strategy 'freestyle': must be 'sequential', "),
    (E3, team("t", "a", "freestyle"), "must be 'sequential', 'round-robin', or 'selector'"),
    (E1, team("t", "team:t"), "team member 0: team 't' cannot reference itself"),
    (E1, team("t", "a nobody"), "team member 1 references agent: agent 'nobody' does not exist"),
    (E1, team("t", "team:none"), "team member 0 references team: team 'none' does not exist"),
    (E1, team("t", "a", "graph", maxTurns=1), "graph strategy requires graph configuration"),
    (E1, team("t", "a", "graph", maxTurns=1, graph={"edges": []}), "requires at least one edge"),
    (
        E1,
        team("t", "a b", "graph", maxTurns=1, graph=edges("a>b", "x>b")),
        "graph edge 1: 'from' member 'x' not found in team members",
    ),
    (
        E1,
        team("t", "a b", "graph", maxTurns=1, graph=edges("a>y")),
        "graph edge 0: 'to' member 'y' not found in team members",
    ),
    (
        E1,
        team("t", "a b c", "graph", maxTurns=1, graph=edges("a>b", "a>c")),
        "member 'a' has more than one outgoing edge",
    ),
    (E2, team("t", "a", "selector", maxTurns=2), "requires selector.agent to be specified"),
    (
        E2,
        team("t", "a", "selector", maxTurns=2, selector={"agent": "nobody"}),
        "selector agent 'nobody' not found in namespace default",
    ),
    (
        E2,
        team("t", "a", "selector", maxTurns=2, selector=BOUND, graph={"edges": []}),
        "graph constraint requires at least one edge",
    ),
    (E3, team("t", "a", maxTurns=2), "maxTurns can only be set when loops is enabled"),
    (
        E3,
        team("t", "a", "selector", maxTurns=2, loops=True, selector=BOUND),
        "loops can only be used with the 'sequential' strategy",
    ),
    (E1, team("t", "a", "round-robin", maxTurns=0), "maxTurns"),
]


@pytest.mark.parametrize(
    ("era", "bad", "reason"), REFUSED, ids=[reason[:40] for _, _, reason in REFUSED]
)
def test_a_team_that_cannot_work_is_refused_with_the_reason_and_its_place(
    tmp_path: Path, era: str, bad: Doc, reason: str
) -> None:
    ran = run(tmp_path, era, [], *ABC, bad, query("t"))
    assert (ran.code, ran.requests, ran.json["ok"]) == (2, [], False)
    errors = [each for each in ran.json["problems"] if each["severity"] == "error"]
    assert [each for each in errors if reason in f"{each['path']} {each['message']}"], errors
    assert all(each["line"] for each in errors)


@each_era
def test_teams_that_contain_each_other_are_refused(tmp_path: Path, era: str) -> None:
    teams = (team("one", "team:two"), team("two", "team:three"), team("three", "team:one"))
    ran = run(tmp_path, era, [], *teams, query("one"))
    assert (ran.code, ran.requests, ran.json["ok"]) == (2, [], False)
    told = " ".join(each["message"] for each in ran.json["problems"])
    assert all(name in told for name in ("one", "two", "three"))


@pytest.mark.parametrize(
    ("era", "uncapped", "reason"),
    [
        (E1, team("t", "a b", "round-robin"), ""),
        (E1, team("t", "a b", "graph", graph=edges("a>b")), "graph strategy requires maxTurns"),
        (
            E3,
            team("t", "a", "selector", selector={"agent": "b"}),
            "selector strategy requires maxTurns to prevent infinite execution",
        ),
        (E3, team("t", "a", loops=True), "maxTurns is required when loops is enabled"),
    ],
    ids=["round-robin", "graph", "selector", "loops"],
)
def test_a_missing_cap_is_a_warning_and_an_error_for_those_who_want_it_strict(
    tmp_path: Path, era: str, uncapped: Doc, reason: str
) -> None:
    file = write(tmp_path, *ABC, uncapped)
    lenient = flowcompose_here("validate", file, "--compat", era, "--json")
    strict = flowcompose_here("validate", file, "--compat", era, "--strict", "--json")
    assert (lenient.code, strict.code) == (0, 2)
    told = [each for each in lenient.json["problems"] if "a cap of 100 turns" in each["message"]]
    assert [each["severity"] for each in told] == ["warning"]
    assert reason in told[0]["message"]


# --- agents


@each_era
def test_a_lone_agent_can_be_asked(tmp_path: Path, era: str) -> None:
    ran = run(tmp_path, era, ["Hi."], *ABC, query("a", kind="agent"))
    assert (ran.code, ran.response["target"]) == (0, {"type": "agent", "name": "a"})
    assert asked(ran.requests[0]) == [("system", None, prompt_of("a")), ("user", None, GOAL)]
    assert ran.raw == said("a=Hi.")


@each_era
def test_a_lone_agent_that_terminates_has_answered(tmp_path: Path, era: str) -> None:
    replies: Replies = [ToolCalls([("terminate", {"response": "Enough."})])]
    ran = run(tmp_path, era, replies, terminating("a"), query("a", kind="agent"))
    assert (ran.code, ran.json["phase"]) == (0, "done")
    assert ran.raw[-1] == ("tool", None, "Enough.")


@each_era
def test_parameters_stand_in_prompt_and_input_but_only_where_they_are_declared(
    tmp_path: Path, era: str
) -> None:
    tide = {"name": "what", "value": "tides {{.more}}"}
    told = agent("a", "Speak of {{.what}}, {{ .what }}, {{.none}}.", parameters=[tide])
    plain = agent("b", "Literally {{.what}}.")
    asking = query("line", "About {{.place}}.", parameters=[{"name": "place", "value": "Wales"}])
    ran = run(tmp_path, era, ["1", "2"], told, plain, team("line", "a b"), asking)
    filled = "tides {{.more}}"
    assert asked(ran.requests[0])[0][2] == f"Speak of {filled}, {filled}, <no value>."
    assert asked(ran.requests[1])[0][2] == "Literally {{.what}}."
    assert {asked(body)[-1][2] for body in ran.requests} == {"About Wales."}


@each_era
def test_an_input_without_parameters_is_taken_as_it_stands(tmp_path: Path, era: str) -> None:
    ran = run(tmp_path, era, ["1"], *ABC, team("line", "a"), query("line", "Why {{.this}}?"))
    assert asked(ran.requests[0])[-1][2] == "Why {{.this}}?"


@each_era
def test_an_output_schema_is_sent_under_the_name_of_the_agent(tmp_path: Path, era: str) -> None:
    schema = {"type": "object", "properties": {"height": {"type": "number"}}}
    answer = {"height": 2}
    replies: Replies = [json.dumps(answer)]
    ran = run(tmp_path, era, replies, agent("a", outputSchema=schema), query("a", kind="agent"))
    form = ran.requests[0]["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["name"] == "namespace-default-agent-a"
    assert form["json_schema"]["schema"] == schema
    assert not form["json_schema"].get("strict")
    assert json.loads(ran.response["content"]) == answer


@each_era
def test_a_tool_is_run_and_the_agent_asked_again(tmp_path: Path, era: str) -> None:
    replies: Replies = [ToolCalls([("noop", {"message": "?"})]), "Done.", "2"]
    a = agent("a", tools=NOOP)
    ran = run(tmp_path, era, replies, a, ABC[1], team("line", "a b"), query("line"))
    assert (ran.code, ran.speakers) == (0, ["a", "a", "b"])
    roles = [[role for role, _, _ in asked(body)] for body in ran.requests]
    assert roles[1] == ["system", "user", "assistant", "tool"]
    assert roles[2] == ["system", "assistant", "tool", "assistant", "user"]
    assert [role for role, _, _ in ran.raw] == ["assistant", "tool", "assistant", "assistant"]
    assert problems_of(ran.requests) == []


def test_an_agent_that_calls_what_it_was_not_given_does_not_break_the_api(tmp_path: Path) -> None:
    replies: Replies = [ToolCalls([("fly", {"to": "Mars"})]), "Walked."]
    ran = run(tmp_path, E3, replies, agent("a", tools=NOOP), query("a", kind="agent"))
    assert problems_of(ran.requests) == []
    assert ran.code in (0, 1)
    assert "Traceback" not in ran.err


def test_with_an_address_each_agent_asks_the_model_that_its_document_names(tmp_path: Path) -> None:
    models = (model("small", "gpt-small"), model("default", "gpt-default"))
    a, c = agent("a", modelRef={"name": "small"}), agent("c", modelRef={"name": "nowhere"})
    line = team("line", "a b c")
    ran = run(tmp_path, E1, list("123"), *models, a, ABC[1], c, line, query("line"))
    assert [body["model"] for body in ran.requests] == ["gpt-small", "gpt-default", "gpt-4o"]


def test_a_model_of_the_command_line_is_that_of_every_agent(tmp_path: Path) -> None:
    a = agent("a", modelRef={"name": "small"})
    documents = (model("small", "gpt-small"), a, ABC[1], team("line", "a b"), query("line"))
    ran = run(tmp_path, E1, list("12"), *documents, more=("--model", "gpt-mine"))
    assert {body["model"] for body in ran.requests} == {"gpt-mine"}


# --- queries


@each_era
def test_targets_are_asked_one_after_the_other_and_one_that_fails_keeps_the_others(
    tmp_path: Path, era: str
) -> None:
    all_three = [{"type": "agent", "name": name} for name in "abc"]
    asking = document("Query", "ask", input=GOAL, targets=all_three)
    ran = run(tmp_path, era, ["1", HttpError(400, "boom"), "3"], *ABC, asking)
    answers = ran.json["responses"]
    assert [each["target"]["name"] for each in answers] == ["a", "b", "c"]
    assert [each["phase"] for each in answers] == ["done", "error", "done"]
    assert (ran.code, ran.json["phase"]) == (1, "error")
    assert (answers[0]["content"], answers[2]["content"]) == ("1", "3")
    assert "boom" in answers[1]["content"]


def test_a_singular_target_is_taken_too(tmp_path: Path) -> None:
    asking = document("Query", "ask", input=GOAL, target={"type": "agent", "name": "a"})
    ran = run(tmp_path, "auto", ["1"], *ABC, asking)
    assert (ran.code, ran.json["era"], ran.raw) == (0, E2, said("a=1"))


def test_labels_choose_who_is_asked(tmp_path: Path) -> None:
    chosen = agent("a")
    chosen["metadata"]["labels"] = {"sea": "yes"}
    asking = document("Query", "ask", input=GOAL, selector={"matchLabels": {"sea": "yes"}})
    ran = run(tmp_path, E1, ["1"], chosen, ABC[1], asking)
    assert (ran.code, ran.response["target"]) == (0, {"type": "agent", "name": "a"})


def test_a_query_that_is_canceled_runs_nothing(tmp_path: Path) -> None:
    ran = run(tmp_path, E1, [], *ABC, team("line", "a"), query("line", cancel=True))
    assert (ran.code, ran.json["phase"], ran.requests) == (130, "canceled", [])


def test_a_team_can_be_run_with_an_input_of_the_command_line(tmp_path: Path) -> None:
    more = ("--team", "line", "--input", "What now?")
    ran = run(tmp_path, E1, ["1"], *ABC, team("line", "a"), more=more)
    assert (ran.code, ran.json["query"]) == (0, None)
    assert asked(ran.requests[0])[-1] == ("user", None, "What now?")
