"""Teams of ARK documents: who speaks in which order, what the model is sent, how a run ends.

Each era has rules of its own; what is tested here is what its own tests and code hold.
"""

from __future__ import annotations

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
    edges,
    flowcompose_here,
    problems_of,
    prompt_of,
    query,
    run,
    said,
    team,
    terminating,
    tools_of,
    write,
)
from tests.mock_llm import MockLLM, says
from tests.openai_server import HttpError, Replies, ToolCalls

each_era = pytest.mark.parametrize("era", ERAS)

ABC = (agent("a"), agent("b"), agent("c"))
INPUT = ("user", None, GOAL)
ENDED_BY_CAP = {"max_turns", "max_rounds"}


# --- sequential


@each_era
def test_a_sequence_runs_each_member_once_in_order(tmp_path: Path, era: str) -> None:
    ran = run(tmp_path, era, ["1", "2", "3"], *ABC, team("line", "a b c"), query("line"))
    assert (ran.code, ran.speakers) == (0, ["a", "b", "c"])
    assert ran.raw == said("a=1", "b=2", "c=3")
    assert (ran.json["phase"], ran.response["content"], ran.stop) == ("done", "3", "completed")


@each_era
def test_a_member_gets_its_prompt_then_what_was_said_and_the_input_last(
    tmp_path: Path, era: str
) -> None:
    ran = run(tmp_path, era, ["1", "2", "3"], *ABC, team("line", "a b c"), query("line"))
    assert [asked(body) for body in ran.requests] == [
        [("system", None, prompt_of("a")), INPUT],
        [("system", None, prompt_of("b")), *said("a=1"), INPUT],
        [("system", None, prompt_of("c")), *said("a=1", "b=2"), INPUT],
    ]


@each_era
def test_the_object_that_is_printed_has_all_keys(tmp_path: Path, era: str) -> None:
    ran = run(tmp_path, era, ["1"], *ABC, team("line", "a"), query("line"))
    keys = ["query", "phase", "responses", "stop", "tokenUsage", "thread", "era"]
    assert list(ran.json) == keys
    assert (ran.json["query"], ran.json["era"]) == ("ask", era)
    assert ran.response["target"] == {"type": "team", "name": "line"}
    assert set(ran.response) == {"target", "phase", "content", "raw"}
    assert set(ran.json["stop"]) == {"reason", "by", "detail"}
    assert set(ran.json["tokenUsage"]) == {"promptTokens", "completionTokens", "totalTokens"}


@each_era
def test_a_member_that_is_listed_twice_speaks_twice(tmp_path: Path, era: str) -> None:
    ran = run(tmp_path, era, ["1", "2", "3"], *ABC, team("line", "a a b"), query("line"))
    assert ran.raw == said("a=1", "a=2", "b=3")


@each_era
def test_an_error_of_a_member_ends_the_team_and_keeps_what_was_said(
    tmp_path: Path, era: str
) -> None:
    replies: Replies = ["1", HttpError(400, "boom")]
    ran = run(tmp_path, era, replies, *ABC, team("line", "a b c"), query("line"))
    assert (ran.code, ran.json["phase"], ran.response["phase"]) == (1, "error", "error")
    assert ran.raw == said("a=1")
    assert "boom" in ran.response["error"]
    assert "failed in team" not in ran.response["error"]
    assert ran.speakers == ["a", "b"]


@each_era
def test_tokens_of_all_members_are_added(tmp_path: Path, era: str) -> None:
    file = write(tmp_path, *ABC, team("line", "a b"), query("line"))
    rules = [says(0, "You are a", "1", usage=30), says(0, "You are b", "2", usage=60)]
    with MockLLM(rules) as server:
        options = ("--base-url", server.base_url, "--compat", era, "--json")
        ran = flowcompose_here("run", file, *options)
    spent = {"promptTokens": 60, "completionTokens": 30, "totalTokens": 90}
    assert ran.json["tokenUsage"] == spent


# --- round-robin and loops


def test_in_the_first_era_whole_cycles_count_and_the_cap_is_an_error_that_keeps_all(
    tmp_path: Path,
) -> None:
    panel = team("panel", "a b", "round-robin", maxTurns=2)
    ran = run(tmp_path, E1, list("1234"), *ABC, panel, query("panel"))
    assert (ran.code, ran.json["phase"]) == (1, "error")
    assert "team round-robin MaxTurns reached panel" in ran.response["error"]
    assert ran.raw == said("a=1", "b=2", "a=3", "b=4")
    assert ran.stop in ENDED_BY_CAP


