"""The parts of a round robin by themselves: in a loop of one's own, and as blocks of a roster."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, ValidationError

from flowcompose import Context, RosterEntry, TurnInput, round_robin
from flowcompose.core.testing import ScriptedModel
from flowcompose.patterns.round_robin import (
    ContributionEntry,
    RefereeCritique,
    RefereeOutput,
    RoundRobinState,
    create_init_contributions,
    create_record_contribution,
    create_roster_agent,
    create_synthesize,
)
from flowcompose.resources.contributions import Transcript
from flowcompose.resources.logs import log_channel


class Loop(TypedDict, total=False):
    debate: Annotated[list[Any], log_channel()]


def own_loop(answers: dict[str, Any]) -> Any:
    """One round by hand: empty the transcript, then record what each member gave."""
    builder: Any = StateGraph(Loop)
    builder.add_node("init", create_init_contributions(accessor_key="debate"))
    before = "init"
    for turn, (name, answer) in enumerate(answers.items(), 1):
        record = create_record_contribution(agent_name=name, accessor_key="debate")
        builder.add_node(name, lambda _, r=record, a=answer, t=turn: r(a, round=1, turn=t))
        builder.add_edge(before, name)
        before = name
    builder.add_edge(START, "init")
    builder.add_edge(before, END)
    return builder.compile(checkpointer=InMemorySaver())


def test_init_and_record_keep_a_transcript_in_a_loop_of_ones_own() -> None:
    graph = own_loop({"ann": "plain", "bob": RefereeOutput(critique="c")})
    config: Any = {"configurable": {"thread_id": "t"}}
    for _ in range(2):  # the second run on the thread starts with an empty transcript
        transcript = Transcript(graph.invoke({}, config)["debate"])
        assert [(c.round, c.turn, c.agent_name, c.text) for c in transcript] == [
            (1, 1, "ann", "plain"),
            (1, 2, "bob", '{"critique":"c"}'),
        ]
        assert transcript[1].data == RefereeOutput(critique="c")


def test_record_warns_once_about_what_is_hard_to_read() -> None:
    record = create_record_contribution(agent_name="ann")
    with pytest.warns(UserWarning, match="member 'ann' returned int") as caught:
        texts = [record(7, round=1, turn=t)["contributions"][0]["text"] for t in (1, 2)]
    assert (texts, len(caught)) == (["7", "7"], 1)


def test_the_state_schema_holds_what_a_context_shows() -> None:
    seen: list[RoundRobinState] = []

    def look(turn: TurnInput, ctx: Context) -> str:
        critiques = list(ctx.state.referee_critiques)
        seen.append(
            RoundRobinState(goal=ctx.goal, round=ctx.state.round, referee_critiques=critiques)
        )
        return "x"

    pattern = round_robin(
        name="p",
        roster=[RosterEntry("a", block=look)],
        max_rounds=2,
        referee=lambda turn: {"critique": "weak"},
        synthesizer=False,
    )
    pattern.run("G")
    critique = RefereeCritique(round=1, critique="weak")
    assert seen == [
        RoundRobinState(goal="G", round=1),
        RoundRobinState(goal="G", round=2, referee_critiques=[critique]),
    ]


@pytest.mark.parametrize("schema", [ContributionEntry, RefereeCritique])
def test_rounds_count_from_one_in_the_schemas(schema: type[BaseModel]) -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        schema.model_validate({"round": 0, "agent_name": "a", "text": "x", "critique": "c"})


def test_a_roster_agent_and_a_synthesizer_of_ones_own_keep_the_shared_prefix() -> None:
    shared, own = ScriptedModel(by_agent={"a": ["x"]}), ScriptedModel(["y", "end"])
    agent = create_roster_agent(agent_name="b", role="sceptic", model=own, instructions="Be brief.")
    pattern = round_robin(
        name="p",
        roster=[RosterEntry("a", "optimist"), RosterEntry("b", "sceptic", block=agent)],
        max_rounds=1,
        model=shared,
        synthesizer=create_synthesize(model=own, instructions="One line."),
    )
    assert pattern.run("G").output == "end"
    requests = [call.messages for call in (*shared.calls, *own.calls)]
    assert len({messages[0].text for messages in requests}) == 1
    for earlier, later in pairwise(requests):
        kept = [message.text for message in earlier[:-1]]
        assert [message.text for message in later[: len(kept)]] == kept
    assert "You are b, sceptic" in requests[1][-1].text
    assert "Be brief." in requests[1][-1].text
    assert "One line." in requests[2][-1].text
