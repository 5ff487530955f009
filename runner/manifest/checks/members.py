"""Checking the members of teams."""

from __future__ import annotations

from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.kinds.agent import AgentSpec
from flowcompose.runner.manifest.kinds.team import MemberSpec, TeamSpec
from flowcompose.runner.manifest.loaded import Loaded

_KINDS = {"agent": "Agent", "team": "Team"}

_OWN_ENGINES = ("", "a2a", "a2a-pod")
"""Engines whose agents do not count as external."""


def kind_of_member(loaded: Loaded, team: Document, member: MemberSpec) -> str | None:
    """Give the kind of a member; None if its type is no type of members."""
    return _KINDS.get(loaded.type_of(member, team.namespace))


def check_members(context: Context, team: Document, spec: TeamSpec) -> None:
    """Note what is wrong with the members of a team."""
    if not spec.members:
        context.error(team, ("spec", "members"), "a team needs at least one member: it has none")
    for index, member in enumerate(spec.members):
        _check_member(context, team, member, index)
    if context.era != "v0.1.67":
        _check_mixed(context, team, spec)


def _check_member(context: Context, team: Document, member: MemberSpec, index: int) -> None:
    path = ("spec", "members", index)
    kind = kind_of_member(context.loaded, team, member)
    if not member.name:
        context.error(team, (*path, "name"), f"team member {index} has an empty name")
    elif kind is None:
        invalid = f"invalid type '{member.type}': must be 'agent' or 'team'"
        context.error(team, (*path, "type"), f"team member {index} has {invalid}")
    elif member.name == team.name:
        message = f"team member {index}: team '{member.name}' cannot reference itself"
        context.error(team, (*path, "name"), message)
    elif missing := context.missing(kind, member.name, team, (*path, "name")):
        message = f"team member {index} references {kind.lower()}: {missing}"
        context.error(team, (*path, "name"), message)
    if member.type is None and member.name:
        taken = f"taken for {'a team' if kind == 'Team' else 'an agent'}"
        context.warning(team, path, f"team member {index} '{member.name}' has no type: {taken}")


def _check_mixed(context: Context, team: Document, spec: TeamSpec) -> None:
    """Note agents of another system beside agents of ARK's own."""
    engines = [_engine(context, team, member) for member in spec.members]
    known = [engine is not None for engine in engines if engine is not False]
    if len(set(known)) < 2:
        return
    index = next(i for i, engine in enumerate(engines) if isinstance(engine, str))
    message = (
        "mixed teams are not allowed: team contains both internal and external agents. Team member "
        f"{index}: agent '{spec.members[index].name}' uses external execution engine "
        f"'{engines[index]}'"
    )
    context.error(team, ("spec", "members", index), message)


def _engine(context: Context, team: Document, member: MemberSpec) -> str | bool | None:
    """Give the engine of an agent, None for ARK's own; False for what is no agent."""
    if kind_of_member(context.loaded, team, member) != "Agent":
        return False
    agent = context.find("Agent", member.name, team)
    if agent is None or not isinstance(agent.spec, AgentSpec):
        return False
    engine = agent.spec.execution_engine
    return engine.name if engine and engine.name not in _OWN_ENGINES else None