def test_in_the_second_era_whole_cycles_count_and_the_cap_is_no_error(tmp_path: Path) -> None:
    panel = team("panel", "a b", "round-robin", maxTurns=2)
    ran = run(tmp_path, E2, list("1234"), *ABC, panel, query("panel"))
    assert (ran.code, ran.json["phase"], ran.response["content"]) == (0, "done", "4")
    assert ran.raw == said("a=1", "b=2", "a=3", "b=4")
    assert ran.stop in ENDED_BY_CAP


def test_in_the_last_era_a_loop_counts_single_turns_and_says_that_the_cap_was_reached(
    tmp_path: Path,
) -> None:
    loop = team("loop", "a b", loops=True, maxTurns=3)
    ran = run(tmp_path, E3, list("123"), *ABC, loop, query("loop"))
    assert (ran.code, ran.json["phase"]) == (0, "done")
    told = ("system", None, "Team conversation reached maximum turns limit (3)")
    assert ran.raw == [*said("a=1", "b=2", "a=3"), told]
    assert (ran.response["content"], ran.stop) == ("3", "max_turns")


def test_in_the_last_era_round_robin_is_a_loop_of_single_turns(tmp_path: Path) -> None:
    panel = team("panel", "a b", "round-robin", maxTurns=3)
    ran = run(tmp_path, E3, list("123"), *ABC, panel, query("panel"))
    assert (ran.code, ran.speakers) == (0, ["a", "b", "a"])
    assert "flowcompose: warning: " in ran.err
    assert "round-robin" in ran.err


def test_in_the_last_era_round_robin_without_turns_is_one_pass(tmp_path: Path) -> None:
    panel = team("panel", "a b", "round-robin")
    ran = run(tmp_path, E3, list("12"), *ABC, panel, query("panel"))
    assert (ran.code, ran.speakers, ran.stop) == (0, ["a", "b"], "completed")


@pytest.mark.parametrize("era", [E1, E2])
def test_a_panel_without_turns_stops_after_a_hundred_and_warns(tmp_path: Path, era: str) -> None:
    panel = team("panel", "a b", "round-robin")
    ran = run(tmp_path, era, lambda _: "on", *ABC, panel, query("panel"))
    assert (len(ran.requests), ran.stop) == (100, "max_turns")
    assert "it runs with a cap of 100 turns" in ran.err


@pytest.mark.parametrize("era", [E1, E2])
def test_every_cycle_sees_the_cycles_before(tmp_path: Path, era: str) -> None:
    panel = team("panel", "a b", "round-robin", maxTurns=2)
    ran = run(tmp_path, era, list("1234"), *ABC, panel, query("panel"))
    assert asked(ran.requests[3])[1:] == [*said("a=1", "b=2", "a=3"), INPUT]


@pytest.mark.parametrize(
    ("era", "panel"),
    [
        (E2, team("panel", "a b", "round-robin", maxTurns=2)),
        (E3, team("panel", "a b", loops=True, maxTurns=4)),
    ],
)
def test_a_failure_in_a_cycle_names_the_member_and_the_team(
    tmp_path: Path, era: str, panel: Doc
) -> None:
    replies: Replies = ["1", HttpError(400, "boom")]
    ran = run(tmp_path, era, replies, *ABC, panel, query("panel"))
    assert ran.code == 1
    assert "agent b failed in team default/panel: " in ran.response["error"]
    assert "boom" in ran.response["error"]
    assert ran.raw == said("a=1")


# --- graph

CHAIN = {"graph": edges("c>b", "b>a")}
RING = {"graph": edges("a>b", "b>a")}


@pytest.mark.parametrize("era", [E1, E2])
def test_a_graph_starts_with_the_first_member_and_follows_the_edges(
    tmp_path: Path, era: str
) -> None:
    path = team("path", "c a b", "graph", maxTurns=5, **CHAIN)
    ran = run(tmp_path, era, list("123"), *ABC, path, query("path"))
    assert (ran.code, ran.speakers) == (0, ["c", "b", "a"])
    assert ran.response["content"] == "3"


