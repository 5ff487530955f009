"""The two small steps around a turn, for those who build a loop of their own.

`round_robin` does both inside its nodes, where they cost no superstep. In a StateGraph of
your own they are nodes, on the same entries and with the same reading of what members give.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from langgraph.types import Overwrite

from flowcompose.core.context import Context
from flowcompose.core.source import Outside
from flowcompose.patterns.turn_loop.spoken import Listener, entry_of


class InitContributions:
    """Empties the transcript. Made by `create_init_contributions`."""

    def __init__(self, accessor_key: str) -> None:
        self.accessor_key = accessor_key

    def __call__(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Give the update that empties the transcript, whatever the state holds."""
        return {self.accessor_key: Overwrite([])}


class RecordContribution:
    """Records what a member gave. Made by `create_record_contribution`."""

    def __init__(self, agent_name: str, accessor_key: str) -> None:
        self.agent_name = agent_name
        self.accessor_key = accessor_key
        self._listener = Listener()

    def __call__(self, value: Any, *, round: int, turn: int) -> dict[str, Any]:
        """Give the update that appends `value` to the transcript as this member's words."""
        ctx = Context(Outside({}), self.agent_name, round, turn)
        spoken = self._listener.hear(value, self.agent_name, ctx)
        entry = entry_of(spoken, ctx, time.time())
        return {self.accessor_key: [entry]}


def create_init_contributions(*, accessor_key: str = "contributions") -> InitContributions:
    """Make the node function that empties a transcript at the start of a run.

    Choose it only to build a loop of your own: a pattern starts with an empty transcript.

    Args:
        accessor_key: The state key of the transcript, a log channel or an accumulating list.

    Example:
        ```python
        from flowcompose.patterns.round_robin import create_init_contributions

        update = create_init_contributions()({"contributions": ["old"]})
        print(update["contributions"].value)
        #> []
        ```
    """
    return InitContributions(accessor_key)


def create_record_contribution(
    *, agent_name: str, accessor_key: str = "contributions"
) -> RecordContribution:
    """Make the function that turns what a member gave into an entry of the transcript.

    Choose it only to build a loop of your own: a pattern records each turn itself. What it
    accepts is what an override block may give, with the same warning for anything else.

    Args:
        agent_name: Whose words these are.
        accessor_key: The state key of the transcript.

    Example:
        ```python
        from flowcompose.patterns.round_robin import create_record_contribution

        record = create_record_contribution(agent_name="ann")
        entry = record({"text": "agreed"}, round=1, turn=2)["contributions"][0]
        print(entry["round"], entry["agent_name"], entry["text"])
        #> 1 ann agreed
        ```
    """
    return RecordContribution(agent_name, accessor_key)
