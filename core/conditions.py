"""Ready-made stop conditions.

A condition looks at what members said in the whole run so far, never at the goal. All are
stateless: one object serves any number of runs. They combine with `|`, `&` and `~`, among
themselves and with plain functions `(ctx) -> bool`, and the result's `stop.by` names the
part that fired.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from flowcompose.core.condition import Condition, Predicate, as_condition
from flowcompose.core.context import Context
from flowcompose.core.definition import Problems
from flowcompose.core.untyped import items_of, unchecked

__all__ = ["Condition", "Predicate", "as_condition", "max_messages", "text_mention"]


@dataclass(frozen=True)
class _Simple(Condition, ABC):
    """A condition without parts."""

    @abstractmethod
    def holds(self, ctx: Context) -> bool: ...

    def fired(self, ctx: Context) -> Condition | None:
        return self if self.holds(ctx) else None


@dataclass(frozen=True)
class _TextMention(_Simple):
    text: str
    sources: tuple[str, ...] | None = None

    def holds(self, ctx: Context) -> bool:
        return any(
            self.text in entry["text"]
            for entry in ctx.contributions.raw
            if self.sources is None or entry["agent_name"] in self.sources
        )

    def __repr__(self) -> str:
        sources = "" if self.sources is None else f", sources={list(self.sources)!r}"
        return f"text_mention({self.text!r}{sources})"


@dataclass(frozen=True)
class _MaxMessages(_Simple):
    n: int

    def holds(self, ctx: Context) -> bool:
        return len(ctx.contributions) >= self.n

    def __repr__(self) -> str:
        return f"max_messages({self.n})"


def text_mention(text: str, sources: Sequence[str] | None = None) -> Condition:
    """Stop once a member has said `text`.

    Choose it when members are told to say a word such as APPROVE. For anything finer, write
    a function of the context.

    Args:
        text: What to look for, case-sensitive, anywhere in a contribution. The goal, critiques
            and earlier conversations are not searched.
        sources: Only what these members said; None for all.

    Raises:
        DefinitionError: `text` is empty or not a string, or `sources` is not a list of names.

    Example:
        ```python
        from flowcompose.core.conditions import max_messages, text_mention

        print(text_mention("APPROVE", sources=["editor"]) | max_messages(12))
        #> text_mention('APPROVE', sources=['editor']) | max_messages(12)
        ```
    """
    problems = Problems("text_mention")
    wanted, names = unchecked(text), items_of(sources)
    problems.check(
        isinstance(wanted, str) and bool(wanted), f"text must not be empty, got {text!r}"
    )
    problems.check(
        sources is None or (names is not None and all(isinstance(name, str) for name in names)),
        f"sources must be a list of member names or None, got {sources!r}",
    )
    problems.raise_if_any()
    return _TextMention(text, None if names is None else tuple(names))


def max_messages(n: int) -> Condition:
    """Stop once `n` contributions were made in the run.

    For a plain cap use the pattern's own `max_rounds`; this one is for combining with others.

    Args:
        n: Contributions, at least 1. Failed turns do not count.

    Raises:
        DefinitionError: `n` is not a whole number above 0.
    """
    problems = Problems("max_messages")
    count = unchecked(n)
    whole = isinstance(count, int) and not isinstance(count, bool) and count > 0
    problems.check(whole, f"n must be a whole number > 0, got {n!r}")
    problems.raise_if_any()
    return _MaxMessages(n)
