"""Checking what holds what: no circles, and no more of it than can be built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.checks.members import kind_of_member
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.kinds.agent import AgentSpec, AgentToolSpec
from flowcompose.runner.manifest.kinds.team import TeamSpec
from flowcompose.runner.manifest.kinds.tool import ToolSpec
from flowcompose.runner.manifest.loaded import Loaded
from flowcompose.runner.manifest.marks import Path

DEEPEST: Final = 50
"""How deep teams may stand in one another."""

LARGEST: Final = 10_000
"""How many members a team may come to, those of its teams counted each time."""

MOST_CIRCLES: Final = 10
"""How many circles are told of one document: where all hold all, there are very many."""


@dataclass
class _Held:
    """What stands in a document."""

    parts: list[tuple[Document, Path]]
    next: int = 0
    depth: int = 0
    size: int = 1
    circles: int = 0


@dataclass
class _Walk:
    context: Context
    done: dict[int, _Held] = field(default_factory=dict[int, _Held])
    way: list[Document] = field(default_factory=list[Document])
    open: dict[int, _Held] = field(default_factory=dict[int, _Held])

    def look_into(self, document: Document) -> None:
        """Look into a document and all that is in it; by no recursion, as it may be deep."""
        if document.key not in self.done:
            self._enter(document)
        while self.way:
            self._step(self.way[-1])

    def _enter(self, document: Document) -> None:
        self.way.append(document)
        self.open[document.key] = _Held(list(_parts(self.context, document)))

    def _step(self, document: Document) -> None:
        held = self.open[document.key]
        if held.next == len(held.parts):
            self._leave(document, held)
            return
        part, path = held.parts[held.next]
        if part.key in self.open:
            held.next += 1
            held.circles += 1
            if held.circles <= MOST_CIRCLES:
                self._say_circle(document, part, path)
        elif part.key in self.done:
            held.next += 1
            inner = self.done[part.key]
            held.depth = max(held.depth, inner.depth + 1)
            held.size = min(held.size + inner.size, LARGEST + 1)
        else:
            self._enter(part)

    def _leave(self, document: Document, held: _Held) -> None:
        self.way.pop()
        self.done[document.key] = self.open.pop(document.key)
        if document.kind != "Team":
            return
        if held.depth == DEEPEST + 1:
            message = f"nested deeper than {DEEPEST} levels"
            self.context.error(document, ("spec", "members"), message)
        if held.size > LARGEST:
            message = f"comes to more than {LARGEST} members, those of its teams counted"
            self.context.error(document, ("spec", "members"), message)

    def _say_circle(self, document: Document, part: Document, path: Path) -> None:
        if part is document and document.kind == "Team":
            return  # that it cannot reference itself is said already
        keys = [each.key for each in self.way]
        circle = [*self.way[keys.index(part.key) :], part]
        shown = " -> ".join(each.name for each in circle)
        if {each.kind for each in circle} == {"Team"}:
            self.context.error(document, path, f"teams contain each other: {shown}")
        else:  # whether one asks the other is up to their models, and has an end
            self.context.warning(document, path, f"they may ask each other in a circle: {shown}")


def check_containment(context: Context) -> None:
    """Note circles, and what nests too deep or comes to too much."""
    walk = _Walk(context)
    for document in context.loaded.documents:
        if document.kind in ("Team", "Agent"):
            walk.look_into(document)


def _parts(context: Context, document: Document) -> Iterator[tuple[Document, Path]]:
    """Give what stands in a team, or is asked by an agent through its tools."""
    if isinstance(document.spec, TeamSpec):
        yield from _members(context, document, document.spec)
    elif isinstance(document.spec, AgentSpec):
        yield from _asked(context.loaded, document, document.spec)


def _members(context: Context, team: Document, spec: TeamSpec) -> Iterator[tuple[Document, Path]]:
    for index, member in enumerate(spec.members):
        kind = kind_of_member(context.loaded, team, member)
        found = context.find(kind, member.name, team) if kind else None
        if found:
            yield found, ("spec", "members", index, "name")
    # One that chooses has its tools in this era only.
    if spec.selector and spec.selector.agent and context.era == "v0.1.50":
        found = context.find("Agent", spec.selector.agent, team)
        if found and spec.strategy == "selector":
            yield found, ("spec", "selector", "agent")


def _asked(loaded: Loaded, agent: Document, spec: AgentSpec) -> Iterator[tuple[Document, Path]]:
    seen: set[str] = set()
    told: set[int] = set()
    for index, entry in enumerate(spec.tools):
        meant = f"{entry.type}|{entry.tool}|{entry.label_selector!r}"
        if meant in seen:
            continue  # the same labels may fit very many tools, once for each entry
        seen.add(meant)
        for tool in _tools(loaded, agent, entry):
            found = _asked_by(loaded, tool)
            if found and found.key not in told:
                told.add(found.key)
                yield found, ("spec", "tools", index)


def _tools(loaded: Loaded, agent: Document, entry: AgentToolSpec) -> Iterable[Document]:
    """Give the Tool documents that an entry means, by its name or by labels."""
    if entry.type == "built-in":
        return ()
    if not entry.tool and entry.label_selector:
        return loaded.fitting("Tool", entry.label_selector, agent)
    named = loaded.find("Tool", entry.tool, agent.namespace)
    return (named,) if named else ()


def _asked_by(loaded: Loaded, tool: Document) -> Document | None:
    """Give the agent or team that a tool asks."""
    spec = tool.spec
    if isinstance(spec, ToolSpec) and spec.type == "agent" and spec.agent:
        return loaded.find("Agent", spec.agent.name, tool.namespace)
    if isinstance(spec, ToolSpec) and spec.type == "team" and spec.team:
        return loaded.find("Team", spec.team.name, tool.namespace)
    return None
