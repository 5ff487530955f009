"""Whether every model that a run may ask can be had, found out before it begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowcompose.core.errors import DefinitionError
from flowcompose.runner.manifest.kinds.agent import AgentSpec
from flowcompose.runner.manifest.kinds.team import TeamSpec
from flowcompose.runner.teams.compiler import Compiler


def problems_of_models(
    compiler: Compiler, targets: Sequence[tuple[str, str]], namespace: str
) -> list[str]:
    """Say which models cannot be had, each once."""
    problems: dict[str, None] = {}
    for kind, name in targets:
        for agent, model in _asked(compiler, kind, name, namespace, set()):
            try:
                document = compiler.document("Agent", agent, namespace) if agent else None
                compiler.model(document, model)
            except DefinitionError as error:
                problems |= dict.fromkeys(error.problems)
    return list(problems)


def _asked(
    compiler: Compiler, kind: str, name: str, namespace: str, seen: set[tuple[str, str]]
) -> Iterator[tuple[str | None, str | None]]:
    """Give the agents and models that a target may ask."""
    if (kind, name) in seen or kind == "tool":
        return
    seen.add((kind, name))
    if kind == "model":
        yield None, name
        return
    spec = compiler.document(kind.capitalize(), name, namespace).spec
    if isinstance(spec, AgentSpec):
        yield name, None
    if isinstance(spec, TeamSpec):
        for member in spec.members:
            kind = compiler.manifest.loaded.type_of(member, namespace)
            yield from _asked(compiler, kind, member.name, namespace, seen)
        yield from _asked_by_selector(compiler, spec, namespace, seen)


def _asked_by_selector(
    compiler: Compiler, spec: TeamSpec, namespace: str, seen: set[tuple[str, str]]
) -> Iterator[tuple[str | None, str | None]]:
    if spec.strategy != "selector":
        return
    agent = spec.selector.agent if spec.selector else None
    if agent is not None and compiler.rules.agents_select:
        yield from _asked(compiler, "agent", agent, namespace, seen)
    else:
        yield None, spec.selector.model if spec.selector else None
