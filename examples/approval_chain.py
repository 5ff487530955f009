"""An approval chain: two reviewers at once, a chair who decides, and rework until it is good.

What happens:

1. The writer drafts. Two edges without a condition lead on from there, so legal and finance
   speak at the same time, from the same draft: neither reads the other.
2. The chair is a join: it waits for both. It gives a `Decision`, the `data` of its contribution.
3. If it refuses, the edge back to the writer holds, and all of it happens once more. Otherwise
   the last edge leads to the publisher, a function, and the run is `completed`.

Run it with `python examples/approval_chain.py`. What is said is scripted; for real reviews, name a
model: `FLOWCOMPOSE_MODEL=openai:gpt-4o python examples/approval_chain.py`.
"""

from __future__ import annotations

import os

from pydantic import BaseModel

from flowcompose import Context, Edge, Result, RosterEntry, TurnInput, generator, graph
from flowcompose.core.models import ModelLike
from flowcompose.core.testing import Replies, ScriptedModel


class Decision(BaseModel):
    """What the chair gives."""

    approved: bool
    why: str


SCRIPT: dict[str, Replies] = {
    "writer": ["We refund everything, always.", "We refund within 30 days, up to 500."],
    "legal": ["'Always' binds us for ever.", "The 30 days are lawful."],
    "finance": ["There is no upper limit.", "We can bear 500."],
    "chair": [{"approved": False, "why": "No limits."}, {"approved": True, "why": "Both agree."}],
}


def refused(ctx: Context) -> bool:
    decision = ctx.contributions[-1].data
    return isinstance(decision, Decision) and not decision.approved


def publish(turn: TurnInput) -> str:
    drafts = [said.text for said in turn.contributions if said.agent_name == "writer"]
    return f"Published: {drafts[-1]}"


def main(model: ModelLike | None = None) -> Result[str]:
    chosen = model or os.environ.get("FLOWCOMPOSE_MODEL") or ScriptedModel(by_agent=SCRIPT)
    chair = generator("chair", "Approve or refuse the draft.", output_schema=Decision)
    approval = graph(
        name="approval",
        roster=[
            RosterEntry("writer", role="writer of the policy, who mends what was refused"),
            RosterEntry("legal", role="lawyer who looks for what binds us"),
            RosterEntry("finance", role="accountant who looks for what it costs"),
            RosterEntry("chair", block=chair),
            RosterEntry("publisher", block=publish),
        ],
        edges=[
            Edge("writer", "legal"),
            Edge("writer", "finance"),
            Edge("legal", "chair"),
            Edge("finance", "chair"),
            Edge("chair", "writer", when=refused),
            Edge("chair", "publisher"),
        ],
        max_turns=16,
        model=chosen,
    )
    return approval.run("Write our refund policy in one sentence.")


if __name__ == "__main__":
    result = main()
    print(*(f"{c.turn}. {c.agent_name}: {c.text}" for c in result.contributions), sep="\n")
    print(f"ended: {result.stop.reason}, after {result.turns} turns")
