"""From the arguments of `round_robin` to a checked plan."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from flowcompose.core.blocks import Block, BlockLike
from flowcompose.core.conditions import as_condition
from flowcompose.core.definition import Problems
from flowcompose.core.graph_block import AnyGraph
from flowcompose.core.models import CHAT
from flowcompose.core.panel import MemberInfo, Panel
from flowcompose.core.prompt import Text, joined
from flowcompose.patterns.round_robin._blocks import (
    create_roster_agent,
    create_synthesize,
    panel_system,
)
from flowcompose.patterns.round_robin._schedule import RoundRobinSchedule
from flowcompose.patterns.turn_loop.options import (
    SharedOptions,
    Synthesizer,
    check_cap,
    check_shared,
    read_block,
)
from flowcompose.patterns.turn_loop.plan import Plan, final_shape
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
    referee: BlockLike | AnyGraph | None


def define(
    options: RoundRobinOptions, synthesizer: Synthesizer, output_schema: type[BaseModel] | None
) -> Plan:
    """Check everything that was written, and make a plan of it.

    Raises:
        DefinitionError: Something cannot work; all problems are listed.
    """
    problems = Problems(f"round_robin {options.get('name')!r}")
    check_shared(problems, options, output_schema)
    check_cap(problems, "max_rounds", options["max_rounds"])
    problems.check(
        not (synthesizer is False and output_schema is not None),
        f"cannot set output_schema when synthesizer is False, got {output_schema!r}",
    )
    _check_contributions(problems, options.get("contributions"))
    usable = not problems.found  # default blocks repeat what is wrong with shared arguments
    members = read_roster(
        options["roster"], lambda entry: _agent(entry, options if usable else None), problems
    )
    referee = read_block(problems, "referee", options.get("referee"))
    written = None if synthesizer is False else read_block(problems, "synthesizer", synthesizer)
    problems.raise_if_any()
    if synthesizer is None:
        written = _synthesizer(options, output_schema)
    return _plan(options, members, referee, written, output_schema, synthesizer)


def _plan(
    options: RoundRobinOptions,
    members: tuple[Member, ...],
    referee: Block | None,
    synthesizer: Block | None,
    output_schema: type[BaseModel] | None,
    written: Synthesizer,
) -> Plan:
    terminate = options.get("terminate_when")
    return Plan(
        description=_describe(options, written, output_schema),
        panel=_panel(options, members),
        members=members,
        schedule=RoundRobinSchedule(tuple(m.name for m in members), options["max_rounds"]),
        raw_output=final_shape,
        output_schema=output_schema,
        terminate=None if terminate is None else as_condition(terminate),
        ask=options["ask"],
        referee=referee,
        synthesizer=synthesizer,
        visibility=options["synthesizer_visibility"],
        collection_id=options.get("collection_id") or options["name"],
        on_error=options["on_error"],
        on_limit=options["on_limit"],
        turn_timeout=options.get("turn_timeout"),
    )


def _panel(options: RoundRobinOptions, members: Sequence[Member]) -> Panel:
    """What all requests have in common; a capability's texts stand there too."""
    uses = options["uses"]
    texts = [options.get("instructions"), *(u.instructions for u in uses)]
    sections: list[Text | None] = [*texts, options.get("context"), *(u.context for u in uses)]
    model = options["model"]
    return Panel(
        name=options["name"],
        members=tuple(MemberInfo(m.name, m.role or m.description) for m in members),
        system=panel_system(joined(sections)),
        model=None if model == CHAT else model,
        accessor_key=options["accessor_key"],
        contributions=options.get("contributions") or create_round_robin_contributions(),
    )


def _agent(entry: RosterEntry, options: RoundRobinOptions | None) -> Block:
    return create_roster_agent(
        agent_name=entry.name, role=entry.role, **(_forwarded(options) if options else {})
    )


def _synthesizer(options: RoundRobinOptions, output_schema: type[BaseModel] | None) -> Block:
    visible = options["synthesizer_visibility"].client
    return create_synthesize(output_schema=output_schema, stream=visible, **_forwarded(options))


def _forwarded(options: RoundRobinOptions) -> dict[str, Any]:
    """What default blocks get; the texts reach them by the shared system message."""
    bare = [type(u)(u.name, tools=u.tools, model=u.model) for u in options["uses"]]
    return {"uses": bare, "tools": options["tools"], "retry": options.get("retry")}


def _check_contributions(problems: Problems, resource: object) -> None:
    problems.check(
        resource is None
        or (isinstance(resource, Resource) and resource.schema is ContributionsState),  # pyright: ignore[reportUnknownMemberType] - any resource
        "contributions must be made by create_round_robin_contributions(), or None, "
        f"got {resource!r}",
    )


def _describe(
    options: RoundRobinOptions, synthesizer: Synthesizer, output_schema: type[BaseModel] | None
) -> str:
    """The definition on one line; what was left at its default is left out."""
    defaults = _defaults()
    given = {**options, "synthesizer": synthesizer, "output_schema": output_schema}
    shown = {key: value for key, value in given.items() if value != defaults.get(key)}
    return f"round_robin({', '.join(f'{key}={_short(value)}' for key, value in shown.items())})"


def _defaults() -> dict[str, object]:
    from flowcompose.patterns.round_robin._pattern import round_robin

    parameters = inspect.signature(round_robin).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


def _short(value: object) -> str:
    """A name where there is one: of a member, a function, a class or a graph."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_short, value))}]"  # pyright: ignore[reportUnknownArgumentType] - any list
    if isinstance(value, Mapping) and "name" in value:
        return repr(value["name"])  # pyright: ignore[reportUnknownArgumentType] - any mapping
    named = getattr(value, "__name__", None) or getattr(value, "name", None)
    return repr(value) if not isinstance(named, str) else repr(named) if _plain(value) else named


def _plain(value: object) -> bool:
    return isinstance(value, RosterEntry)
