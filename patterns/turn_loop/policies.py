"""What a user decides about a pattern in a word: about failures, caps, and who sees what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flowcompose.core.definition import Problems

OnError = Literal["raise", "skip", "stop"]
OnLimit = Literal["result", "raise"]
Ask = Literal["round", "turn"]


@dataclass(frozen=True)
class Visibility:
    """Who gets to see what a block says.

    Args:
        client: Whether its tokens show in the run's events.
        history: Whether its message is handed on in `messages`, to a conversation that the
            pattern is a part of.

    Raises:
        DefinitionError: One of them is no bool.
    """

    client: bool = True
    history: bool = True

    def __post_init__(self) -> None:
        """Refuse what is neither True nor False: a text would count as True."""
        problems = Problems("Visibility")
        for name, value in (("client", self.client), ("history", self.history)):
            problems.check(type(value) is bool, f"{name} must be True or False, got {value!r}")
        problems.raise_if_any()
