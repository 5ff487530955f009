"""The pattern that a team becomes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from flowcompose.core.blocks import Block
from flowcompose.core.pattern import Pattern
from flowcompose.patterns.graph import graph
from flowcompose.patterns.selector import selector
from flowcompose.patterns.sequential import sequential
from flowcompose.patterns.turn_loop.policies import Visibility
from flowcompose.patterns.turn_loop.roster import RosterEntry
from flowcompose.runner.teams.plan import Strategy, TeamPlan
from flowcompose.runner.teams.selecting import SelectingBlock

Make = Callable[[TeamPlan, dict[str, Any], SelectingBlock | None], Pattern[Any]]


def build(
    plan: TeamPlan,
    blocks: Mapping[str, Block],
    descriptions: Mapping[str, str],
    selecting: SelectingBlock | None,
    checkpointer: BaseCheckpointSaver[Any] | None,
) -> Pattern[Any]:
    """Make the pattern.

    Args:
        plan: How the team works.
        blocks: Its members, by name.
        descriptions: What others know of them.
        selecting: Who chooses, in a selector team.
        checkpointer: Where runs are kept; None inside of another team.
    """
    roster = [
        RosterEntry(name, block=block, description=descriptions[name] or None)
        for name, block in blocks.items()
    ]
    shared: dict[str, Any] = {
        "name": plan.name,
        "on_limit": "raise" if plan.fails_at_cap else "result",
        "checkpointer": checkpointer,
        "synthesizer_visibility": Visibility(history=False),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the loader has told all there is to tell
        return _MAKE[plan.strategy](plan, {**shared, "roster": roster}, selecting)


def _sequential(plan: TeamPlan, shared: dict[str, Any], _: SelectingBlock | None) -> Pattern[Any]:
    return sequential(**shared)


def _loops(plan: TeamPlan, shared: dict[str, Any], _: SelectingBlock | None) -> Pattern[Any]:
    return sequential(**shared, loops=True, max_turns=plan.cap)


def _selector(
    plan: TeamPlan, shared: dict[str, Any], selecting: SelectingBlock | None
) -> Pattern[Any]:
    return selector(
        **shared,
        selector=selecting,
        max_turns=plan.cap,
        edges=plan.edges if plan.constrained else None,
        allow_repeat=True,  # the selector's own rules say when it may
        on_invalid="first",
        on_no_transition="stop" if plan.rules.ends_without_edge else "first",
        can_stop=plan.rules.selects_by_tool and not plan.constrained,
    )


def _graph(plan: TeamPlan, shared: dict[str, Any], _: SelectingBlock | None) -> Pattern[Any]:
    way = dict(plan.edges)  # one way leads on from each member
    reached = [next(iter(plan.members))]
    while (following := way.get(reached[-1])) is not None and following not in reached:
        reached.append(following)
    shared["roster"] = [each for each in shared["roster"] if each.name in reached]
    edges = [each for each in way.items() if each[0] in reached]
    return graph(**shared, edges=edges, max_turns=plan.cap)


_MAKE: dict[Strategy, Make] = {
    "sequential": _sequential,
    "loops": _loops,
    "selector": _selector,
    "graph": _graph,
}
