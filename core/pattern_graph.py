"""The engine's side of a pattern: a compiled graph that knows its program."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import count
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.runnables.graph import Graph, Node
from langgraph.graph.state import CompiledStateGraph

from flowcompose.core.concurrency import limit_of, with_threads
from flowcompose.core.program import Program
from flowcompose.core.session import with_json_session
from flowcompose.core.stream import NODE, NodeMark
from flowcompose.core.untyped import engine, mapping_of
from flowcompose.resources.writes import WRITES

UNDRAWN = "undrawn"
"""The kind of a node that no drawing shows."""

_ENGINE_THREADS = 5
"""Nodes at once for which the engine has threads on any machine."""

_ENGINE_LIMIT = 10_000
"""Supersteps that the engine allows by itself, about."""


class PatternGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph with room for all its turns, that is drawn and copied as a pattern."""

    program: Program

    @classmethod
    def adopt(cls, compiled: CompiledStateGraph[Any, Any, Any, Any], program: Program) -> Self:
        """Make a pattern of what `StateGraph.compile` gave, which picks its class itself."""
        pattern = cls.__new__(cls)
        engine(pattern).__dict__.update(vars(compiled), program=program)
        return pattern

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Give a copy, as `with_config` does; the engine's own would forget the program."""
        pattern = self.__class__.__new__(self.__class__)
        engine(pattern).__dict__.update(vars(self), **(update or {}))
        return pattern

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """LangGraph's `invoke`: the output as a mapping. `run` gives it typed."""
        return self._whole(engine(super()).invoke(input, config, **kwargs))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """LangGraph's `ainvoke`: the output as a mapping. `arun` gives it typed."""
        return self._whole(await engine(super()).ainvoke(input, config, **kwargs))

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """LangGraph's `stream`, with room for all turns. `events` gives typed events."""
        parts: Iterator[Any] = engine(super()).stream(
            with_json_session(input), self._with_threads(self._with_room(config)), **kwargs
        )
        return parts

    def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """LangGraph's `astream`, with room for all turns. `aevents` gives typed events."""
        parts: AsyncIterator[Any] = engine(super()).astream(
            with_json_session(input), self._with_room(config), **kwargs
        )
        return parts

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """LangGraph's drawable graph, without nodes of ours that only see to the engine."""
        drawn = super().get_graph(config, xray=xray)
        kinds = {key: NodeMark.read((n.metadata or {}).get(NODE)) for key, n in drawn.nodes.items()}
        for key in [key for key, mark in kinds.items() if mark and mark.kind == UNDRAWN]:
            drawn.nodes.pop(key)
            drawn.edges[:] = [edge for edge in drawn.edges if key not in (edge.source, edge.target)]
        return drawn

    def mermaid(self) -> str:
        """Give the diagram as Mermaid text; patterns and graphs inside are drawn too."""
        drawn = self.get_graph(xray=True)
        ids = _drawable(drawn.nodes)
        nodes = {
            ids[key]: Node(ids[key], _label(node.name), node.data, None)
            for key, node in drawn.nodes.items()
        }
        edges = [e._replace(source=ids[e.source], target=ids[e.target]) for e in drawn.edges]
        return Graph(nodes=nodes, edges=edges).draw_mermaid()

    def __repr__(self) -> str:
        return self.program.description

    def _whole(self, output: Any) -> Any:
        """Add what is derived, where a finished run was not run again but read from its thread.

        Nobody asked for the key of what was written to resources where nothing was.
        """
        values = getattr(output, "value", output)  # of version "v2", or the mapping itself
        known = mapping_of(values) or {}
        if known.get(WRITES) == {}:
            del values[WRITES]
        if self.program.is_finished(known):
            values.update(self.program.derived(known))
        return output

    def _with_room(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """Raise limits of the engine under which a run could not come to its end.

        A chain or a tool hands down langchain-core's 25 steps, which would end a long run early;
        the pattern has a cap of its own. And a node that waits for others needs a place beside
        theirs.
        """
        given = self._configs(config)
        limit = next((g["recursion_limit"] for g in given if "recursion_limit" in g), _ENGINE_LIMIT)
        if limit < self.program.max_steps:
            config = {**(config or {}), "recursion_limit": self.program.max_steps}
        at_once = next((each for g in given if (each := g.get("max_concurrency"))), None)
        if at_once is not None and at_once < self.program.min_concurrency:
            config = {**(config or {}), "max_concurrency": self.program.min_concurrency}
        return config

    def _with_threads(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """Give the sync path threads for all that are at work at once, unless that was limited.

        By itself the engine takes as many as there are processors, and four.
        """
        wanted = self.program.max_together
        configs = self._configs(config)
        if wanted <= _ENGINE_THREADS or any(map(limit_of, configs)):
            return config
        given = max(each.get("max_concurrency") or 0 for each in configs) if configs else 0
        return with_threads(config, max(wanted, given))

    def _configs(self, config: RunnableConfig | None) -> list[RunnableConfig]:
        """The configs that hold for a run, the one that wins first."""
        return [each for each in (config, self.config, var_child_runnable_config.get()) if each]


_KEYWORDS = frozenset(
    {"end", "graph", "flowchart", "subgraph", "style", "linkstyle", "class", "classdef", "click"}
    | {"default", "call", "href", "interpolate", "direction", "acctitle", "accdescr"}
)
"""Words of Mermaid's own, which cannot stand for a node."""


_SIGNS = '"()[]{}<>|;#`\\'
"""Characters of Mermaid's own; what it has for writing them does not come out in all labels."""

_WIDE = 0xFEE0
"""From a character to the wide form of it."""


def _label(name: str) -> str:
    """Write a name so that no character of it is taken for Mermaid's, in the wide form of it."""
    return "".join(chr(ord(c) + _WIDE) if c in _SIGNS else c for c in name)


def _no_keyword(name: str) -> str:
    return f"{name}_" if name.lower() in _KEYWORDS else name


def _drawable(nodes: Iterable[str]) -> dict[str, str]:
    """Give the ids of a drawing in which no two boxes of nested graphs have one name.

    The ids are paths, and langchain-core draws no two boxes whose paths end alike.
    """
    named: dict[str, str] = {}
    ids: dict[str, str] = {}
    for node in nodes:
        *boxes, last = node.split(":")
        last = _no_keyword(last)
        path = [_box(named, ":".join(boxes[: end + 1]), boxes[end]) for end in range(len(boxes))]
        ids[node] = ":".join([*path, last])
    return ids


def _box(named: dict[str, str], path: str, name: str) -> str:
    """Give the name of a box: that of its graph, or with a number where another box has it."""
    if path not in named:
        name = _no_keyword(name)
        free = (name if n == 1 else f"{name}_{n}" for n in count(1))
        named[path] = next(each for each in free if each not in named.values())
    return named[path]
