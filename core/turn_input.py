"""What a member receives when it is its turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage

from flowcompose.core.messages import goal_message, happenings
from flowcompose.resources.contributions import Contribution, Entry, Transcript
from flowcompose.resources.critiques import CritiqueEntry, RefereeCritique


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """What an override block and the referee receive. The same shape in every pattern.

    Args:
        goal: What the panel works on.
        round: The current round, counted from 1.
        turn: The current turn of the run, counted from 1.
        agent_name: Who is asked to speak.
        contributions: All that was said before, oldest first.
        referee_critiques: The critiques of the rounds before.
        history: The conversation that came before the run, if it was started with messages.
        has_rounds: Whether the pattern works in rounds; else `round` is always 1.

    Example:
        ```python
        from flowcompose import TurnInput

        def vote(turn: TurnInput) -> str:
            return f"{turn.agent_name} votes in round {turn.round} on: {turn.goal}"

        print(vote(TurnInput(goal="ship it?", agent_name="ann")))
        #> ann votes in round 1 on: ship it?
        ```
    """

    goal: str
    round: int = 1
    turn: int = 1
    agent_name: str = ""
    contributions: Sequence[Contribution] = ()
    referee_critiques: Sequence[RefereeCritique] = ()
    history: Sequence[BaseMessage] = ()
    has_rounds: bool = True

    @property
    def messages(self) -> list[BaseMessage]:
        """All of it as chat messages; the last one says whose turn it is."""
        critiques = (
            CritiqueEntry(round=c.round, critique=c.critique, usage={})
            for c in self.referee_critiques
        )
        return [
            *self.history,
            goal_message(self.goal),
            *happenings(_entries(self.contributions), critiques, rounds=self.has_rounds),
            HumanMessage(self.asked),
        ]

    @property
    def is_question(self) -> bool:
        """Whether a pattern has to be told what is asked; of a turn it is its goal."""
        return False

    @property
    def asked(self) -> str:
        """What is asked, as the last message puts it."""
        when = f" in round {self.round}" if self.has_rounds else ""
        return f"You are {self.agent_name}. It is your turn{when}."


def _entries(contributions: Sequence[Contribution]) -> Sequence[Entry]:
    if isinstance(contributions, Transcript):
        return contributions.raw
    return [
        Entry(
            round=c.round,
            turn=c.turn,
            agent_name=c.agent_name,
            text=c.text,
            started_at=0.0,
            completed_at=0.0,
        )
        for c in contributions
    ]
