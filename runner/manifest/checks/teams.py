"""Checking teams: the strategy, and the cap it needs."""

from __future__ import annotations

from typing import Final

from flowcompose.runner.manifest.checks.context import Context, listed
from flowcompose.runner.manifest.checks.graphs import check_constraint, check_graph
from flowcompose.runner.manifest.checks.members import check_members
from flowcompose.runner.manifest.checks.selectors import check_selector
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.eras import newer_fields
from flowcompose.runner.manifest.kinds.team import DEFAULT_CAP, TeamSpec
from flowcompose.runner.manifest.marks import said

LAST: Final = "v0.1.67"

_STRATEGIES: Final = ("sequential", "round-robin", "selector", "graph")
_RUNS_WITH: Final = f"; it runs with a cap of {DEFAULT_CAP} turns"
_CAP: Final = ("spec", "maxTurns")
_STRATEGY: Final = ("spec", "strategy")


def check_team(context: Context, team: Document, spec: TeamSpec) -> None:
    """Note what is wrong with a team."""
    for path, since in newer_fields(team, context.era):
        message = f"{said(path[1:])} came with {since}: ignored under {context.era}"
        context.warning(team, path, message)
    _check_strategy(context, team, spec)
    check_members(context, team, spec)
    _check_cap(context, team, spec)
    _check_unused(context, team, spec)


def _check_strategy(context: Context, team: Document, spec: TeamSpec) -> None:
    match spec.strategy:
        case "selector":
            check_selector(context, team, spec)
            check_constraint(context, team, spec)
        case "graph" if context.era == LAST:
            message = "graph is no strategy any more: it runs as sequential, in the members' order"
            context.warning(team, _STRATEGY, message)
        case "graph":
            check_graph(context, team, spec)
        case "round-robin" if context.era == LAST:
            context.warning(team, _STRATEGY, _migrated(spec))
        case "sequential" | "round-robin":
            pass
        case other:
            allowed = listed(_STRATEGIES if context.era != LAST else _STRATEGIES[:-1])
            message = f"unsupported strategy '{other}': must be {allowed}"
            context.error(team, _STRATEGY, message)


def _migrated(spec: TeamSpec) -> str:
    how = "one pass" if spec.max_turns is None else "loops and the same maxTurns"
    return f"round-robin is no strategy any more: it runs as sequential, with {how}"


def _check_cap(context: Context, team: Document, spec: TeamSpec) -> None:
    if spec.max_turns is not None and spec.max_turns < 1:
        message = f"maxTurns must be at least 1, not {spec.max_turns}"
        context.error(team, _CAP, message)
    last = context.era == LAST
    loops = last and spec.loops
    if loops and spec.strategy in ("selector", "graph"):
        message = "loops can only be used with the 'sequential' strategy"
        context.error(team, ("spec", "loops"), message)
    elif spec.strategy == "sequential":
        _check_cap_of_sequential(context, team, spec)
    elif spec.max_turns is None and _needs_cap(spec.strategy, last=last):
        message = f"{spec.strategy} strategy requires maxTurns to prevent infinite execution"
        context.warning(team, _CAP, message + _RUNS_WITH)


def _needs_cap(strategy: str, *, last: bool) -> bool:
    return strategy == "selector" or (strategy in ("round-robin", "graph") and not last)


def _check_cap_of_sequential(context: Context, team: Document, spec: TeamSpec) -> None:
    if context.era != LAST:
        if spec.max_turns is not None:
            message = "maxTurns is ignored: in a sequential team each member speaks once"
            context.warning(team, _CAP, message)
    elif spec.loops and spec.max_turns is None:
        message = f"maxTurns is required when loops is enabled{_RUNS_WITH}"
        context.warning(team, _CAP, message)
    elif not spec.loops and spec.max_turns is not None:
        context.error(team, _CAP, "maxTurns can only be set when loops is enabled")


def _check_unused(context: Context, team: Document, spec: TeamSpec) -> None:
    if spec.strategy not in _STRATEGIES:
        return
    if spec.selector and spec.strategy != "selector":
        message = f"selector is ignored: the strategy is '{spec.strategy}'"
        context.warning(team, ("spec", "selector"), message)
    if spec.graph and spec.strategy in ("sequential", "round-robin"):
        message = f"graph is ignored: the strategy is '{spec.strategy}'"
        context.warning(team, ("spec", "graph"), message)
