"""The roster: what a user may write for a member, and the member that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from flowcompose.core.blocks import Block, BlockLike, as_block
from flowcompose.core.definition import Problems
from flowcompose.core.graph_block import AnyGraph, HasGraph, graph_of, is_graph
from flowcompose.core.untyped import items_of, mapping_of, unchecked

TranscriptOf = Literal["output", "all"]


@dataclass(frozen=True)
class RosterEntry:
    """A member of a pattern.

    Args:
        name: Who speaks; unique in the roster. Any text: a name that a provider would refuse
            is sent as a slug.
        role: What the default member is told that it is. Ignored when `block` is set.
        block: Your own agent instead of the default one: a function, a generator, a pattern,
            a LangChain Runnable or a compiled graph. It owns its model and prompt: the
            pattern's `model`, `instructions`, `uses`, `tools` and `context` do not reach it.
            It gets a `TurnInput` (a graph gets messages) and gives a str, `{"text": str}`, an
            AIMessage or a pydantic model; anything else is written as JSON, with one warning.
        description: What others should know of the member; `role` stands in for it.
        transcript: What of a member that is a pattern enters the transcript: its `"output"`,
            as one contribution, or `"all"` that its members said.

    Example:
        ```python
        from flowcompose import RosterEntry

        roster = [
            RosterEntry(name="writer", role="writer responsible for the draft"),
            RosterEntry(name="counter", block=lambda turn: f"{len(turn.goal.split())} words"),
        ]
        ```
    """

    name: str
    role: str | None = None
    block: BlockLike | None = None
    description: str | None = None
    transcript: TranscriptOf = "output"


RosterLike = RosterEntry | Mapping[str, Any] | AnyGraph | HasGraph
"""What a roster holds: an entry, a mapping with its keys, or a named graph or flow by itself."""

_KEYS = tuple(field.name for field in fields(RosterEntry))


@dataclass(frozen=True)
class Member:
    """A member that is ready to speak."""

    name: str
    role: str | None
    description: str | None
    block: Block
    transcript: TranscriptOf = "output"


def read_roster(
    roster: object, default_block: Callable[[RosterEntry], Block], problems: Problems
) -> tuple[Member, ...]:
    """Make members of what the user wrote, noting everything that is wrong with it."""
    written = items_of(roster)
    if written is None:
        problems.add(f"roster must be a list of RosterEntry, got {roster!r}")
        return ()
    problems.check(bool(written), f"roster must contain at least 1 entry, got {roster!r}")
    entries = [
        entry
        for position, given in enumerate(written, 1)
        if (entry := _read_entry(given, position, problems)) is not None
    ]
    _check_unique(entries, problems)
    members = (_member(entry, default_block, problems) for entry in entries)
    return tuple(member for member in members if member is not None)


def _read_entry(given: object, position: int, problems: Problems) -> RosterEntry | None:
    where = f"roster entry {position}"
    if isinstance(given, HasGraph):
        given = graph_of(given)
    if is_graph(given):
        given = RosterEntry(name=given.get_name(), block=given)
    elif (keys := mapping_of(given)) is not None:
        given = _of_mapping(keys, where, problems)
    if not isinstance(given, RosterEntry):
        allowed = "a RosterEntry, a mapping with its keys, or a pattern or compiled graph"
        problems.add(f"{where} must be {allowed}, got {given!r}")
        return None
    for key in ("role", "description"):
        value: object = getattr(given, key)
        problems.check(
            value is None or isinstance(value, str),
            f"{where}: {key} must be a string or None, got {value!r}",
        )
    problems.check(
        given.transcript in get_args(TranscriptOf),
        f"{where} ({given.name!r}): transcript must be 'output' or 'all', got {given.transcript!r}",
    )
    name = unchecked(given.name)
    named = isinstance(name, str) and bool(name.strip())
    problems.check(
        named, f"every roster entry needs a non-empty name, entry {position} has {name!r}"
    )
    return given if named else None


def _of_mapping(given: dict[Any, Any], where: str, problems: Problems) -> RosterEntry:
    problems.extend(
        f"{where}: unknown key {key!r}; allowed are {', '.join(_KEYS)}"
        for key in given
        if key not in _KEYS
    )
    known = {key: value for key, value in given.items() if key in _KEYS}
    return RosterEntry(**{"name": unchecked(None), **known})


def _check_unique(entries: Sequence[RosterEntry], problems: Problems) -> None:
    names = [entry.name for entry in entries]
    for name in dict.fromkeys(names):
        at = [str(position) for position, each in enumerate(names, 1) if each == name]
        if len(at) > 1:
            problems.add(f"duplicate roster name {name!r} (entries {', '.join(at)})")


def _member(
    entry: RosterEntry, default_block: Callable[[RosterEntry], Block], problems: Problems
) -> Member | None:
    try:
        block = default_block(entry) if entry.block is None else as_block(entry.block)
    except TypeError as error:
        problems.add(f"roster entry {entry.name!r}: {error}")
        return None
    if entry.transcript == "all" and getattr(block, "transcript", None) is None:
        problems.add(
            f"roster entry {entry.name!r}: transcript='all' needs a pattern as its block, "
            f"got {getattr(entry.block, '__name__', None) or entry.block!r}"
        )
    return Member(entry.name, entry.role, entry.description, block, entry.transcript)
