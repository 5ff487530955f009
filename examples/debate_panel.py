"""A debate whose members are your own: two functions, a voter with a typed answer, a referee.

What happens:

1. An optimist and a sceptic speak. They are plain functions of a `TurnInput`.
2. A voter, a model with its own prompt, gives a `Vote`: its JSON is the text, it is the `data`.
3. A referee, a function too, says who gave no figure in the round. The optimist reads it.
4. After round 1 the vote is to wait, after round 2 to ship: then `terminate_when` holds.
5. There is no synthesizer: the output is the transcript with the critiques.

Run it with `python examples/debate_panel.py`. The votes are scripted; for real ones, name a
model: `FLOWCOMPOSE_MODEL=openai:gpt-4o python examples/debate_panel.py`.
"""

from __future__ import annotations

import os
from typing import Literal

from pydantic import BaseModel

from flowcompose import Context, Result, RosterEntry, TurnInput, generator, round_robin
from flowcompose.core.conditions import max_messages
from flowcompose.core.models import ModelLike
from flowcompose.core.testing import ScriptedModel
from flowcompose.patterns.round_robin import RoundRobinFinalShape


class Vote(BaseModel):
    """What the voter answers."""

    choice: Literal["ship", "wait"]
    why: str


VOTES = [Vote(choice="wait", why="No figures yet."), Vote(choice="ship", why="2 in 900 is low.")]


def optimist(turn: TurnInput) -> str:
    asked = turn.referee_critiques[-1].critique if turn.referee_critiques else ""
    return "2 of 900 test runs failed." if "optimist" in asked else "The tests look good."


def sceptic(turn: TurnInput) -> dict[str, str]:
    return {"text": f"Is that enough? They say: {turn.contributions[-1].text}"}


def referee(turn: TurnInput) -> dict[str, str]:
    spoke = [c for c in turn.contributions if c.round == turn.round and c.agent_name != "voter"]
    silent = [c.agent_name for c in spoke if not any(letter.isdigit() for letter in c.text)]
    return {"critique": f"No figure from: {', '.join(silent) or 'nobody'}."}


def voted_to_ship(ctx: Context) -> bool:
    vote = ctx.contributions[-1].data
    return isinstance(vote, Vote) and vote.choice == "ship"


def main(model: ModelLike | None = None) -> Result[RoundRobinFinalShape]:
    chosen = model or os.environ.get("FLOWCOMPOSE_MODEL") or ScriptedModel(VOTES)
    voter = generator("voter", "Weigh the arguments, then vote.", output_schema=Vote, model=chosen)
    panel = round_robin(
        name="release-debate",
        roster=[
            RosterEntry(name="optimist", block=optimist),
            RosterEntry(name="sceptic", block=sceptic),
            RosterEntry(name="voter", block=voter),
        ],
        max_rounds=4,
        referee=referee,
        terminate_when=voted_to_ship | max_messages(9),
        synthesizer=False,
    )
    return panel.run("Do we ship on Friday?")


if __name__ == "__main__":
    debate = main()
    print(*(f"[{c.round}] {c.agent_name}: {c.text}" for c in debate.contributions), sep="\n")
    print(debate.stop)
