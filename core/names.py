"""Node names: the members' own, as far as the engine lets them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langgraph.constants import END, START

_RESERVED = ("checkpoint_id", "checkpoint_ns", "checkpoint_map", "configurable")  # the engine's

_FORBIDDEN = {":": "%3A", "|": "%7C"}  # the engine builds its namespaces with them


def member_nodes(names: Sequence[str]) -> dict[str, str]:
    """Give each member's node name: the same name, escaped where the engine forbids it."""
    taken = {START, END, *_RESERVED}
    nodes: dict[str, str] = {}
    # Plain names first: an escaped one must not take the place of a member who bears it.
    for name in sorted(names, key=lambda name: _escaped(name) != name):
        nodes[name] = _free(_escaped(name), taken)
        taken.add(nodes[name])
    return {name: nodes[name] for name in names}


def own_node(word: str, members: Iterable[str]) -> str:
    """Give the name of a node of the loop itself; a member of that name keeps it."""
    return _free(word, set(members))


def member_of(node: str) -> str:
    """Give the member's name that a node's name was made of."""
    for character, escape in _FORBIDDEN.items():
        node = node.replace(escape, character)
    return node


def _escaped(name: str) -> str:
    escaped = "".join(_FORBIDDEN.get(character, character) for character in name)
    return f"{escaped}'" if escaped.startswith("__") else escaped  # the engine's own begin so


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    return name
