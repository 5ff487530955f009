"""The examples do what their docstrings say, and stay short."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from examples import (
    approval_chain,
    banking_service,
    debate_panel,
    editorial_pipeline,
    editorial_review,
    nested_flows,
    pattern_as_node,
    research_team,
    risk_panel,
    team_of_teams,
)
from flowcompose.core.testing import ScriptedModel

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.py"))


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction] - a fixture
    for variable in ("OPENAI_API_KEY", "FLOWCOMPOSE_MODEL"):
        monkeypatch.delenv(variable, raising=False)


def test_editorial_review_gives_a_typed_review_after_two_audited_rounds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = ScriptedModel(
        by_agent={
            "writer": ["It opened in 1889.", "It opened on 31 March 1889."],
            "fact-checker": ["Not every visitor climbs.", "The date is right."],
            "copy-editor": ["Shorter.", "Good."],
            "referee": [{"critique": "The writer names no source."}, {"critique": "Better."}],
            "synthesizer": [editorial_review.Review(verdict="revise", corrections=["height"])],
        }
    )

    result = editorial_review.main(model)

    model.assert_complete()
    assert result.output == editorial_review.Review(verdict="revise", corrections=["height"])
    assert [c.agent_name for c in result.contributions] == [
        *("writer", "fact-checker", "copy-editor"),
        *("writer", "fact-checker", "copy-editor"),
    ]
    assert [c.critique for c in result.referee_critiques] == [
        "The writer names no source.",
        "Better.",
    ]
    assert result.stop.reason == "max_rounds"
    printed = capsys.readouterr().out
    assert "--- round 2 ---\n\nwriter: It opened on 31 March 1889.\nfact-checker: " in printed
    assert "(referee) The writer names no source." in printed


def test_editorial_review_hands_the_critique_to_the_next_round() -> None:
    model = ScriptedModel(
        lambda messages: {"critique": "No source.", "verdict": "", "corrections": []}
    )

    editorial_review.main(model)

    first, second = (call for call in model.calls if call.agent_name == "writer")
    critique = "[Round 1] Referee critique: No source."
    assert critique not in [message.text for message in first.messages]
    assert critique in [message.text for message in second.messages]


def test_debate_panel_ends_when_the_vote_is_to_ship() -> None:
    result = debate_panel.main()

    assert (result.stop.reason, result.stop.by) == ("terminate_when", "voted_to_ship")
    assert result.rounds == 2
    assert [c.data for c in result.contributions if c.agent_name == "voter"] == debate_panel.VOTES
    assert [c.critique for c in result.output.referee_critiques] == [
        "No figure from: optimist, sceptic.",
        "No figure from: nobody.",
    ]
    assert result.contributions[3].text == "2 of 900 test runs failed."


def test_debate_panel_ends_after_nine_contributions_without_a_decision() -> None:
    result = debate_panel.main(ScriptedModel([debate_panel.VOTES[0]] * 3))

    assert (result.rounds, result.stop.by) == (3, "max_messages(9)")


def test_pattern_as_node_streams_its_members_and_adds_one_message() -> None:
    model = ScriptedModel(["Aurora.", "Patterns.", "Aurora Patterns."])

    speakers, messages = pattern_as_node.main(model)

    assert speakers == ["poet", "engineer", "synthesizer"]
    assert [(type(message), message.text) for message in messages] == [
        (HumanMessage, pattern_as_node.GOAL),
        (AIMessage, "Aurora Patterns."),
        (AIMessage, "Published: Aurora Patterns."),
    ]


def test_editorial_pipeline_consolidates_the_transcript_that_no_step_carries() -> None:
    article = editorial_pipeline.Article(title="The tower", text="It still stands.")
    model = ScriptedModel(
        by_agent={
            "outline": [editorial_pipeline.Outline(points=["Opened in 1889.", "Still there."])],
            "writer": ["A date first.", "A second draft."],
            "editor": ["Why is it still there?", "Good."],
            "synthesizer": [editorial_pipeline.Verdict(reason="It needs a cause.")],
            "consolidate": [article],
        }
    )

    result = editorial_pipeline.main(model)

    model.assert_complete()
    assert result.output == article
    asked = {call.agent_name: call.messages[-1].text for call in model.calls}
    assert asked["outline"] == editorial_pipeline.TOPIC
    goals = [call.messages[1].text for call in model.calls if call.agent_name == "writer"]
    assert all("Review this outline: Opened in 1889. Still there." in goal for goal in goals)
    assert asked["consolidate"].splitlines() == [
        "Write the article. The panel's verdict: It needs a cause.",
        "writer: A date first.",
        "editor: Why is it still there?",
        "writer: A second draft.",
        "editor: Good.",
    ]


def test_risk_panel_tallies_the_votes_of_the_last_round() -> None:
    assert risk_panel.main().output == risk_panel.Decision(rounds=2, buy=False)
    model = ScriptedModel(lambda messages: risk_panel.BUY)
    assert risk_panel.main(model).output == risk_panel.Decision(rounds=2, buy=True)


@pytest.mark.parametrize(("most", "rounds"), [(1, 1), (3, 3), (9, 5)])
def test_risk_panel_lets_the_caller_cap_the_rounds(most: int, rounds: int) -> None:
    model = ScriptedModel(lambda messages: risk_panel.PASS)

    result = risk_panel.main(model, rounds=most)

    assert result.output == risk_panel.Decision(rounds=rounds, buy=False)
    assert len(model.calls) == 3 * rounds


def test_nested_flows_say_where_each_token_is_said() -> None:
    model = ScriptedModel(
        by_agent={
            "user": lambda messages: "It is handy.",
            "maintainer": lambda messages: "It may break.",
            "synthesizer": lambda messages: "Handy, but mind it.",
            "editor": ["Two changes, both handy."],
        }
    )

    said, result = nested_flows.main(model)

    spoken = {
        "user": "It is handy.",
        "maintainer": "It may break.",
        "synthesizer": "Handy, but mind it.",
    }
    assert said == {
        (("release", f"changes[{number}]", "pair"), name): text
        for number in range(2)
        for name, text in spoken.items()
    } | {((), "editor"): "Two changes, both handy."}
    assert result.output == "Two changes, both handy."
    asked = next(call for call in model.calls if call.agent_name == "editor")
    assert asked.messages[-1].text == "- Handy, but mind it.\n- Handy, but mind it."


def test_research_team_asks_its_selector_only_where_there_is_a_choice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = ScriptedModel(by_agent=research_team.SCRIPT)

    result = research_team.main(model)

    model.assert_complete()
    assert [c.agent_name for c in result.contributions] == [
        *("lead", "searcher", "reader"),
        *("searcher", "reader", "writer"),
    ]
    assert (result.stop.reason, result.stop.by) == ("no_transition", "writer")
    assert result.usage.selector.total_tokens > 0
    printed = capsys.readouterr().out
    assert "lead (exact): What moves the water" in printed
    assert "reader (only_candidate): Two bulges" in printed
    assert "searcher (tolerant): It pulls" in printed


def test_approval_chain_goes_back_until_the_chair_approves() -> None:
    model = ScriptedModel(by_agent=approval_chain.SCRIPT)

    result = approval_chain.main(model)

    model.assert_complete()
    once = ["writer", "legal", "finance", "chair"]
    assert [c.agent_name for c in result.contributions] == [*once, *once, "publisher"]
    assert (result.stop.reason, result.turns) == ("completed", 9)
    assert result.output == "Published: We refund within 30 days, up to 500."
    finance = next(call for call in model.calls if call.agent_name == "finance")
    assert not any("binds us" in message.text for message in finance.messages[1:-1])


def test_approval_chain_ends_at_its_cap_if_the_chair_is_never_content() -> None:
    model = ScriptedModel(lambda messages: {"approved": False, "why": "No."})

    result = approval_chain.main(model)

    assert (result.stop.reason, result.turns) == ("max_turns", 16)


def test_banking_service_leaves_the_advisor_out_where_nothing_is_left_to_advise() -> None:
    model = ScriptedModel(by_agent=banking_service.SCRIPT)

    balance, both = banking_service.main(model, customer="c-18")

    model.assert_complete()
    assert [c.agent_name for c in balance.contributions] == ["router", "account-helper"]
    assert (balance.stop.reason, balance.stop.by) == ("terminate_when", "only_accounts")
    assert balance.output == "The balance is -40."
    assert [c.agent_name for c in both.contributions] == [
        *("router", "account-helper", "loan-advisor")
    ]
    assert both.stop.reason == "completed"


def test_team_of_teams_tells_where_everything_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    model = ScriptedModel(by_agent=team_of_teams.SCRIPT)

    result = team_of_teams.main(model)

    model.assert_complete()
    assert [c.agent_name for c in result.contributions] == ["desk", "chief", "desk", "chief"]
    assert result.contributions[2].text == "Since 1858 ships have needed this light."
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "magazine > desk > writer: Lit in 1858, it is 38 metres high."
    assert set(printed[1:3]) == {  # they speak at once, and either may be the first to be done
        "magazine > desk > checks > dates: 1858 is right.",
        "magazine > desk > checks > sums: 38 metres is right.",
    }
    assert printed[3:6] == [
        "magazine > desk > checks ended: max_rounds",
        "magazine > desk > editor: A light of 1858, 38 metres high.",
        "magazine > desk ended: completed",
    ]
    assert printed[-1] == "magazine ended: completed"
    second = [call for call in model.calls if call.agent_name == "writer"][1]
    assert any("What is it good for?" in message.text for message in second.messages)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_as_a_program_without_a_key(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_fits_on_a_screen_and_says_how_to_run_it(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 80
    assert f"`python examples/{path.name}`" in text
    assert f"FLOWCOMPOSE_MODEL=openai:gpt-4o python examples/{path.name}" in text
    assert "\n1. " in text
