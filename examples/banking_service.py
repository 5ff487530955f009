"""A banking service: a router, an account helper and a loan advisor, one after the other.

What happens:

1. The router, a model with its own prompt, says what the customer asks for: an `Inquiry`.
2. The account helper, a function, answers from the books. Whose books is said by the session,
   not by the question.
3. The loan advisor, a default member, has read both and answers the rest.
4. `only_accounts` is asked after every turn: if the inquiry needs no advisor, the run ends before
   it (`terminate_when`). Otherwise it ends after the last member (`completed`).

Run it with `python examples/banking_service.py`. The models' words are scripted; for real ones,
name a model: `FLOWCOMPOSE_MODEL=openai:gpt-4o python examples/banking_service.py`.
"""

from __future__ import annotations

import os
from typing import Literal

from pydantic import BaseModel

from flowcompose import Context, Result, RosterEntry, TurnInput, generator, sequential
from flowcompose.core.models import ModelLike
from flowcompose.core.testing import Replies, ScriptedModel

BALANCES = {"c-17": 1250, "c-18": -40}
QUESTIONS = ("What is my balance?", "What is my balance, and could I borrow 5000?")


class Inquiry(BaseModel):
    """What the router gives."""

    kind: Literal["account", "loan", "mixed"]


SCRIPT: dict[str, Replies] = {
    "router": [Inquiry(kind="account"), Inquiry(kind="mixed")],
    "loan-advisor": ["With 1250 on your account we can talk about 5000. Please bring a payslip."],
}


def inquiry(ctx: Context) -> Inquiry | None:
    routed = ctx.contributions[0].data
    return routed if isinstance(routed, Inquiry) else None


def account_helper(turn: TurnInput, ctx: Context) -> str:
    asked = inquiry(ctx)
    if asked and asked.kind == "loan":
        return "Nothing about accounts was asked."
    return f"The balance is {BALANCES[ctx.session.state['customer']]}."


def only_accounts(ctx: Context) -> bool:
    asked = inquiry(ctx)
    return len(ctx.contributions) == 2 and asked is not None and asked.kind == "account"


def main(model: ModelLike | None = None, customer: str = "c-17") -> list[Result[str]]:
    chosen = model or os.environ.get("FLOWCOMPOSE_MODEL") or ScriptedModel(by_agent=SCRIPT)
    router = generator("router", "Say what the customer asks about.", output_schema=Inquiry)
    service = sequential(
        name="customer-service",
        roster=[
            RosterEntry("router", block=router, description="says what is asked for"),
            RosterEntry("account-helper", block=account_helper, description="reads the books"),
            RosterEntry("loan-advisor", role="advisor who says what loans are possible"),
        ],
        terminate_when=only_accounts,
        model=chosen,
    )
    return [service.run(question, session={"customer": customer}) for question in QUESTIONS]


if __name__ == "__main__":
    for question, result in zip(QUESTIONS, main(), strict=True):
        print(question, *(f"  {c.agent_name}: {c.text}" for c in result.contributions), sep="\n")
        print(f"  ended: {result.stop.reason} {result.stop.by or ''}")
