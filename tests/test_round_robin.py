"""Who speaks when, what is recorded, and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    computed_field,
    create_model,
    field_validator,
)

from flowcompose import (
    Context,
    Pattern,
    Result,
    RosterEntry,
    RoundRobinFinalShape,
    TurnInput,
    Visibility,
    create_round_robin_contributions,
    round_robin,
)
from flowcompose.core.testing import ScriptedModel


def echo(turn: TurnInput) -> str:
    return f"{turn.agent_name}-{turn.round}-{turn.turn}"


def panel(names: str = "abc", **options: Any) -> Pattern[Any]:
    roster = [RosterEntry(name=name, block=echo) for name in names]
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    return build(**{"name": "panel", "roster": roster, "synthesizer": False, **options})


def spoken(result: Result[Any]) -> list[str]:
    return [each.text for each in result.contributions]


def test_all_members_speak_in_declared_order_in_a_round() -> None:
    result = panel(max_rounds=1).run("go")
    assert spoken(result) == ["a-1-1", "b-1-2", "c-1-3"]
    assert {each.round for each in result.contributions} == {1}
    assert (result.rounds, result.turns, result.referee_critiques) == (1, 3, [])


def test_rounds_follow_each_other_up_to_the_cap() -> None:
    result = panel("ab", max_rounds=3).run("go")
    assert [(c.round, c.agent_name) for c in result.contributions] == [
        (number, name) for number in (1, 2, 3) for name in "ab"
    ]
    assert (result.rounds, result.stop.reason) == (3, "max_rounds")


def test_five_rounds_are_the_default_cap() -> None:
    assert panel("a").run("go").rounds == 5


@settings(max_examples=40, deadline=None)
@given(size=st.integers(1, 7), cap=st.integers(1, 6), stop_after=st.integers(1, 8))
def test_every_window_of_n_turns_holds_each_of_n_members_once(
    size: int, cap: int, stop_after: int
) -> None:
    names = [f"m{number}" for number in range(size)]
    roster = [RosterEntry(name=name, block=echo) for name in names]
    pattern = round_robin(
        name="fair",
        roster=roster,
        max_rounds=cap,
        terminate_when=lambda ctx: ctx.state.round >= stop_after,
        synthesizer=False,
    )
    said = [c.agent_name for c in pattern.run("go").contributions]
    assert len(said) == size * min(cap, stop_after)
    windows = (said[start : start + size] for start in range(len(said) - size + 1))
    assert all(sorted(window) == sorted(names) for window in windows)


def test_every_member_sees_all_that_was_said_before() -> None:
    seen: list[list[str]] = []

    def look(turn: TurnInput) -> str:
        seen.append([f"{c.round}{c.agent_name}" for c in turn.contributions])
        return "x"

    roster = [RosterEntry(name=name, block=look) for name in "ab"]
    round_robin(name="p", roster=roster, max_rounds=2, synthesizer=False).run("go")
    assert seen == [[], ["1a"], ["1a", "1b"], ["1a", "1b", "2a"]]


def test_what_a_member_saw_does_not_grow_afterwards() -> None:
    kept: list[TurnInput] = []

    def keep(turn: TurnInput) -> str:
        kept.append(turn)
        return "x"

    entry = RosterEntry(name="a", block=keep)
    round_robin(name="p", roster=[entry], max_rounds=3, synthesizer=False).run("go")
    assert [len(turn.contributions) for turn in kept] == [0, 1, 2]


def test_a_member_receives_goal_round_turn_and_its_name() -> None:
    def tell(turn: TurnInput) -> str:
        return f"{turn.goal}|{turn.round}|{turn.turn}|{turn.agent_name}"

    entry = RosterEntry(name="a", block=tell)
    result = round_robin(name="p", roster=[entry], max_rounds=2, synthesizer=False).run("G")
    assert spoken(result) == ["G|1|1|a", "G|2|2|a"]


def test_without_synthesizer_the_output_is_the_final_shape() -> None:
    result = panel("ab", max_rounds=1).run("go")
    assert isinstance(result.output, RoundRobinFinalShape)
    assert result.output.model_dump(by_alias=True) == {
        "rounds": 1,
        "contributions": [
            {"round": 1, "agentName": "a", "text": "a-1-1"},
            {"round": 1, "agentName": "b", "text": "b-1-2"},
        ],
        "refereeCritiques": [],
    }


def test_default_members_and_synthesizer_ask_the_model() -> None:
    model = ScriptedModel(
        by_agent={"writer": ["w1", "w2"], "editor": ["e1", "e2"], "synthesizer": ["final"]}
    )
    pattern = round_robin(
        name="review",
        roster=[RosterEntry(name="writer", role="writes"), {"name": "editor", "role": "edits"}],
        max_rounds=2,
        model=model,
    )
    result = pattern.run("draft")
    assert (spoken(result), result.output) == (["w1", "e1", "w2", "e2"], "final")
    model.assert_complete()


class Review(BaseModel):
    verdict: str
    score: int


def test_output_schema_makes_the_output_an_object_of_it() -> None:
    model = ScriptedModel(by_agent={"a": ["x"], "synthesizer": [Review(verdict="ok", score=3)]})
    pattern = round_robin(
        name="p", roster=[{"name": "a"}], max_rounds=1, model=model, output_schema=Review
    )
    assert pattern.run("go").output == Review(verdict="ok", score=3)


def test_a_synthesizer_block_gets_the_shape_and_the_goal() -> None:
    def summarize(given: Any) -> str:
        names = [c.agent_name for c in given.contributions]
        return f"{given.goal}: {given.rounds} rounds, {names}, {len(given.referee_critiques)}"

    result = panel("ab", max_rounds=1, synthesizer=summarize).run("go")
    assert result.output == "go: 1 rounds, ['a', 'b'], 0"


def test_a_synthesizer_block_sees_the_data_behind_the_contributions() -> None:
    def vote(turn: TurnInput) -> Review:
        return Review(verdict=turn.agent_name, score=turn.turn)

    def count(given: Any) -> int:
        return sum(c.data.score for c in given.contributions)

    roster = [RosterEntry(name=name, block=vote) for name in "abc"]
    pattern = round_robin(name="p", roster=roster, max_rounds=1, synthesizer=count)
    assert pattern.run("go").output == 6


def test_what_a_synthesizer_block_gives_is_validated_by_the_schema() -> None:
    pattern = panel(
        "a",
        max_rounds=1,
        synthesizer=lambda _: {"verdict": "v", "score": "7"},
        output_schema=Review,
    )
    assert pattern.run("go").output == Review(verdict="v", score=7)


def test_a_model_that_a_synthesizer_block_gives_comes_back_as_that_model() -> None:
    pattern = panel("a", max_rounds=1, synthesizer=lambda _: Review(verdict="v", score=1))
    assert pattern.run("go").output == Review(verdict="v", score=1)


def test_the_pattern_starts_from_messages_as_well() -> None:
    seen: list[TurnInput] = []

    def look(turn: TurnInput) -> str:
        seen.append(turn)
        return "x"

    pattern = round_robin(
        name="p", roster=[RosterEntry(name="a", block=look)], max_rounds=1, synthesizer=False
    )
    pattern.run({"messages": [("user", "first"), ("ai", "answer"), ("user", "second")]})
    assert seen[0].goal == "second"
    assert [message.text for message in seen[0].history] == ["first", "answer"]


def test_a_shared_contributions_resource_can_be_read_during_the_run() -> None:
    debate = create_round_robin_contributions()

    def count(turn: TurnInput, ctx: Context) -> str:
        by_object = ctx.resources[debate].state.entries
        by_key = ctx.resources["debate"].state.entries
        assert list(by_object) == list(by_key) == list(turn.contributions)
        return str(len(by_object))

    roster = [RosterEntry(name=name, block=count) for name in "ab"]
    pattern = round_robin(
        name="p",
        roster=roster,
        contributions=debate,
        accessor_key="debate",
        max_rounds=1,
        synthesizer=False,
    )
    assert spoken(pattern.run("go")) == ["0", "1"]


def test_an_unknown_resource_says_which_there_are() -> None:
    def ask(turn: TurnInput, ctx: Context) -> str:
        with pytest.raises(KeyError, match="no resource 'notes' here; there is: contributions"):
            ctx.resources["notes"]
        return "x"

    entry = RosterEntry(name="a", block=ask)
    round_robin(name="p", roster=[entry], max_rounds=1, synthesizer=False).run("go")


def test_the_transcript_stands_under_the_accessor_key() -> None:
    output = panel("a", max_rounds=1, accessor_key="debate").invoke({"goal": "go"})
    assert [entry["text"] for entry in output["debate"]] == ["a-1-1"]
    assert "contributions" not in output


def test_each_turn_leaves_one_audit_task() -> None:
    result = panel("ab", max_rounds=2).run("go")
    assert [(t.goal, t.assignee, t.status, t.output) for t in result.tasks] == [
        (f"{c.agent_name} (round {c.round})", c.agent_name, "completed", c.text)
        for c in result.contributions
    ]
    assert {task.collection_id for task in result.tasks} == {"panel"}
    assert all(task.started_at <= task.completed_at for task in result.tasks)


def test_collection_id_names_the_audit_tasks() -> None:
    result = panel("a", max_rounds=1, collection_id="audit-7").run("go")
    assert result.tasks[0].collection_id == "audit-7"


def test_usage_is_told_by_member_referee_and_synthesizer() -> None:
    def message(text: str, tokens: int) -> AIMessage:
        usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
        return AIMessage(text, usage_metadata=usage)

    model = ScriptedModel(
        by_agent={
            "a": [message("x", 10), message("x", 20)],
            "b": [message("y", 5), message("y", 5)],
            "synthesizer": [message("end", 100)],
        }
    )
    pattern = round_robin(
        name="p", roster=[{"name": "a"}, {"name": "b"}], max_rounds=2, model=model
    )
    usage = pattern.run("go").usage
    assert usage.by_member["a"].total_tokens == 32
    assert usage.by_member["b"].input_tokens == 10
    assert usage.synthesizer.total_tokens == 101
    assert usage.total_tokens == 32 + 12 + 101


def test_only_the_deliverable_is_handed_on_as_a_message() -> None:
    model = ScriptedModel(by_agent={"a": ["said"], "synthesizer": ["final"]})
    pattern = round_robin(name="my panel", roster=[{"name": "a"}], max_rounds=1, model=model)
    messages = pattern.invoke({"goal": "go"})["messages"]
    assert [(message.text, message.name) for message in messages] == [("final", "my-panel")]


def test_a_deliverable_without_history_visibility_is_no_message() -> None:
    model = ScriptedModel(by_agent={"a": ["said"], "synthesizer": ["final"]})
    pattern = round_robin(
        name="p",
        roster=[{"name": "a"}],
        max_rounds=1,
        model=model,
        synthesizer_visibility=Visibility(history=False),
    )
    output = pattern.invoke({"goal": "go"})
    assert (output["messages"], output["output"]) == ([], "final")


def test_the_diagram_shows_members_referee_and_synthesizer() -> None:
    pattern = panel(
        "ab", max_rounds=2, referee=lambda _: {"critique": "c"}, synthesizer=lambda _: ""
    )
    drawn = pattern.mermaid()
    for arrow in ("a -.-> b", "b -.-> referee", "referee -.-> a", "referee -.-> synthesizer"):
        assert arrow in drawn
    assert "agent_name" not in drawn


def test_repr_shows_the_definition_on_one_line() -> None:
    pattern = panel("ab", max_rounds=2, on_error="skip")
    assert repr(pattern) == (
        "round_robin(name='panel', roster=['a', 'b'], max_rounds=2, synthesizer=False, "
        "on_error='skip')"
    )


def test_a_copy_with_config_is_still_the_pattern() -> None:
    tagged = panel("a", max_rounds=1).with_config({"tags": ["x"]})
    assert isinstance(tagged, Pattern)
    assert spoken(tagged.run("go")) == ["a-1-1"]


def test_the_builder_compiles_to_a_pattern_again() -> None:
    again = panel("a", max_rounds=1).builder.compile()
    assert isinstance(again, Pattern)
    assert spoken(again.run("go")) == ["a-1-1"]


def test_a_message_that_a_synthesizer_gives_keeps_its_id_and_usage() -> None:
    usage: Any = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    message = AIMessage("final", id="m1", usage_metadata=usage)
    pattern = panel("a", max_rounds=1, synthesizer=lambda given: message)
    assert [m.id for m in pattern.invoke({"goal": "go"})["messages"]] == ["m1"]
    result = pattern.run("go")
    assert (result.output, result.usage.synthesizer.total_tokens) == ("final", 7)


class Percent(BaseModel):
    pct: float

    @field_validator("pct", mode="before")
    @classmethod
    def scale(cls, value: float) -> float:
        return value / 100


class Area(BaseModel):
    model_config = ConfigDict(extra="forbid")
    side: int

    @computed_field
    def area(self) -> int:
        return self.side**2


class Aliased(BaseModel):
    mine: str = Field(validation_alias="theirs", serialization_alias="yours")


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    due: date


@pytest.mark.parametrize(
    "made",
    [Percent(pct=50), Area(side=3), Aliased(theirs="x"), Strict(due=date(2026, 1, 2))],  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue] - by alias
)
def test_a_typed_output_is_the_object_that_was_made(made: BaseModel) -> None:
    pattern = panel(
        "a",
        max_rounds=1,
        synthesizer=lambda given: made,
        output_schema=type(made),
        checkpointer=InMemorySaver(),
    )
    assert pattern.run("go", thread_id="t").output == made
    if not isinstance(
        made, Percent
    ):  # whose validator is no projection: read back, it scales again
        assert pattern.resume("t").output == made


def test_two_classes_of_one_name_are_kept_apart() -> None:
    one, two = create_model("Vote", x=(int, 1)), create_model("Vote", x=(int, 1), y=(str, "q"))
    given: dict[str, Any] = {"a": one(x=5), "b": two(x=6)}
    roster = [RosterEntry(name=n, block=lambda turn: given[turn.agent_name]) for n in given]
    result = round_robin(name="p", roster=roster, max_rounds=1, synthesizer=False).run("go")
    assert [type(c.data) for c in result.contributions] == [one, two]


def test_what_a_member_does_to_the_transcript_stays_with_it() -> None:
    def spoil(turn: TurnInput) -> dict[str, Any]:
        for contribution in turn.contributions:
            contribution.data["k"] = "spoilt"
        return {"text": "x", "k": "mine"}

    roster = [RosterEntry(name=name, block=spoil) for name in "ab"]
    result = round_robin(name="p", roster=roster, max_rounds=2, synthesizer=False).run("go")
    assert [c.data["k"] for c in result.contributions] == ["mine"] * 4


def test_repr_holds_no_secret_of_a_model() -> None:
    model = ChatOpenAI(
        model="gpt-4o", api_key=SecretStr("k"), default_headers={"Authorization": "Bearer SECRET"}
    )
    shown = repr(panel("a", model=model, checkpointer=InMemorySaver()))
    assert "model=ChatOpenAI(gpt-4o)" in shown
    assert "checkpointer=InMemorySaver()" in shown
    assert "SECRET" not in shown


def test_an_entry_can_be_written_by_position() -> None:
    assert RosterEntry("a", "role") == RosterEntry(name="a", role="role")
