"""The transcript as chat messages, in one layout for every request of a panel.

Provider caches pay for the longest common prefix. So the messages of a request are, in this
order: what came before the run, the goal, and one message per event in the order of
happening. Who is asked, and for what, comes last (see `patterns/turn_loop/prompts.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from flowcompose.core.results import CritiqueEntry
from flowcompose.resources.contributions import Entry

GOAL_LABEL = "Goal: "
"""What the goal's message begins with."""


def slug(name: str) -> str:
    """Give `name` in the characters that providers take in a message's name, 64 at most."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:64] or "member"


def goal_message(goal: str) -> BaseMessage:
    """The goal, as every member reads it."""
    return HumanMessage(GOAL_LABEL + goal)


def entry_message(entry: Entry) -> BaseMessage:
    """One contribution. The name stands in the text too: not every server passes `name` on."""
    text = f"[Round {entry['round']}] {entry['agent_name']}: {entry['text']}"
    return HumanMessage(text, name=slug(entry["agent_name"]))


def critique_message(critique: CritiqueEntry) -> BaseMessage:
    """One critique, where it happened: after its round."""
    return HumanMessage(f"[Round {critique['round']}] Referee critique: {critique['critique']}")


def happenings(
    entries: Iterable[Entry], critiques: Sequence[CritiqueEntry]
) -> Iterable[BaseMessage]:
    """Contributions and critiques in the order in which they happened."""
    waiting = list(critiques)
    for entry in entries:
        while waiting and waiting[0]["round"] < entry["round"]:
            yield critique_message(waiting.pop(0))
        yield entry_message(entry)
    yield from map(critique_message, waiting)
