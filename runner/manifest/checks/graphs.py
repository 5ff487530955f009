"""Checking graphs: the path of a graph team, and what constrains a selector."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.kinds.team import EdgeSpec, TeamSpec

_GRAPH = ("spec", "graph")
_EDGES = ("spec", "graph", "edges")


def check_graph(context: Context, team: Document, spec: TeamSpec) -> None:
    """Note what is wrong with the path of a graph team."""
    if spec.graph is None:
        context.error(team, _GRAPH, "graph strategy requires graph configuration")
        return
    if not spec.graph.edges:
        context.error(team, _EDGES, "graph strategy requires at least one edge")
        return
    _check_ends(context, team, spec, spec.graph.edges, coordinator=None)
    seen: set[str] = set()
    for index, edge in enumerate(spec.graph.edges):
        if edge.source in seen:
            message = f"member '{edge.source}' has more than one outgoing edge"
            context.error(team, (*_EDGES, index), message)
        seen.add(edge.source)
    _check_reached(context, team, spec, spec.graph.edges, _first(spec))


def check_constraint(context: Context, team: Document, spec: TeamSpec) -> None:
    """Note what is wrong with the graph that constrains a selector."""
    if spec.graph is None:
        return
    if context.era == "v0.1.31":
        message = "graph is ignored: a selector is not constrained under v0.1.31"
        context.warning(team, _GRAPH, message)
        return
    if not spec.graph.edges:
        context.error(team, _EDGES, "graph constraint requires at least one edge")
        return
    coordinator = spec.selector.agent if spec.selector else None
    _check_ends(context, team, spec, spec.graph.edges, coordinator)
    if context.era == "v0.1.50":  # later the first speaker is chosen among all
        first = {edge.target for edge in spec.graph.edges if edge.source == coordinator}
        _check_reached(context, team, spec, spec.graph.edges, first | _first(spec))


def _first(spec: TeamSpec) -> set[str]:
    return {member.name for member in spec.members[:1]}


def _check_ends(
    context: Context,
    team: Document,
    spec: TeamSpec,
    edges: Iterable[EdgeSpec],
    coordinator: str | None,
) -> None:
    members = {member.name for member in spec.members}
    for index, edge in enumerate(edges):
        for end, name in (("from", edge.source), ("to", edge.target)):
            if name in members:
                continue
            path = (*_EDGES, index, end)
            if end == "from" and name == coordinator:
                context.warning(team, path, _of_coordinator(context, name, index))
            else:
                message = f"graph edge {index}: '{end}' member '{name}' not found in team members"
                context.error(team, path, message)


def _of_coordinator(context: Context, name: str, index: int) -> str:
    """Say what comes of an edge that begins at the selecting agent."""
    if context.era == "v0.1.50":
        return f"'{name}' is no member: its edges say who may be chosen first"
    missing = f"graph edge {index}: 'from' member '{name}' not found in team members"
    return f"{missing}: it has no effect under {context.era}"


def _check_reached(
    context: Context, team: Document, spec: TeamSpec, edges: Iterable[EdgeSpec], first: set[str]
) -> None:
    reached = _reached(edges, first)
    for index, member in enumerate(spec.members):
        if member.name not in reached:
            message = f"member '{member.name}' is never reached: no edge leads to it from the start"
            context.warning(team, ("spec", "members", index), message)


def _reached(edges: Iterable[EdgeSpec], first: set[str]) -> set[str]:
    followers: defaultdict[str, set[str]] = defaultdict(set)
    for edge in edges:
        followers[edge.source].add(edge.target)
    reached: set[str] = set()
    ahead = set(first)
    while ahead:
        name = ahead.pop()
        reached.add(name)
        ahead |= followers[name] - reached
    return reached
