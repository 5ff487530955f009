"""Selector teams of ARK documents, era by era: what the selector is sent, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.ark_documents import (
    E1,
    E2,
    E3,
    ERAS,
    GOAL,
    Body,
    Doc,
    Ran,
    agent,
    asked,
    edges,
    flowcompose_here,
    model,
    problems_of,
    prompt_of,
    query,
    run,
    team,
    tools_of,
    write,
)
from tests.mock_llm import MockLLM, says
from tests.openai_server import HttpError, Reply, ToolCalls

TEMPLATE = "R={{.Roles}} P={{ .Participants }} H={{.History}}"
INPUT = ("user", None, GOAL)
MEMBERS = (agent("a", description="Knows the sea"), agent("b"), agent("c", description="Counts"))
CHIEF = agent("chief", "You are chief.")
ROLES = "a: Knows the sea, b, c: Counts"
NEXT = "Select the next participant to respond."
NEXT_BY_TOOL = "Select the next speaker to respond using the select-next-speaker tool."
EXPRESS = "Use the select-next-speaker tool to express your next speaker selection."

Pick = str | Reply
"""What the selector answers: a name is text in the first two eras, a call in the last."""


def by_tool(name: str) -> ToolCalls:
    return ToolCalls([("select-next-speaker", {"name": name})])


def picking(*picks: Pick) -> Callable[[Body], Reply]:
    """A selector that answers these, and members that say their name and how often they spoke."""
    left = list(picks)
    spoken: dict[str, int] = {}

    def reply(body: Body) -> Reply:
        if is_selection(body):
            return left.pop(0)
        name = str(body["messages"][0]["content"])[8:-1]
        spoken[name] = spoken.get(name, 0) + 1
        return f"{name}{spoken[name]}"

    return reply


def is_selection(body: Body) -> bool:
    return str(body["messages"][-1]["content"]).startswith("Select the next")


def selector(era: str, members: str = "a b c", **spec: Any) -> Doc:
    """A selector team of the era, with the short template."""
    who = {"model": "picker"} if era == E1 else {"agent": "chief"}
    own: dict[str, Any] = {"selectorPrompt": TEMPLATE, **who, **spec.pop("selector", {})}
    return team("panel", members, "selector", **{"maxTurns": 3, "selector": own, **spec})


def select(folder: Path, era: str, picks: Sequence[Pick], panel: Doc, *more: Doc) -> Ran:
    documents = (*MEMBERS, CHIEF, model("picker", "gpt-pick"), panel, query("panel"), *more)
    return run(folder, era, picking(*picks), *documents)


def selections(ran: Ran) -> list[Body]:
    return [body for body in ran.requests if is_selection(body)]


def words(ran: Ran) -> list[str]:
    return [text for _, _, text in ran.raw]


# --- the first era: a model chooses, by text


def test_in_the_first_era_a_model_chooses_from_the_rendered_prompt_alone(tmp_path: Path) -> None:
    ran = select(tmp_path, E1, ["b", "c", "a"], selector(E1))
    assert words(ran) == ["b1", "c1", "a1"]
    history = ["", "# b:\nb1\n", "# b:\nb1\n\n# c:\nc1\n"]
    assert [asked(body) for body in selections(ran)] == [
        [("system", None, f"R={ROLES} P=a, b, c H={told}"), ("user", None, NEXT)]
        for told in history
    ]
    assert {body["model"] for body in selections(ran)} == {"gpt-pick"}


def test_in_the_first_era_the_cap_is_an_error_that_keeps_all(tmp_path: Path) -> None:
    ran = select(tmp_path, E1, ["a", "b"], selector(E1, maxTurns=2))
    assert (ran.code, ran.stop, words(ran)) == (1, "max_turns", ["a1", "b1"])
    assert "team selector MaxTurns reached panel" in ran.response["error"]


@pytest.mark.parametrize("era", [E1, E2])
def test_members_never_see_the_selector(tmp_path: Path, era: str) -> None:
    ran = select(tmp_path, era, ["b", "a", "c"][era == E2 :], selector(era))
    members = [asked(body) for body in ran.requests if not is_selection(body)]
    spoken = ran.raw
    assert [messages[1:] for messages in members] == [
        [*spoken[:count], INPUT] for count in range(3)
    ]


def test_in_the_first_era_a_failed_selection_is_an_error_that_keeps_all(tmp_path: Path) -> None:
    ran = select(tmp_path, E1, ["a", HttpError(400, "boom")], selector(E1))
    assert (ran.code, words(ran)) == (1, ["a1"])
    assert "selector model call failed: " in ran.response["error"]
    assert "boom" in ran.response["error"]


def test_in_the_first_era_a_selector_without_a_model_takes_the_default_one(tmp_path: Path) -> None:
    panel = team("panel", "a b", "selector", maxTurns=1)
    ran = select(tmp_path, E1, ["a"], panel, model("default", "gpt-default"))
    assert [body["model"] for body in selections(ran)] == ["gpt-default"]
    told = asked(selections(ran)[0])[0][2]
    assert "You are in a role play game. The following roles are available:" in told
    assert "a: Knows the sea, b" in told
    assert "Only return the role." in told


def test_in_the_first_era_edges_do_not_bind_a_selector(tmp_path: Path) -> None:
    panel = selector(E1, graph=edges("a>b"))
    ran = select(tmp_path, E1, ["a", "c", "a"], panel)
    assert words(ran) == ["a1", "c1", "a2"]
    assert "flowcompose: warning: " in ran.err
    assert "graph" in ran.err


# --- the second era: an agent chooses, by text


def test_in_the_second_era_the_first_member_opens_and_then_an_agent_chooses(
    tmp_path: Path,
) -> None:
    ran = select(tmp_path, E2, ["c", "b"], selector(E2))
    assert (ran.code, words(ran), ran.stop) == (0, ["a1", "c1", "b1"], "max_turns")
    assert [asked(body) for body in selections(ran)] == [
        [
            ("system", None, prompt_of("chief")),
            ("system", None, f"R={ROLES} P=a, b, c H={told}"),
            ("user", None, NEXT),
        ]
        for told in ("# a:\na1\n", "# a:\na1\n\n# c:\nc1\n")
    ]


def test_in_the_second_era_the_agents_own_tools_are_offered_and_may_end_the_team(
    tmp_path: Path,
) -> None:
    chief = agent("chief", "You are chief.", tools=[{"type": "built-in", "name": "terminate"}])
    replies = picking(ToolCalls([("terminate", {"response": "Enough."})]))
    ran = run(tmp_path, E2, replies, *MEMBERS, chief, selector(E2), query("panel"))
    assert tools_of(selections(ran)[0]) == ["terminate"]
    assert (ran.code, ran.json["phase"], words(ran)) == (0, "done", ["a1"])


def test_in_the_second_era_a_failed_selection_is_an_error_that_keeps_all(tmp_path: Path) -> None:
    ran = select(tmp_path, E2, [HttpError(400, "boom")], selector(E2))
    assert (ran.code, words(ran)) == (1, ["a1"])
    assert "selector agent call failed: " in ran.response["error"]
    assert "boom" in ran.response["error"]


def test_in_the_second_era_the_tokens_of_the_selector_count(tmp_path: Path) -> None:
    file = write(tmp_path, *MEMBERS, CHIEF, selector(E2, maxTurns=2), query("panel"))
    rules = [says(0, "You are", "word", usage=30), says(-1, "Select the next", "b", usage=90)]
    with MockLLM(rules) as server:
        options = ("--base-url", server.base_url, "--compat", E2, "--json")
        ran = flowcompose_here("run", file, *options)
    assert ran.json["tokenUsage"]["totalTokens"] == 30 + 90 + 30


def test_a_selector_may_be_a_member_too(tmp_path: Path) -> None:
    chief = agent("chief", "You are chief.")
    panel = selector(E2, "a chief", maxTurns=2)
    ran = run(tmp_path, E2, picking("chief"), *MEMBERS, chief, panel, query("panel"))
    assert (ran.code, words(ran)) == (0, ["a1", "chief1"])


# --- the first two eras: what an answer means


@pytest.mark.parametrize("era", [E1, E2])
def test_blanks_around_a_name_do_not_matter(tmp_path: Path, era: str) -> None:
    ran = select(tmp_path, era, [" \nb\n ", "c", "b"], selector(era, maxTurns=2))
    assert words(ran)[-1] == ("b1" if era == E2 else "c1")
    assert "b1" in words(ran)


@pytest.mark.parametrize(
    ("era", "answer"),
    [(era, answer) for era in (E1, E2) for answer in ("nobody", "B", "b.", "I choose b")]
    + [(E1, "")],  # to the second era an empty answer is an error
)
def test_a_name_that_is_none_is_the_first_member_or_else_the_second(
    tmp_path: Path, era: str, answer: str
) -> None:
    picks = ["c", answer, answer] if era == E1 else [answer, answer]
    ran = select(tmp_path, era, picks, selector(era))
    assert words(ran) == (["c1", "a1", "b1"] if era == E1 else ["a1", "b1", "a2"])


def test_in_the_second_era_no_answer_is_an_error(tmp_path: Path) -> None:
    ran = select(tmp_path, E2, [""], selector(E2))
    assert (ran.code, words(ran)) == (1, ["a1"])
    assert "returned invalid response" in ran.response["error"]


@pytest.mark.parametrize("era", [E1, E2])
def test_nobody_speaks_twice_in_a_row(tmp_path: Path, era: str) -> None:
    picks = ["a", "a", "b"] if era == E1 else ["a", "b"]
    ran = select(tmp_path, era, picks, selector(era))
    assert words(ran) == ["a1", "b1", "a2"]


@pytest.mark.parametrize("era", [E1, E2])
def test_a_lone_member_speaks_again(tmp_path: Path, era: str) -> None:
    picks = ["a", "a"] if era == E1 else ["a"]
    ran = select(tmp_path, era, picks, selector(era, "a", maxTurns=2))
    assert words(ran) == ["a1", "a2"]


@pytest.mark.parametrize("era", ERAS)
def test_tools_and_their_answers_are_no_history_for_the_selector(tmp_path: Path, era: str) -> None:
    busy = agent("a", tools=[{"type": "built-in", "name": "noop"}])
    calls: Iterator[Reply] = iter([ToolCalls([("noop", {"message": "?"})]), "Done."])
    first: Pick = by_tool("a") if era == E3 else "a"
    second: Pick = by_tool("b") if era == E3 else "b"
    picks = iter([second] if era == E2 else [first, second])

    def reply(body: Body) -> Reply:
        if is_selection(body):
            return next(picks)
        return next(calls) if tools_of(body) else "b1"

    panel = selector(era, "a b", maxTurns=2)
    picker = model("picker", "gpt-pick")
    ran = run(tmp_path, era, reply, busy, MEMBERS[1], CHIEF, picker, panel, query("panel"))
    told = asked(selections(ran)[-1])[-2][2]
    assert "# a:\n\n\n# a:\nDone.\n" in told
    assert "# b" not in told
    assert "tool" not in told.split("H=")[1].split("# a:")[0]


# --- the last era: an agent chooses, by tool


def test_in_the_last_era_an_agent_chooses_by_a_tool_from_the_first_turn_on(
    tmp_path: Path,
) -> None:
    picks = [by_tool(name) for name in "bbc"]  # the same member may speak again
    ran = select(tmp_path, E3, picks, selector(E3))
    capped = "Team conversation reached maximum turns limit (3)"
    assert (ran.code, words(ran)) == (0, ["b1", "b2", "c1", capped])
    assert (ran.raw[-1][0], ran.stop) == ("system", "max_turns")
    assert ran.response["content"] == "c1"
    user = f"# user:\n{GOAL}\n"
    history = [user, f"{user}\n# b:\nb1\n", f"{user}\n# b:\nb1\n\n# b:\nb2\n"]
    assert [asked(body) for body in selections(ran)] == [
        [
            ("system", None, prompt_of("chief")),
            ("system", None, f"R={ROLES} P=a, b, c H={told}\n\n{EXPRESS}"),
            ("user", None, NEXT_BY_TOOL),
        ]
        for told in history
    ]


def test_in_the_last_era_the_tool_names_who_may_be_chosen_and_must_be_called(
    tmp_path: Path,
) -> None:
    ran = select(tmp_path, E3, [by_tool("b")], selector(E3, maxTurns=1))
    (body,) = selections(ran)
    (tool,) = body["tools"]
    assert tool["function"]["name"] == "select-next-speaker"
    assert tool["function"]["parameters"]["properties"]["name"]["enum"] == ["a", "b", "c"]
    assert body["tool_choice"] == "required"


def test_in_the_last_era_the_selectors_own_tools_are_not_offered(tmp_path: Path) -> None:
    chief = agent("chief", "You are chief.", tools=[{"type": "built-in", "name": "noop"}])
    replies = picking(by_tool("b"))
    ran = run(tmp_path, E3, replies, *MEMBERS, chief, selector(E3, maxTurns=1), query("panel"))
    assert tools_of(selections(ran)[0]) == ["select-next-speaker"]


def test_in_the_last_era_members_hear_the_input_first_and_last(tmp_path: Path) -> None:
    ran = select(tmp_path, E3, [by_tool("b"), by_tool("a")], selector(E3, maxTurns=2))
    members = [asked(body) for body in ran.requests if not is_selection(body)]
    assert members == [
        [("system", None, prompt_of("b")), INPUT, INPUT],
        [("system", None, prompt_of("a")), INPUT, ("assistant", "b", "b1"), INPUT],
    ]


def test_in_the_last_era_a_name_that_is_none_ends_the_team_with_a_message(tmp_path: Path) -> None:
    ran = select(tmp_path, E3, [by_tool("b"), by_tool("zed")], selector(E3))
    assert (ran.code, ran.stop) == (0, "invalid_selection")
    assert ran.raw == [
        ("assistant", "b", "b1"),
        ("system", None, "Selector returned invalid agent name: zed"),
    ]
    assert ran.response["content"] == "b1"


def test_in_the_last_era_a_text_in_place_of_the_tool_ends_the_team_with_a_message(
    tmp_path: Path,
) -> None:
    ran = select(tmp_path, E3, [by_tool("b"), "b"], selector(E3))
    assert ran.code == 0
    told = "Selector agent did not use the select-next-speaker tool"
    assert ran.raw == [("assistant", "b", "b1"), ("system", None, told)]


def test_in_the_last_era_a_failed_selection_is_an_error_that_keeps_all(tmp_path: Path) -> None:
    ran = select(tmp_path, E3, [by_tool("b"), HttpError(400, "boom")], selector(E3))
    assert (ran.code, words(ran)) == (1, ["b1"])
    assert "selector agent call failed: " in ran.response["error"]


ENDING = ToolCalls([("terminate", {"response": "Enough."})])


def test_in_the_last_era_the_selector_may_end_the_team_where_the_document_says_so(
    tmp_path: Path,
) -> None:
    panel = selector(E3, selector={"enableTerminateTool": True})
    ran = select(tmp_path, E3, [by_tool("b"), ENDING], panel)
    assert (ran.code, ran.stop) == (0, "selector_stop")
    assert ran.raw[0] == ("assistant", "b", "b1")
    assert [role for role, _, _ in ran.raw[1:]] == ["assistant", "tool"]
    assert ran.raw[-1] == ("tool", None, "Enough.")
    assert ran.response["content"] == "b1"
    for body in selections(ran):
        assert tools_of(body) == ["select-next-speaker", "terminate"]
        _, (_, _, told), (_, _, last) = asked(body)
        assert told.endswith(
            f"\n\n{EXPRESS}\n\nIf the most recent user message has been given an adequate "
            "response, do not return a role. Instead call the terminate tool."
        )
        assert last == (
            f"{NEXT_BY_TOOL[:-1]}, or use the terminate tool if you think the user's original "
            "question has been answered."
        )


def test_in_the_last_era_a_document_may_say_itself_when_the_team_is_done(tmp_path: Path) -> None:
    own = {"enableTerminateTool": True, "terminatePrompt": "Stop at ten."}
    ran = select(tmp_path, E3, [ENDING], selector(E3, selector=own))
    assert asked(selections(ran)[0])[1][2].endswith(f"\n\n{EXPRESS}\n\nStop at ten.")
    assert ran.speakers == ["chief"]


def test_in_the_last_era_a_terminate_prompt_alone_gives_no_tool(tmp_path: Path) -> None:
    own = {"terminatePrompt": "Stop at ten."}
    ran = select(tmp_path, E3, [by_tool("b")], selector(E3, selector=own, maxTurns=1))
    (body,) = selections(ran)
    assert tools_of(body) == ["select-next-speaker"]
    assert "Stop at ten." not in asked(body)[1][2]


def test_without_a_template_the_last_era_asks_for_the_tool(tmp_path: Path) -> None:
    panel = team("panel", "a b", "selector", maxTurns=1, selector={"agent": "chief"})
    ran = select(tmp_path, E3, [by_tool("a")], panel)
    told = asked(selections(ran)[0])[1][2]
    assert "You are in a role play game. The following roles are available:" in told
    assert "Only return the role" not in told


# --- bound by edges


def picked(era: str, *names: str) -> list[Pick]:
    return [by_tool(name) if era == E3 else name for name in names]


@pytest.mark.parametrize("era", [E2, E3])
def test_where_one_edge_leads_on_nobody_is_asked(tmp_path: Path, era: str) -> None:
    panel = selector(era, graph=edges("a>c", "c>b"))
    ran = select(tmp_path, era, picked(era, "a")[era == E2 :], panel)
    assert words(ran)[:3] == ["a1", "c1", "b1"]
    assert len(selections(ran)) == (1 if era == E3 else 0)


@pytest.mark.parametrize("era", [E2, E3])
def test_where_several_edges_lead_on_only_their_ends_are_offered(tmp_path: Path, era: str) -> None:
    panel = selector(era, graph=edges("a>c", "a>b", "b>a", "c>a"))
    ran = select(tmp_path, era, picked(era, "a", "b")[era == E2 :], panel)
    assert words(ran)[:3] == ["a1", "b1", "a2"]
    told = asked(selections(ran)[-1])[1][2]
    assert told.startswith("R=c: Counts, b P=c, b H=")
    if era == E3:
        (tool,) = selections(ran)[-1]["tools"]
        assert tool["function"]["parameters"]["properties"]["name"]["enum"] == ["c", "b"]


def test_in_the_second_era_a_wrong_name_is_the_first_of_those_that_are_offered(
    tmp_path: Path,
) -> None:
    panel = selector(E2, graph=edges("a>c", "a>b", "c>a"))
    ran = select(tmp_path, E2, ["nobody"], panel)
    assert words(ran) == ["a1", "c1", "a2"]


def test_in_the_second_era_a_name_that_no_edge_leads_to_is_wrong(tmp_path: Path) -> None:
    panel = selector(E2, "a b c", graph=edges("b>c", "b>a", "a>b", "c>b"))
    ran = select(tmp_path, E2, ["b"], panel)
    assert words(ran) == ["a1", "b1", "c1"]


def test_in_the_second_era_the_first_member_goes_on_where_no_edge_does(tmp_path: Path) -> None:
    panel = selector(E2, graph=edges("a>c"), maxTurns=4)
    ran = select(tmp_path, E2, [], panel)
    assert (ran.code, words(ran)) == (0, ["a1", "c1", "a2", "c2"])


def test_in_the_last_era_the_team_ends_well_where_no_edge_leads_on(tmp_path: Path) -> None:
    panel = selector(E3, graph=edges("a>c"), maxTurns=9)
    ran = select(tmp_path, E3, picked(E3, "a"), panel)
    assert (ran.code, ran.stop, ran.response["content"]) == (0, "no_transition", "c1")
    assert [text for role, _, text in ran.raw if role == "assistant"] == ["a1", "c1"]


def test_in_the_last_era_edges_do_not_bind_the_first_turn(tmp_path: Path) -> None:
    panel = selector(E3, graph=edges("a>c", "c>b"))
    ran = select(tmp_path, E3, picked(E3, "c"), panel)
    assert words(ran)[:2] == ["c1", "b1"]
    (tool,) = selections(ran)[0]["tools"]
    assert tool["function"]["parameters"]["properties"]["name"]["enum"] == ["a", "b", "c"]


@pytest.mark.parametrize("era", [E2, E3])
def test_an_edge_may_lead_back_to_where_it_starts(tmp_path: Path, era: str) -> None:
    panel = selector(era, graph=edges("a>a"), maxTurns=2)
    ran = select(tmp_path, era, picked(era, "a")[era == E2 :], panel)
    assert words(ran)[:2] == ["a1", "a2"]


# --- teams as members


@pytest.mark.parametrize("era", ERAS)
def test_a_team_can_be_chosen_by_its_name_and_description(tmp_path: Path, era: str) -> None:
    inner = team("pair", "b c", description="Two at once")
    panel = selector(era, "a team:pair", maxTurns=2)
    picks = picked(era, "a", "pair")[era == E2 :]
    ran = select(tmp_path, era, picks, panel, inner)
    said = [text for role, _, text in ran.raw if role == "assistant"]
    assert said == ["a1", "b1", "c1"]
    assert "R=a: Knows the sea, pair: Two at once P=a, pair" in asked(selections(ran)[-1])[-2][2]
    assert problems_of(ran.requests) == []


@pytest.mark.parametrize("era", ERAS)
def test_a_selector_without_a_cap_is_warned_of(tmp_path: Path, era: str) -> None:
    panel = selector(era)
    del panel["spec"]["maxTurns"]
    file = write(tmp_path, *MEMBERS, CHIEF, model("picker", "gpt-pick"), panel)
    ran = flowcompose_here("validate", file, "--compat", era, "--json")
    told = [each["message"] for each in ran.json["problems"]]
    assert ran.code == 0
    assert [each for each in told if "it runs with a cap of 100 turns" in each]


def test_slots_that_nobody_knows_stay_and_are_warned_of(tmp_path: Path) -> None:
    panel = selector(E2, selector={"selectorPrompt": "{{.Input}} {{.History}}"}, maxTurns=2)
    ran = select(tmp_path, E2, ["b"], panel)
    assert asked(selections(ran)[0])[1][2] == "{{.Input}} # a:\na1\n"
    assert "Input" in ran.err


def test_what_members_say_is_never_filled_in(tmp_path: Path) -> None:
    said = "{{.Participants}} {{.Roles}} ${PATH}"
    replies = iter([said, "b", "b1"])
    documents = (*MEMBERS, CHIEF, selector(E2, maxTurns=2), query("panel"))
    ran = run(tmp_path, E2, lambda _: next(replies), *documents)
    assert f"H=# a:\n{said}\n" in asked(selections(ran)[0])[1][2]
