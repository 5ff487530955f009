"""What a member that is a pattern or a flow keeps does not grow with what was said outside."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from flowcompose import Flow, Pattern, RosterEntry, TurnInput, round_robin, sequential


def says(turn: TurnInput) -> str:
    return f"{turn.agent_name} in turn {turn.turn}: " + "word " * 200


def member(kind: str) -> Any:
    if kind == "flow":
        return Flow("inner").step(says).tap(len)
    roster = [RosterEntry("x", block=says), RosterEntry("y", block=says)]
    return round_robin(name="inner", roster=roster, max_rounds=1, synthesizer=len_of)


def len_of(given: Any) -> str:
    return str(len(given.contributions))


def kept_by(kind: str, turns: int) -> int:
    """Give the bytes that a run of so many turns leaves in a checkpointer."""
    saver = InMemorySaver()
    roster = [RosterEntry("writer", block=says), RosterEntry("inner", block=member(kind))]
    team: Pattern[Any] = sequential(
        name="team", roster=roster, loops=True, max_turns=turns, checkpointer=saver
    )
    team.run("go", thread_id="t")
    kept = ([*saver.storage.values()], dict(saver.writes), dict(saver.blobs))
    return len(pickle.dumps([{k: dict(v) for k, v in kept[0][0].items()}, *kept[1:]]))


@pytest.mark.parametrize("kind", ["pattern", "flow"])
def test_twice_the_turns_keep_twice_the_bytes(kind: str) -> None:
    kept_by(kind, 2)
    small, large = kept_by(kind, 40), kept_by(kind, 80)
    assert large / small < 2.2
