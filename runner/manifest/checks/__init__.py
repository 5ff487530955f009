"""Checking documents together, as ARK would admit them and beyond."""

from __future__ import annotations

from flowcompose.runner.manifest.checks.agents import check_agent
from flowcompose.runner.manifest.checks.containment import check_containment
from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.checks.models import check_model
from flowcompose.runner.manifest.checks.queries import check_query
from flowcompose.runner.manifest.checks.sources import check_secret
from flowcompose.runner.manifest.checks.teams import check_team
from flowcompose.runner.manifest.checks.tools import check_tool
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.eras import Era
from flowcompose.runner.manifest.findings import Findings
from flowcompose.runner.manifest.kinds.agent import AgentSpec
from flowcompose.runner.manifest.kinds.model import ModelSpec
from flowcompose.runner.manifest.kinds.query import QuerySpec
from flowcompose.runner.manifest.kinds.stored import SecretSpec
from flowcompose.runner.manifest.kinds.team import TeamSpec
from flowcompose.runner.manifest.kinds.tool import ToolSpec
from flowcompose.runner.manifest.loaded import Loaded


def check(loaded: Loaded, era: Era, findings: Findings) -> None:
    """Note all that is wrong with documents."""
    context = Context(loaded, era, findings)
    for document in loaded.documents:
        _check_one(context, document)
    _check_duplicates(context)
    check_containment(context)


def _check_one(context: Context, document: Document) -> None:
    match document.spec:
        case TeamSpec() as team:
            check_team(context, document, team)
        case AgentSpec() as agent:
            check_agent(context, document, agent)
        case QuerySpec() as query:
            check_query(context, document, query)
        case ModelSpec() as model:
            check_model(context, document, model)
        case ToolSpec() as tool:
            check_tool(context, document, tool)
        case SecretSpec() as secret:
            check_secret(context, document, secret)
        case _:  # a ConfigMap, or nothing that could be read
            pass


def _check_duplicates(context: Context) -> None:
    """Note every document that is there already."""
    seen: dict[tuple[str, str, str], Document] = {}
    for document in context.loaded.documents:
        if not document.name:
            continue
        first = seen.setdefault((document.kind, document.namespace, document.name), document)
        if first is not document:
            message = f"{document.title} stands twice, first at {first.place}"
            context.error(document, ("metadata", "name"), message)
