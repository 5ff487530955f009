"""Texts with secrets in them, and what state holds instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from langchain_core.messages import BaseMessage

from flowcompose.runner.secrets import Redactor


@dataclass(frozen=True)
class Wording:
    """What the user says: parameters may have put a secret into it, which no state may hold."""

    real: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts by what is shown in their place, where that differs."""

    @classmethod
    def of(cls, texts: Sequence[str], redactor: Redactor) -> Self:
        """Note the texts that hold secrets."""
        shown = {redactor.clean(text): text for text in texts}
        return cls({each: text for each, text in shown.items() if each != text})

    def reveal(self, text: str) -> str:
        """Give the real text for a shown one; any other is its own."""
        return self.real.get(text, text)

    def revealed(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Give messages in their real words."""
        if not self.real:
            return list(messages)
        return [self._revealed(each) for each in messages]

    def _revealed(self, message: BaseMessage) -> BaseMessage:
        content = message.content
        if not isinstance(content, str) or content not in self.real:
            return message
        return message.model_copy(update={"content": self.real[content]})
