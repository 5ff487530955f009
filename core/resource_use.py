"""Which resources a block uses: what it names itself, and what the blocks inside it name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flowcompose.core.definition import Problems
from flowcompose.core.pattern_graph import PatternGraph
from flowcompose.core.untyped import items_of, mapping_of, unchecked
from flowcompose.resources.resource import Resource, is_transcript

ResourceMap = Mapping[str, Resource[Any]]
"""Resources by the key under which `ctx.resources` gives them."""

ResourcesLike = Iterable[Resource[Any]] | ResourceMap
"""What `resources=` takes: a list, where the key is the resource's name, or a mapping."""

_NONE: ResourceMap = {}


def resources_of(block: object) -> ResourceMap:
    """Give the resources that a block or a graph uses, those of the blocks inside included."""
    # Anybody's tool may have an attribute of this name. A protocol would read it once more.
    declaring = unchecked(block.program if isinstance(block, PatternGraph) else block)
    keys = mapping_of(getattr(declaring, "resources", None)) or {}
    return keys if all(isinstance(each, Resource) for each in keys.values()) else _NONE


def outer_resources_of(block: object) -> ResourceMap:
    """Give what a block uses as something inside another one: its own transcripts stay its own."""
    return {key: each for key, each in resources_of(block).items() if not is_transcript(each)}


def read_resources(given: object) -> dict[str, Resource[Any]]:
    """Give what `resources=` holds, by key; `problems_of_resources` says what is left out."""
    pairs = _pairs(given) or []
    return {key: each for key, each in pairs if isinstance(each, Resource)}


def problems_of_resources(given: object) -> list[str]:
    """Say what is wrong with `resources=`."""
    pairs = _pairs(given)
    if pairs is None:
        return [f"resources must be a list of resources or a mapping of them, got {given!r}"]
    made = "made by resource(...) or create_round_robin_contributions()"
    problems = [
        f"resources must hold resources {made}, got {each!r}"
        for _, each in pairs
        if not isinstance(each, Resource)
    ]
    problems += [
        f"resources: a key must be a non-empty string, got {key!r}"
        for key, each in pairs
        if isinstance(each, Resource) and not (isinstance(key, str) and key.strip())
    ]
    found = Problems("")
    collect(found, ((f"entry {n}", dict([pair])) for n, pair in enumerate(pairs, 1) if _ok(pair)))
    return problems + found.found


def collect(
    problems: Problems, parts: Iterable[tuple[str, ResourceMap]]
) -> dict[str, Resource[Any]]:
    """Put together what several owners use, noting where they do not go together.

    Args:
        problems: Where conflicts are noted.
        parts: Owners as they stand in an error ("member 'a'"), each with what it uses.

    Returns:
        All of it by key; of two that conflict, the first.
    """
    by_key: dict[str, tuple[Resource[Any], str]] = {}
    by_name: dict[str, tuple[Resource[Any], str]] = {}
    for owner, resources in parts:
        for key, each in resources.items():
            first, who = by_key.setdefault(key, (each, owner))
            if first is not each:
                problems.add(
                    f"resources: {key!r} is two different resources, of {who} and of {owner}; "
                    "let them share one object, or give one of them another key"
                )
                continue
            if is_transcript(each):  # kept under its key, not its name
                continue
            first, who = by_name.setdefault(each.name, (each, owner))
            if first is not each:
                problems.add(
                    f"resources: two different resources are named {each.name!r}, of {who} and "
                    f"of {owner}; the state is kept by name, so give one of them another"
                )
    return {key: each for key, (each, _) in by_key.items()}


def _pairs(given: object) -> list[tuple[Any, Any]] | None:
    keys, items = mapping_of(given), items_of(given)
    if keys is not None:
        return list(keys.items())
    if items is None:
        return None
    return [(each.name if isinstance(each, Resource) else "", each) for each in items]


def _ok(pair: tuple[Any, Any]) -> bool:
    return isinstance(pair[0], str) and isinstance(pair[1], Resource)