@pytest.mark.parametrize("era", [E1, E2])
def test_a_chain_that_just_fits_ends_well(tmp_path: Path, era: str) -> None:
    path = team("path", "c a b", "graph", maxTurns=3, **CHAIN)
    ran = run(tmp_path, era, list("123"), *ABC, path, query("path"))
    assert (ran.code, ran.stop) == (0, "completed")


@pytest.mark.parametrize("era", [E1, E2])
def test_a_member_outside_of_the_edges_does_not_speak(tmp_path: Path, era: str) -> None:
    path = team("path", "a b c", "graph", maxTurns=3, graph=edges("a>b"))
    ran = run(tmp_path, era, list("12"), *ABC, path, query("path"))
    assert (ran.code, ran.speakers) == (0, ["a", "b"])


def test_in_the_first_era_a_ring_ends_in_an_error_that_keeps_all(tmp_path: Path) -> None:
    ring = team("ring", "a b", "graph", maxTurns=3, **RING)
    ran = run(tmp_path, E1, list("123"), *ABC, ring, query("ring"))
    assert (ran.code, ran.stop) == (1, "max_turns")
    assert "team graph MaxTurns 3 reached for team " in ran.response["error"]
    assert ran.raw == said("a=1", "b=2", "a=3")


def test_in_the_second_era_a_ring_ends_well_at_its_cap(tmp_path: Path) -> None:
    ring = team("ring", "a b", "graph", maxTurns=3, **RING)
    ran = run(tmp_path, E2, list("123"), *ABC, ring, query("ring"))
    assert (ran.code, ran.stop) == (0, "max_turns")
    assert ran.raw == said("a=1", "b=2", "a=3")


def test_in_the_last_era_a_graph_is_a_sequence_and_says_so(tmp_path: Path) -> None:
    path = team("path", "c a b", "graph", maxTurns=5, **CHAIN)
    ran = run(tmp_path, E3, list("123"), *ABC, path, query("path"))
    assert (ran.code, ran.speakers, ran.stop) == (0, ["c", "a", "b"], "completed")
    assert "flowcompose: warning: " in ran.err
    assert "graph" in ran.err


@pytest.mark.parametrize("era", [E1, E2])
def test_an_error_in_a_graph_keeps_what_was_said(tmp_path: Path, era: str) -> None:
    ring = team("ring", "a b", "graph", maxTurns=3, **RING)
    ran = run(tmp_path, era, ["1", HttpError(400, "boom")], *ABC, ring, query("ring"))
    assert (ran.code, ran.raw) == (1, said("a=1"))


# --- the terminate tool

ENOUGH = ToolCalls([("terminate", {"response": "Enough."})])


@each_era
def test_a_member_that_terminates_ends_its_team_well(tmp_path: Path, era: str) -> None:
    members = (agent("a"), terminating("b"), agent("c"))
    ran = run(tmp_path, era, ["1", ENOUGH], *members, team("line", "a b c"), query("line"))
    assert (ran.code, ran.json["phase"], ran.stop) == (0, "done", "terminate_tool")
    assert ran.speakers == ["a", "b"]
    assert [tools_of(body) for body in ran.requests] == [[], ["terminate"]]
    assert ran.raw == [*said("a=1", "b="), ("tool", None, "Enough.")]
    call = ran.response["raw"][1]["tool_calls"][0]
    assert call["function"]["name"] == "terminate"
    assert ran.response["raw"][2]["tool_call_id"] == call["id"]


@each_era
def test_the_last_words_are_the_answer_and_in_the_last_era_those_of_an_assistant(
    tmp_path: Path, era: str
) -> None:
    members = (agent("a"), terminating("b"))
    ran = run(tmp_path, era, ["1", ENOUGH], *members, team("line", "a b"), query("line"))
    assert ran.response["content"] == ("1" if era == E3 else "Enough.")


@pytest.mark.parametrize("era", [E1, E2])
def test_a_member_that_terminates_ends_the_cycles(tmp_path: Path, era: str) -> None:
    panel = team("panel", "a b", "round-robin", maxTurns=5)
    replies: Replies = ["1", "2", "3", ENOUGH]
    ran = run(tmp_path, era, replies, agent("a"), terminating("b"), panel, query("panel"))
    assert (ran.code, ran.speakers) == (0, ["a", "b", "a", "b"])
    assert ran.stop == "terminate_tool"


