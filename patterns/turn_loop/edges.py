"""Edges: who may speak after whom, and on what condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.errors import GraphBubbleUp

from flowcompose.core.asking import Asking, ask_condition
from flowcompose.core.condition import Condition, Predicate, as_condition
from flowcompose.core.context import Context
from flowcompose.core.definition import Problems
from flowcompose.core.errors import RunError
from flowcompose.core.explain import explain
from flowcompose.core.functions import describe
from flowcompose.core.untyped import items_of, unchecked
from flowcompose.patterns.turn_loop.checks import check_predicate


@dataclass(frozen=True)
class Edge:
    """A way from one member to another.

    Args:
        source: The member whose turn has ended.
        target: The member who may speak then.
        when: A condition or a function of the context, sync or async. None holds always.

    Example:
        ```python
        from flowcompose import Edge
        from flowcompose.core.conditions import text_mention

        print(Edge("checker", "writer", when=text_mention("rework")))
        #> 'checker' -> 'writer'
        ```
    """

    source: str
    target: str
    when: Condition | Predicate | None = None

    def __str__(self) -> str:
        return f"{self.source!r} -> {self.target!r}"

    @property
    def described(self) -> str:
        """The whole of it, as it stands in the `repr` of a pattern."""
        if self.when is None:
            return str(self)
        condition = repr(self.when) if isinstance(self.when, Condition) else describe(self.when)
        return f"{self} when {condition}"


EdgeLike = Edge | tuple[str, str] | tuple[str, str, Condition | Predicate | None]
"""What is accepted as an edge."""


def as_edge(given: Any) -> Any:
    """Give the edge of a tuple; anything else as it is."""
    parts = items_of(given)
    return Edge(*parts) if parts is not None and len(parts) in (2, 3) else given


@dataclass(frozen=True)
class Way:
    """An edge that is ready to be asked."""

    source: str
    target: str
    when: Condition | None

    def __str__(self) -> str:
        return f"{self.source!r} -> {self.target!r}"

    def holds(self, pattern: str, ctx: Context) -> Asking[bool]:
        """Say whether it may be taken now.

        Raises:
            RunError: Its condition failed; the error names the edge.
        """
        if self.when is None:
            return True
        try:
            fired = yield ask_condition(self.when, ctx)
        except GraphBubbleUp:
            raise
        except Exception as error:
            msg = f"{pattern!r}: the condition of the edge {self} failed: {explain(error)}"
            raise RunError(msg) from error
        return fired is not None


def read_edges(problems: Problems, edges: object, names: Sequence[str]) -> tuple[Way, ...]:
    """Make ways of what the user wrote, noting everything that is wrong with it."""
    written = items_of(edges)
    if written is None:
        problems.add(f"edges must be a list of Edge or of tuples, got {edges!r}")
        return ()
    read = (_read(problems, given, number) for number, given in enumerate(written, 1))
    ways = [way for way in read if way is not None]
    for way in ways:
        for end in (way.source, way.target):
            problems.check(
                end in names,
                f"edge {way}: {end!r} is no member; the members are {', '.join(map(repr, names))}",
            )
    problems.extend(f"duplicate edge {way}" for at, way in enumerate(ways) if way in ways[:at])
    return tuple(ways)


def _read(problems: Problems, given: Any, number: int) -> Way | None:
    given = as_edge(given)
    if not isinstance(given, Edge):
        allowed = "Edge(source, target, when=None) or a tuple of its parts"
        problems.add(f"edge {number} must be an {allowed}, got {given!r}")
        return None
    ends = (unchecked(given.source), unchecked(given.target))
    if not all(isinstance(end, str) for end in ends):
        problems.add(f"edge {number} must lead from a name to a name, got {given!r}")
        return None
    if given.when is None:
        return Way(given.source, given.target, None)
    before = len(problems.found)
    check_predicate(problems, f"edge {given}: when", given.when)
    if len(problems.found) > before:
        return None
    return Way(given.source, given.target, as_condition(given.when))


def async_ways(ways: Sequence[Way]) -> tuple[str, ...]:
    """Say which edges only work with `arun`."""
    return tuple(
        f"edge {way} ({part})"
        for way in ways
        if way.when is not None
        for part in way.when.async_parts
    )
