"""From the arguments of `round_robin` to a checked plan."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from flowcompose.core.blocks import Block, BlockLike
from flowcompose.core.conditions import Condition, as_condition
from flowcompose.core.definition import Problems
from flowcompose.core.models import CHAT
from flowcompose.core.panel import DEFAULT_KEY, MemberInfo, Panel
from flowcompose.core.prompt import Text
from flowcompose.core.retry import Retry
from flowcompose.core.untyped import items_of, mapping_of
from flowcompose.patterns.round_robin._blocks import (
    create_roster_agent,
    create_synthesize,
    panel_system,
)
from flowcompose.patterns.round_robin._schedule import RoundRobinSchedule
from flowcompose.patterns.turn_loop.options import (
    SharedOptions,
    Written,
    check_cap,
    check_shared,
    read_block,
)
from flowcompose.patterns.turn_loop.plan import Plan, Visibility, final_shape
from flowcompose.patterns.turn_loop.resources import used_resources
from flowcompose.patterns.turn_loop.roster import Member, RosterEntry, read_roster
from flowcompose.resources.resource import (
    ContributionsState,
    Resource,
    create_round_robin_contributions,
)


class RoundRobinOptions(SharedOptions, total=False):
    """What `round_robin` takes, besides `synthesizer` and `output_schema`."""

    max_rounds: int
    contributions: Resource[ContributionsState] | None
    referee: BlockLike | None


@dataclass(frozen=True, kw_only=True)
class RoundRobinWritten(Written):
    """All arguments of `round_robin`, not yet checked."""

    max_rounds: int
    contributions: Resource[ContributionsState] | None
    referee: BlockLike | None


def define(written: RoundRobinWritten) -> Plan:
    """Check everything that was written, and make a plan of it.

    Raises:
        DefinitionError: Something cannot work; all problems are listed.
    """
    problems = Problems(f"round_robin {written.name!r}")
    check_shared(problems, written)
    check_cap(problems, "max_rounds", written.max_rounds)
    _check_contributions(problems, written.contributions)
    usable = not problems.found  # default blocks would repeat what is wrong with the arguments
    members = read_roster(
        written.roster, lambda entry: _agent(entry, written if usable else None), problems
    )
    referee = read_block(problems, "referee", written.referee)
    own = written.synthesizer
    synthesizer = None if own is False else read_block(problems, "synthesizer", own)
    problems.raise_if_any()
    plan = _plan(written, members, referee, _default(written) if own is None else synthesizer)
    resources = used_resources(problems, f"round_robin {written.name!r}", plan)
    problems.raise_if_any()
    return replace(plan, resources=resources)


def _plan(
    written: RoundRobinWritten,
    members: tuple[Member, ...],
    referee: Block | None,
    synthesizer: Block | None,
) -> Plan:
    terminate = written.terminate_when
    return Plan(
        description=_describe(written),
        panel=_panel(written, members),
        members=members,
        schedule=RoundRobinSchedule(tuple(m.name for m in members), written.max_rounds),
        raw_output=final_shape,
        output_schema=written.output_schema,
        terminate=None if terminate is None else as_condition(terminate),
        ask=written.ask,
        referee=referee,
        synthesizer=synthesizer,
        visibility=written.synthesizer_visibility,
        collection_id=written.collection_id or written.name,
        on_error=written.on_error,
        on_limit=written.on_limit,
        turn_timeout=written.turn_timeout,
        shares_transcript=written.contributions is not None or written.accessor_key != DEFAULT_KEY,
    )


def _panel(written: RoundRobinWritten, members: Sequence[Member]) -> Panel:
    """What all requests have in common; a capability's texts stand there too."""
    uses = written.uses
    texts = [written.instructions, *(u.instructions for u in uses)]
    sections: list[Text | None] = [*texts, written.context, *(u.context for u in uses)]
    return Panel(
        name=written.name,
        members=tuple(MemberInfo(m.name, m.role or m.description) for m in members),
        system=panel_system(*sections),
        model=None if written.model == CHAT else written.model,
        accessor_key=written.accessor_key,
        contributions=written.contributions or create_round_robin_contributions(),
    )


def _agent(entry: RosterEntry, written: RoundRobinWritten | None) -> Block:
    return create_roster_agent(
        agent_name=entry.name, role=entry.role, **(_forwarded(written) if written else {})
    )


def _default(written: RoundRobinWritten) -> Block:
    """The synthesizer of those who name none."""
    return create_synthesize(
        output_schema=written.output_schema,
        stream=written.synthesizer_visibility.client,
        **_forwarded(written),
    )


def _forwarded(written: RoundRobinWritten) -> dict[str, Any]:
    """What default blocks get; the texts reach them by the shared system message."""
    bare = [replace(u, context=None, instructions=None) for u in written.uses]
    model = None if written.model == CHAT else written.model  # before that of a capability
    return {"model": model, "uses": bare, "tools": written.tools, "retry": written.retry}


def _check_contributions(problems: Problems, resource: object) -> None:
    problems.check(
        resource is None
        or (isinstance(resource, Resource) and resource.schema is ContributionsState),  # pyright: ignore[reportUnknownMemberType] - any resource
        "contributions must be made by create_round_robin_contributions(), or None, "
        f"got {resource!r}",
    )


def _describe(written: RoundRobinWritten) -> str:
    """The definition on one line; what was left at its default is left out."""
    defaults = _defaults()
    shown = {key: value for key in defaults if (value := getattr(written, key)) != defaults[key]}
    return f"round_robin({', '.join(f'{key}={_short(value)}' for key, value in shown.items())})"


def _defaults() -> dict[str, object]:
    from flowcompose.patterns.round_robin._pattern import round_robin

    parameters = inspect.signature(round_robin).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


def _short(value: object) -> str:
    """A name where there is one: of a member, a function, a class or a graph."""
    items, mapping = items_of(value), mapping_of(value)
    if items is not None:
        return f"[{', '.join(map(_short, items))}]"
    if isinstance(value, RosterEntry):
        return repr(value.name)
    if mapping is not None and "name" in mapping:
        return repr(mapping["name"])
    named = getattr(value, "__name__", None) or getattr(value, "name", None)
    if isinstance(named, str):
        return named
    if isinstance(value, (str, int, float, Condition, Visibility, Retry)):
        return repr(value)
    model = getattr(value, "model_name", None)  # never all of a model: it holds keys
    return f"{type(value).__name__}({model or ''!s})"
