"""What a run cost, in tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Self

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel, ConfigDict, Field


class Tokens(BaseModel):
    """Tokens as the provider counted them; all zero where a model reports none."""

    model_config = ConfigDict(frozen=True)

    input_tokens: int = 0
    """Tokens sent, cached ones included."""
    output_tokens: int = 0
    """Tokens received."""
    total_tokens: int = 0
    """Sent and received."""
    cached_tokens: int = 0
    """The part of `input_tokens` that the provider read from its prompt cache."""

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
        )

    @classmethod
    def of_message(cls, message: BaseMessage) -> Self:
        """Read the usage that a model noted on its answer."""
        usage = message.usage_metadata if isinstance(message, AIMessage) else None
        if usage is None:
            return cls()
        return cls(
            input_tokens=usage["input_tokens"],
            output_tokens=usage["output_tokens"],
            total_tokens=usage["total_tokens"],
            cached_tokens=usage.get("input_token_details", {}).get("cache_read", 0),
        )

    @classmethod
    def total(cls, parts: Iterable[Mapping[str, int] | None]) -> Tokens:
        """Add up usages in their state form; None and empty ones count as nothing."""
        counted = [part for part in parts if part]
        return Tokens(**{name: sum(map(itemgetter(name), counted)) for name in _NAMES})


_NAMES = tuple(Tokens.model_fields)


class Usage(Tokens):
    """The tokens of a whole run, and whose they were."""

    by_member: dict[str, Tokens] = Field(default_factory=dict[str, Tokens])
    """Per member: all its turns, the failed ones and their retries included."""
    selector: Tokens = Tokens()
    """What choosing speakers cost."""
    referee: Tokens = Tokens()
    """What the critiques cost."""
    synthesizer: Tokens = Tokens()
    """What the deliverable cost."""

    @classmethod
    def of_parts(
        cls,
        by_member: dict[str, Tokens],
        *,
        selector: Tokens | None = None,
        referee: Tokens | None = None,
        synthesizer: Tokens | None = None,
    ) -> Self:
        """Add the parts up to the total."""
        rest = [part or Tokens() for part in (selector, referee, synthesizer)]
        total = sum([*by_member.values(), *rest], Tokens())
        return cls(
            **total.model_dump(),
            by_member=by_member,
            selector=rest[0],
            referee=rest[1],
            synthesizer=rest[2],
        )
