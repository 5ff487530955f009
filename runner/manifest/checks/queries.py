"""Checking queries."""

from __future__ import annotations

from typing import Final

from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.checks.messages import check_messages
from flowcompose.runner.manifest.checks.sources import check_parameters, check_template
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.durations import seconds
from flowcompose.runner.manifest.kinds.query import QuerySpec, TargetSpec
from flowcompose.runner.manifest.marks import Path

_KINDS: Final = {"agent": "Agent", "team": "Team", "model": "Model", "tool": "Tool"}
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


def check_query(context: Context, query: Document, spec: QuerySpec) -> None:
    """Note what is wrong with a query."""
    _check_targets(context, query, spec)
    _check_selector(context, query, spec)
    _check_input(context, query, spec)
    check_parameters(context, query, ("spec", "parameters"), spec.parameters)
    if spec.timeout is not None:
        try:
            seconds(spec.timeout)
        except ValueError as error:
            context.error(query, ("spec", "timeout"), str(error))


def _check_input(context: Context, query: Document, spec: QuerySpec) -> None:
    if not spec.input:
        context.error(query, ("spec", "input"), "input must not be empty")
    if isinstance(spec.input, str):
        names = [parameter.name for parameter in spec.parameters]
        check_template(context, query, ("spec", "input"), spec.input, names)
    check_messages(context, query)


def _check_targets(context: Context, query: Document, spec: QuerySpec) -> None:
    for index, target in enumerate(spec.targets):
        path = ("spec", "targets", index)
        _check_target(context, query, path, target, f"target[{index}]")
    if spec.target:
        _check_target(context, query, ("spec", "target"), spec.target, "target")
    if spec.team:
        message = "team is not of the schema: use targets: [{type: team, name: ...}]"
        context.warning(query, ("spec", "team"), message)
        target = TargetSpec(type="team", name=spec.team.name)
        _check_target(context, query, ("spec", "team"), target, "team")
    if not spec.all_targets and spec.selector is None:
        old = "at least one target or selector must be specified"
        new = "target or selector must be specified"
        context.error(query, ("spec",), old if context.era == "v0.1.31" else new)


def _check_target(
    context: Context, query: Document, path: Path, target: TargetSpec, which: str
) -> None:
    kind = _KINDS.get(target.type)
    if kind is None:
        supported = f"supported types are: {', '.join(_KINDS)}"
        message = f"{which}: unsupported type '{target.type}': {supported}"
        context.error(query, (*path, "type"), message)
    elif missing := context.missing(kind, target.name, query, (*path, "name")):
        # A model may come from the command line.
        is_open = kind == "Model" and not context.ambiguous(kind, target.name, query)
        message = f"{which} references {target.type}: {missing}"
        if is_open:
            context.elsewhere(query, (*path, "name"), message, of_model=True)
        else:
            context.error(query, (*path, "name"), message)


def _check_selector(context: Context, query: Document, spec: QuerySpec) -> None:
    path = ("spec", "selector")
    if spec.selector is None:
        return
    unknown = [
        (index, each.operator)
        for index, each in enumerate(spec.selector.match_expressions)
        if each.operator not in _OPERATORS
    ]
    for index, operator in unknown:
        message = f"unknown operator '{operator}': must be {', '.join(_OPERATORS)}"
        context.error(query, (*path, "matchExpressions", index, "operator"), message)
    found = context.loaded.selected(spec.selector, query)
    if not (unknown or spec.all_targets or any(found)):
        context.error(query, path, "selector fits none of the documents that are loaded")
