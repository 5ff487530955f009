"""The teams of the specification pages do what the pages say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ark_documents import (
    E1,
    E2,
    Body,
    Doc,
    Ran,
    agent,
    asked,
    document,
    edges,
    flowcompose_here,
    query,
    run,
    team,
    tools_of,
    write,
)
from tests.openai_server import HttpError, Replies, Reply, ToolCalls

# --- page A: round robin, a panel of three and three turns

BRAINSTORMERS = ("brainstormer-agent", "critic-agent", "coordinator-agent")


def as_page_a(name: str, **spec: Any) -> Doc:
    """An agent in the shape of page A, with its model inside."""
    return agent(name, model={"name": "gpt-4", "type": "openai"}, **spec)


def brainstorming() -> list[Doc]:
    """The documents of page A: no member has a type, the query names a team."""
    tool = {"name": "terminate_team", "description": "Call this once all is said"}
    members = [{"name": name} for name in BRAINSTORMERS]
    return [
        document(
            "Team",
            "brainstorming-team",
            strategy="round-robin",
            maxTurns=3,
            members=members,
            description="Three rounds of ideas",
        ),
        as_page_a("brainstormer-agent"),
        as_page_a("critic-agent"),
        as_page_a("coordinator-agent", tools=[tool]),
        document(
            "Query",
            "brainstorming-session",
            team={"name": "brainstorming-team"},
            input="What would make the product better?",
        ),
    ]


def brainstorm(folder: Path, replies: Replies) -> Ran:
    return run(folder, "auto", replies, *brainstorming())


def test_page_a_three_members_and_three_turns_are_nine_executions_then_an_error(
    tmp_path: Path,
) -> None:
    ran = brainstorm(tmp_path, [f"said {number}" for number in range(1, 10)])
    assert (ran.code, ran.json["phase"], ran.json["era"]) == (1, "error", E1)
    assert ran.speakers == list(BRAINSTORMERS) * 3
    assert "team round-robin MaxTurns reached" in ran.response["error"]
    assert ran.raw == [
        ("assistant", name, f"said {number}") for number, name in enumerate(BRAINSTORMERS * 3, 1)
    ]


def test_page_a_every_member_gets_the_whole_conversation(tmp_path: Path) -> None:
    ran = brainstorm(tmp_path, [f"said {number}" for number in range(1, 10)])
    heard = [len(asked(body)) - 2 for body in ran.requests]
    assert heard == list(range(9))


def test_page_a_a_coordinator_that_terminates_ends_it_after_three(tmp_path: Path) -> None:
    ending = ToolCalls([("terminate_team", {"response": "All agree."})])
    ran = brainstorm(tmp_path, ["An idea.", "A doubt.", ending])
    assert (ran.code, ran.json["phase"], ran.stop) == (0, "done", "terminate_tool")
    assert ran.speakers == list(BRAINSTORMERS)
    assert [text for _, _, text in ran.raw] == ["An idea.", "A doubt.", "", "All agree."]
    assert [tools_of(body) for body in ran.requests] == [[], [], ["terminate_team"]]


def test_page_a_a_member_that_fails_ends_it_and_what_was_said_is_kept(tmp_path: Path) -> None:
    ran = brainstorm(tmp_path, ["An idea.", "A doubt.", HttpError(400, "no more")])
    assert (ran.code, ran.json["phase"]) == (1, "error")
    assert "no more" in ran.response["error"]
    assert [text for _, _, text in ran.raw] == ["An idea.", "A doubt."]


def test_page_a_its_shapes_are_taken_each_with_a_warning(tmp_path: Path) -> None:
    file = write(tmp_path, *brainstorming())
    ran = flowcompose_here("validate", file, "--json")
    told = ran.json["problems"]
    assert (ran.code, {each["severity"] for each in told}) == (0, {"warning"})
    paths = [each["path"] for each in told]
    for path in ("spec.model", "spec.members[0]", "spec.tools[0]", "spec.team"):
        assert [each for each in paths if each.startswith(path)], (path, paths)


def test_page_a_a_model_that_is_only_a_name_is_refused_with_what_to_write(tmp_path: Path) -> None:
    ran = flowcompose_here("validate", write(tmp_path, agent("a", model="gpt-4")))
    assert ran.code == 2
    assert "use modelRef: {name:" in ran.out + ran.err


# --- page B: the first era

BANK = ("inquiry-router", "account-helper", "loan-advisor")


def test_page_b_each_of_the_bank_builds_on_those_before(tmp_path: Path) -> None:
    desk = team("customer-service-team", " ".join(BANK))
    asking = query("customer-service-team", "What is my balance, and what do you lend?")
    replies = ["mixed", "Ten pounds.", "At most a hundred."]
    ran = run(tmp_path, "auto", replies, *map(agent, BANK), desk, asking)
    assert (ran.code, ran.json["era"], ran.speakers) == (0, E1, list(BANK))
    assert [[text for _, _, text in asked(body)[1:-1]] for body in ran.requests] == [
        [],
        ["mixed"],
        ["mixed", "Ten pounds."],
    ]
    assert {asked(body)[-1][2] for body in ran.requests} == {asking["spec"]["input"]}
    assert ran.response["content"] == "At most a hundred."


def test_page_b_a_bank_in_a_namespace_of_its_own_finds_its_agents_there(tmp_path: Path) -> None:
    documents = [*map(agent, BANK), team("desk", " ".join(BANK)), query("desk")]
    for each in documents:
        each["metadata"]["namespace"] = "demo-bank"
    ran = run(tmp_path, "auto", list("123"), *documents)
    assert (ran.code, ran.speakers) == (0, list(BANK))


def test_page_b_round_robin_goes_on_in_cycles(tmp_path: Path) -> None:
    names = ("agent-a", "agent-b", "agent-c")
    panel = team("roundrobin-team", " ".join(names), "round-robin", maxTurns=3)
    replies = list("123456789")
    ran = run(tmp_path, "auto", replies, *map(agent, names), panel, query("roundrobin-team"))
    assert (ran.code, ran.speakers) == (1, list(names) * 3)
    assert len(ran.raw) == 9


def test_page_b_a_model_chooses_who_responds(tmp_path: Path) -> None:
    names = ("researcher", "analyst", "writer")
    prompt = "Who is next?\nAvailable: {{.Participants}}\nHistory: {{.History}}\n"
    chosen = team(
        "selector-team",
        " ".join(names),
        "selector",
        maxTurns=10,
        selector={"model": "gpt-4", "selectorPrompt": prompt},
    )
    replies: list[Reply] = ["researcher", "facts", "writer", "prose", "no such one", "facts again"]
    replies += ["no such one", "figures", HttpError(400, "enough")]
    ran = run(tmp_path, "auto", replies, *map(agent, names), chosen, query("selector-team"))
    spoken = [(name, text) for _, name, text in ran.raw]
    assert spoken == [
        ("researcher", "facts"),
        ("writer", "prose"),
        ("researcher", "facts again"),  # the first member where nobody is named
        ("analyst", "figures"),  # and the second one where the first has just spoken
    ]
    told = asked(ran.requests[2])
    assert told == [
        (
            "system",
            None,
            "Who is next?\nAvailable: researcher, analyst, writer\n"
            "History: # researcher:\nfacts\n\n",
        ),
        ("user", None, "Select the next participant to respond."),
    ]


def test_page_b_a_graph_runs_from_the_first_member_along_the_edges(tmp_path: Path) -> None:
    names = ("researcher", "analyzer", "reviewer", "writer")
    path = team(
        "graph-team",
        " ".join(names),
        "graph",
        maxTurns=5,
        graph=edges("researcher>analyzer", "analyzer>reviewer", "reviewer>writer"),
    )
    ran = run(tmp_path, "auto", list("1234"), *map(agent, names), path, query("graph-team"))
    assert (ran.code, ran.speakers, ran.stop) == (0, list(names), "completed")


def test_page_b_teams_are_members_of_teams(tmp_path: Path) -> None:
    teams = (team("sub-team", "agent2"), team("whole", "team:sub-team agent1"))
    ran = run(
        tmp_path, "auto", list("12"), agent("agent1"), agent("agent2"), *teams, query("whole")
    )
    assert (ran.code, ran.speakers) == (0, ["agent2", "agent1"])


# --- page C: the second era

WRITERS = ("researcher", "analyzer", "reviewer", "writer")


def one_after_the_other(*replies: str) -> tuple[Replies, list[Body]]:
    """Replies of a selector in order; members say their name. Also what the selector was asked."""
    given: Iterator[str] = iter(replies)
    selections: list[Body] = []

    def reply(body: Body) -> Reply:
        if not str(body["messages"][-1]["content"]).startswith("Select the next"):
            return str(body["messages"][0]["content"])[8:-1]
        selections.append(body)
        return next(given)

    return reply, selections


def test_page_c_an_agent_chooses_and_nobody_twice_in_a_row(tmp_path: Path) -> None:
    prompt = "Who is next?\nAvailable: {{.Participants}}\nHistory: {{.History}}\n"
    chosen = team(
        "selector-team",
        "researcher writer",
        "selector",
        maxTurns=4,
        selector={"agent": "coordinator", "selectorPrompt": prompt},
    )
    replies, selections = one_after_the_other("writer", "writer", "nobody")
    documents = (*map(agent, (*WRITERS, "coordinator")), chosen, query("selector-team"))
    ran = run(tmp_path, "auto", replies, *documents)
    assert (ran.code, ran.json["era"]) == (0, E2)
    said = [text for _, _, text in ran.raw]
    assert said == ["researcher", "writer", "researcher", "writer"]
    assert asked(selections[0])[0] == ("system", None, "You are coordinator.")


def test_page_c_the_coordinator_chooses_only_where_edges_leave_a_choice(tmp_path: Path) -> None:
    bound = team(
        "graph-selector-team",
        "researcher analyzer writer",
        "selector",
        maxTurns=3,
        selector={"agent": "coordinator"},
        graph=edges("researcher>analyzer", "researcher>writer", "analyzer>writer"),
    )
    replies, selections = one_after_the_other("analyzer")
    documents = (*map(agent, (*WRITERS, "coordinator")), bound, query("graph-selector-team"))
    ran = run(tmp_path, "auto", replies, *documents)
    assert (ran.code, [text for _, _, text in ran.raw]) == (0, ["researcher", "analyzer", "writer"])
    assert len(selections) == 1


RESEARCH = (
    "coordinator>researcher",
    "coordinator>analyzer",
    "researcher>analyzer",
    "analyzer>reviewer",
    "analyzer>writer",
    "reviewer>writer",
)


def research(**spec: Any) -> list[Doc]:
    """The research workflow: edges of a coordinator that is no member."""
    flow = team(
        "research-flow",
        " ".join(WRITERS),
        "selector",
        selector={"agent": "coordinator"},
        graph=edges(*RESEARCH),
        **spec,
    )
    return [*map(agent, (*WRITERS, "coordinator")), flow, query("research-flow")]


@pytest.mark.parametrize(
    ("picks", "said"),
    [
        (["analyzer", "writer"], ["analyzer", "writer"]),
        (["researcher", "reviewer"], ["researcher", "analyzer", "reviewer", "writer"]),
        (["writer", "reviewer"], ["researcher", "analyzer", "reviewer", "writer"]),
    ],
    ids=["short", "long", "a start that is not allowed"],
)
def test_page_c_edges_of_the_coordinator_say_who_may_begin(
    tmp_path: Path, picks: list[str], said: list[str]
) -> None:
    replies, selections = one_after_the_other(*picks)
    ran = run(tmp_path, "auto", replies, *research(maxTurns=len(said)))
    assert (ran.code, [text for _, _, text in ran.raw]) == (0, said)
    offered = [told for _, _, told in (asked(body)[1] for body in selections)]
    assert "researcher, analyzer" in offered[0]
    assert "writer" not in offered[0]
    assert "reviewer, writer" in offered[1]


def test_page_c_an_edge_of_the_coordinator_and_a_missing_cap_are_warnings(tmp_path: Path) -> None:
    ran = flowcompose_here("validate", write(tmp_path, *research()), "--json")
    told = [each["message"] for each in ran.json["problems"]]
    assert (ran.code, ran.json["ok"]) == (0, True)
    assert [each for each in told if "coordinator" in each]
    assert [each for each in told if "it runs with a cap of 100 turns" in each]


def test_page_c_any_other_edge_from_nowhere_is_refused(tmp_path: Path) -> None:
    documents = research(maxTurns=3)
    documents[-2]["spec"]["graph"]["edges"].append({"from": "stranger", "to": "writer"})
    ran = flowcompose_here("validate", write(tmp_path, *documents), "--json")
    told = " ".join(each["message"] for each in ran.json["problems"])
    assert ran.code == 2
    assert "graph edge 6: 'from' member 'stranger' not found in team members" in told
