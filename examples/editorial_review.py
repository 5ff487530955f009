"""An editorial review: three default members, a referee, and a typed deliverable.

What happens:

1. A writer, a fact-checker and a copy editor speak in this order, each reading what was said
   before. They are default members: a name and a role is all that they are.
2. After each round a referee audits how they argued; its critique is read in the next round.
3. After two rounds the default synthesizer makes the deliverable, a `Review`.
4. All of it is printed as it happens: who begins, each token, critiques, the stop.

Run it with `python examples/editorial_review.py`. It needs no key: the offline model answers.
For a real model, name one: `FLOWCOMPOSE_MODEL=openai:gpt-4o python examples/editorial_review.py`.
"""

from __future__ import annotations

import os

from pydantic import BaseModel

from flowcompose import Result, RosterEntry, round_robin
from flowcompose.core import events
from flowcompose.core.models import ModelLike
from flowcompose.patterns.round_robin import create_referee

DRAFT = """\
Review this draft: The Eiffel Tower opened in 1889. It has 1665 steps to the top. \
Every visitor climbs them all. It is the tallest building of Europe."""


class Review(BaseModel):
    """What the panel delivers."""

    verdict: str
    corrections: list[str]


def main(model: ModelLike | None = None) -> Result[Review]:
    editorial = round_robin(
        name="editorial-review",
        roster=[
            RosterEntry(name="writer", role="writer responsible for the draft"),
            RosterEntry(name="fact-checker", role="fact-checker verifying every claim"),
            RosterEntry(name="copy-editor", role="copy editor polishing prose and clarity"),
        ],
        max_rounds=2,
        referee=create_referee(instructions="Mind claims without a source."),
        output_schema=Review,
        model=model or os.environ.get("FLOWCOMPOSE_MODEL", "offline"),
    )
    for event in editorial.events(DRAFT):
        show(event)
        if isinstance(event, events.RunCompleted):
            return event.result
    raise AssertionError("the last event is RunCompleted")


def show(event: events.Event) -> None:
    match event:
        case events.RoundStarted():
            print(f"\n--- round {event.round} ---")
        case events.TurnStarted():
            print(f"\n{event.agent_name}: ", end="")
        case events.Token():
            print(event.text, end="", flush=True)
        case events.CritiqueAdded():
            print(f"\n\n(referee) {event.critique.critique}")
        case events.RunStopped():
            print(f"\nstopped: {event.stop.reason}\n")
        case _:
            pass


if __name__ == "__main__":
    review = main().output
    print(review.verdict, *review.corrections, sep="\n- ")
