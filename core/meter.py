"""Counts what one turn costs."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

from flowcompose.resources.usage import Tokens


class Meter:
    """Adds up the usage of the model calls of one turn, re-asked and failed answers included."""

    __slots__ = ("message_id", "tokens")

    def __init__(self) -> None:
        self.tokens: Tokens | None = None
        self.message_id: str | None = None
        """The id of the last answer, under which its tokens were streamed."""

    def add(self, message: BaseMessage) -> None:
        """Count one answer."""
        self.message_id = message.id
        self.add_tokens(Tokens.of_message(message))

    def add_tokens(self, tokens: Tokens) -> None:
        """Count what was spent elsewhere on this turn's behalf."""
        self.tokens = tokens if self.tokens is None else self.tokens + tokens

    def as_json(self) -> dict[str, int]:
        """The usage in its state form; empty where no model was asked."""
        return {} if self.tokens is None else self.tokens.model_dump()
