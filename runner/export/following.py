"""Which edges of a graph a document keeps: one from each member, and none with a condition."""

from __future__ import annotations

from collections.abc import Sequence

from flowcompose.patterns.graph._ways import Ways
from flowcompose.patterns.turn_loop.edges import Edge, Way
from flowcompose.runner.export.book import Book


def kept_ways(book: Book, where: str, ways: Ways) -> list[Way]:
    """Give the edges that a document keeps, noting what becomes of the others."""
    kept: list[Way] = []
    for name in ways.names:
        after = ways.of[name]
        best = _best(ways, after)
        kept += [] if best is None else [best]
        _lose_others(book, where, name, after, best)
    if ways.together:
        joins = sorted(ways.joins, key=ways.names.index)
        for name in joins:
            book.lose(where, f"{name!r} waits for several branches", "there is only one branch")
    return kept


def _best(ways: Ways, after: Sequence[Way]) -> Way | None:
    """Choose the one without a condition, else the first that leads on, and not back."""
    always = [way for way in after if way.when is None]
    onward = [way for way in after if way.target in ways.forward[way.source]]
    return next(iter((*always, *onward)), None)


def _lose_others(book: Book, where: str, name: str, after: Sequence[Way], best: Way | None) -> None:
    goes = f"the team ends after {name!r}" if best is None else f"{best.target!r} always follows"
    for way in after:
        if way is not best:
            book.lose(where, f"the edge {_shown(way)}", f"left out: {goes}")
    if best is not None and best.when is not None:
        book.lose(where, f"the condition of the edge {_shown(best)}", "the edge always holds")


def _shown(way: Way) -> str:
    return Edge(way.source, way.target, way.when).described