def test_in_the_last_era_a_member_that_terminates_ends_the_loop(tmp_path: Path) -> None:
    loop = team("loop", "a b", loops=True, maxTurns=9)
    ran = run(tmp_path, E3, [ENOUGH], terminating("a"), agent("b"), loop, query("loop"))
    assert (ran.code, ran.speakers) == (0, ["a"])
    assert [role for role, _, _ in ran.raw] == ["assistant", "tool"]


@each_era
def test_terminating_ends_the_inner_team_only(tmp_path: Path, era: str) -> None:
    teams = (team("inner", "a b"), team("outer", "team:inner c"))
    replies: Replies = [ENOUGH, "3"]
    ran = run(tmp_path, era, replies, terminating("a"), *ABC[1:], *teams, query("outer"))
    assert (ran.code, ran.speakers) == (0, ["a", "c"])
    assert (ran.response["content"], ran.stop) == ("3", "completed")
    heard = [role for role, _, _ in asked(ran.requests[1])]
    assert heard == ["system", "assistant", "tool", "user"]


@each_era
def test_calls_that_are_left_when_a_team_ends_do_not_break_the_team_around_it(
    tmp_path: Path, era: str
) -> None:
    teams = (team("inner", "a"), team("outer", "team:inner c"))
    a = agent("a", tools=[{"type": "built-in", "name": each} for each in ("terminate", "noop")])
    ending = ToolCalls([("terminate", {"response": "Enough."}), ("noop", {"message": "?"})])
    ran = run(tmp_path, era, [ending, "3"], a, ABC[2], *teams, query("outer"))
    assert (ran.code, ran.response["content"]) == (0, "3")
    assert problems_of(ran.requests) == []


def test_in_the_last_era_a_response_may_be_missing(tmp_path: Path) -> None:
    replies: Replies = ["1", ToolCalls([("terminate", {})])]
    line = team("line", "a b")
    ran = run(tmp_path, E3, replies, ABC[0], terminating("b"), line, query("line"))
    assert (ran.code, ran.response["content"], ran.stop) == (0, "1", "terminate_tool")


# --- nested teams


@each_era
def test_inner_teams_hear_what_was_said_outside(tmp_path: Path, era: str) -> None:
    teams = (team("inner", "b c"), team("outer", "a team:inner a"))
    ran = run(tmp_path, era, list("1234"), *ABC, *teams, query("outer"))
    assert (ran.code, ran.speakers) == (0, ["a", "b", "c", "a"])
    heard = [[text for _, _, text in asked(body)[1:-1]] for body in ran.requests]
    assert heard == [[], ["1"], ["1", "2"], ["1", "2", "3"]]
    assert [text for _, _, text in ran.raw] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("era", [E1, E2])
def test_members_of_inner_teams_keep_their_names(tmp_path: Path, era: str) -> None:
    teams = (team("inner", "b c"), team("outer", "a team:inner"))
    ran = run(tmp_path, era, list("123"), *ABC, *teams, query("outer"))
    assert ran.raw == said("a=1", "b=2", "c=3")


def test_in_the_first_era_the_cap_of_an_inner_team_fails_the_outer_one(tmp_path: Path) -> None:
    inner = team("inner", "b c", "round-robin", maxTurns=1)
    outer = team("outer", "a team:inner a")
    ran = run(tmp_path, E1, list("123"), *ABC, inner, outer, query("outer"))
    assert (ran.code, ran.speakers) == (1, ["a", "b", "c"])
    assert "team round-robin MaxTurns reached inner" in ran.response["error"]
    assert ran.raw == said("a=1", "b=2", "c=3")


def test_in_the_second_era_the_outer_team_goes_on_after_the_cap_of_an_inner_one(
    tmp_path: Path,
) -> None:
    inner = team("inner", "b c", "round-robin", maxTurns=1)
    outer = team("outer", "a team:inner a")
    ran = run(tmp_path, E2, list("1234"), *ABC, inner, outer, query("outer"))
    assert (ran.code, ran.speakers) == (0, ["a", "b", "c", "a"])


@each_era
def test_an_error_deep_inside_keeps_what_was_said_everywhere(tmp_path: Path, era: str) -> None:
    teams = (team("inner", "b c"), team("outer", "a team:inner"))
    replies: Replies = ["1", "2", HttpError(400, "boom")]
    ran = run(tmp_path, era, replies, *ABC, *teams, query("outer"))
    assert (ran.code, [text for _, _, text in ran.raw]) == (1, ["1", "2"])
    assert "boom" in ran.response["error"]
