"""The texts of prompts; functions that write them cannot stand in a document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flowcompose.core.functions import describe
from flowcompose.core.prompt import Prompt, Text


@dataclass(frozen=True)
class Texts:
    """What of a prompt is text, and which functions write the rest."""

    texts: tuple[str, ...]
    functions: tuple[str, ...]

    @classmethod
    def of(cls, *given: Text | None) -> Texts:
        """Part texts from functions."""
        return cls.in_prompt(Prompt(*given))

    @classmethod
    def in_prompt(cls, prompt: Prompt) -> Texts:
        """Part texts from functions."""
        parts = prompt.parts
        return cls(
            tuple(each.strip() for each in parts if isinstance(each, str) and each.strip()),
            tuple(describe(each) for each in parts if not isinstance(each, str)),
        )


def paragraphs(texts: Iterable[str]) -> str:
    """Join texts as a prompt has them."""
    return "\n\n".join(each for each in texts if each)


def listed(names: Iterable[object]) -> str:
    """Write names in a row, quoted."""
    return ", ".join(map(repr, names))
