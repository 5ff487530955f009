"""A research team: a model chooses who speaks next, and edges say among whom.

What happens:

1. The selector, a model, chooses who opens: it reads the question and what the members are for.
2. After that it may only choose along the edges. Where one leads on, it is not asked at all: the
   reason is then `only_candidate`.
3. After the reader there are two ways: search again, or write it down. The model sees what was
   said and chooses; the reason is `exact`, or `tolerant` if it said it in its own words.
4. Nobody comes after the writer: the run ends as `no_transition`. The cap is 12 turns.
5. The output is what was said last. `usage.selector` is what the choosing cost.

Run it with `python examples/research_team.py`. What is said and chosen is scripted; for a real
team, name a model: `FLOWCOMPOSE_MODEL=openai:gpt-4o python examples/research_team.py`.
"""

from __future__ import annotations

import os

from flowcompose import Edge, Result, RosterEntry, selector
from flowcompose.core import events
from flowcompose.core.models import ModelLike
from flowcompose.core.testing import Replies, ScriptedModel

SCRIPT: dict[str, Replies] = {
    "selector": [{"name": "lead"}, "Not enough yet: searcher.", {"name": "writer"}],
    "lead": ["What moves the water, and why twice a day?"],
    "searcher": [
        "The Moon pulls the near side of the Earth more than its middle.",
        "It pulls the far side less than the middle, so the water stays behind there.",
    ],
    "reader": ["That is one bulge; it does not explain two tides.", "Two bulges, two tides."],
    "writer": ["The Moon stretches the sea into two bulges. The Earth turns through both daily."],
}


def main(model: ModelLike | None = None) -> Result[str]:
    team = selector(
        name="research",
        roster=[
            RosterEntry("lead", role="lead who says what has to be found out"),
            RosterEntry("searcher", role="searcher who finds one new fact at a time"),
            RosterEntry("reader", role="reader who says what is explained and what is missing"),
            RosterEntry("writer", role="writer of the answer, once nothing is missing"),
        ],
        edges=[
            Edge("lead", "searcher"),
            Edge("searcher", "reader"),
            Edge("reader", "searcher"),
            Edge("reader", "writer"),
        ],
        max_turns=12,
        model=model or os.environ.get("FLOWCOMPOSE_MODEL") or ScriptedModel(by_agent=SCRIPT),
    )
    for event in team.events("Why does the sea have two tides a day?"):
        if isinstance(event, events.SpeakerSelected):
            print(f"\n{event.agent_name} ({event.reason}): ", end="")
        elif isinstance(event, events.Token):
            print(event.text, end="", flush=True)
        elif isinstance(event, events.RunCompleted):
            return event.result
    raise AssertionError("the last event is RunCompleted")


if __name__ == "__main__":
    result = main()
    print(f"\n\nended: {result.stop.reason} ({result.stop.detail})")
    print("spoke:", ", ".join(said.agent_name for said in result.contributions))
    print("tokens for choosing:", result.usage.selector.total_tokens)
