"""A risk panel: analysts that vote as data, and a step that counts their votes.

What happens:

1. Three analysts, models with prompts of their own, vote on a trade: each gives a `Vote`. Its
   JSON is what the others read, the object is the `data` of the contribution.
2. After each round the panel asks `enough`, which reads the most rounds from the session: the
   caller's word, not the panel's. The hard cap is `max_rounds`.
3. `tally`, the next step of the flow, reads the shared transcript and counts the votes of the
   last round. A draw is no majority.

Run it with `python examples/risk_panel.py`. The votes are scripted; for real ones, name a
model: `FLOWCOMPOSE_MODEL=openai:gpt-4o python examples/risk_panel.py`.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Literal

from pydantic import BaseModel

import flowcompose as fc
from flowcompose.core.models import ModelLike
from flowcompose.core.testing import ScriptedModel


class Vote(BaseModel):
    """What an analyst answers."""

    choice: Literal["buy", "pass"]
    why: str


class Decision(BaseModel):
    """What the flow delivers."""

    rounds: int
    buy: bool


STANCES = {"bull": "You look for gain.", "bear": "You look for loss.", "clerk": "You weigh both."}
BUY, PASS = Vote(choice="buy", why="It is cheap."), Vote(choice="pass", why="One customer.")
VOTES = {"bull": [BUY, BUY], "bear": [PASS, PASS], "clerk": [BUY, PASS]}

debate = fc.create_round_robin_contributions()


def enough(ctx: fc.Context) -> bool:
    most: int = ctx.session.state.get("max_debate_rounds", 1)
    return ctx.state.round >= most


@fc.handler(resources=[debate])
def tally(final: fc.RoundRobinFinalShape, ctx: fc.Context) -> Decision:
    last = [c.data for c in ctx.resources[debate].state.entries if c.round == final.rounds]
    votes = Counter(vote.choice for vote in last if isinstance(vote, Vote))
    return Decision(rounds=final.rounds, buy=votes["buy"] > votes["pass"])


def main(model: ModelLike | None = None, rounds: int = 2) -> fc.Result[Decision]:
    chosen = model or os.environ.get("FLOWCOMPOSE_MODEL") or ScriptedModel(by_agent=VOTES)
    analysts = [fc.generator(n, p, output_schema=Vote, model=chosen) for n, p in STANCES.items()]
    panel = fc.round_robin(
        name="risk-panel",
        roster=[fc.RosterEntry(name=analyst.name, block=analyst) for analyst in analysts],
        max_rounds=5,
        terminate_when=enough,
        contributions=debate,
        synthesizer=False,
    )
    trade = fc.Flow("trade", output_schema=Decision).step(panel).step(tally)
    return trade.run("Buy ACME at 12 dollars?", session={"max_debate_rounds": rounds})


if __name__ == "__main__":
    print(main().output)
