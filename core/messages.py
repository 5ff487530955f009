"""The transcript as chat messages, in one layout for every request of a panel.

Provider caches pay for the longest common prefix. So the messages of a request are, in this
order: what came before the run, the goal, and one message per event in the order of
happening. Who is asked, and for what, comes last (see `patterns/turn_loop/prompts.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from langchain_core.messages import BaseMessage, HumanMessage

from flowcompose.resources.contributions import Entry
from flowcompose.resources.critiques import CritiqueEntry

GOAL_LABEL = "Goal: "
"""What the goal's message begins with."""


@lru_cache(maxsize=1024)
def slug(name: str) -> str:
    """Give `name` in the characters that providers take in a message's name, 64 at most."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:64] or "member"


def goal_message(goal: str) -> BaseMessage:
    """The goal, as every member reads it."""
    return HumanMessage(GOAL_LABEL + goal)


def entry_message(entry: Entry, *, rounds: bool = True) -> BaseMessage:
    """One contribution. The name stands in the text too: not every server passes `name` on."""
    when = f"[Round {entry['round']}] " if rounds else ""
    text = f"{when}{entry['agent_name']}: {entry['text']}"
    return HumanMessage(text, name=slug(entry["agent_name"]))


def critique_message(critique: CritiqueEntry) -> BaseMessage:
    """One critique, where it happened: after its round."""
    return HumanMessage(f"[Round {critique['round']}] Referee critique: {critique['critique']}")


def happenings(
    entries: Iterable[Entry], critiques: Iterable[CritiqueEntry], *, rounds: bool = True
) -> Iterator[BaseMessage]:
    """Contributions and critiques in the order in which they happened.

    Args:
        entries: The transcript.
        critiques: One per finished round, if there is a referee.
        rounds: Whether the messages tell in which round it was.
    """
    waiting = iter(critiques)
    critique = next(waiting, None)
    for entry in entries:
        while critique is not None and critique["round"] < entry["round"]:
            yield critique_message(critique)
            critique = next(waiting, None)
        yield entry_message(entry, rounds=rounds)
    while critique is not None:
        yield critique_message(critique)
        critique = next(waiting, None)
