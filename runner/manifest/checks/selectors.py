"""Checking who chooses the next speaker, and what it is asked."""

from __future__ import annotations

from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.kinds.team import SelectorSpec, TeamSpec
from flowcompose.runner.manifest.slots import SLOTS, unfilled

_SELECTOR = ("spec", "selector")


def check_selector(context: Context, team: Document, spec: TeamSpec) -> None:
    """Note what is wrong with the selector of a team."""
    selector = spec.selector or SelectorSpec()
    if context.era == "v0.1.31":
        _check_model(context, team, selector)
    else:
        _check_agent(context, team, selector)
    for part in unfilled(selector.selector_prompt or ""):
        allowed = ", ".join(f"{{{{.{name}}}}}" for name in SLOTS)
        message = f"{part} is not filled in: a selector prompt has {allowed}"
        context.warning(team, (*_SELECTOR, "selectorPrompt"), message)


def _check_model(context: Context, team: Document, selector: SelectorSpec) -> None:
    name = selector.model or "default"
    path = (*_SELECTOR, "model")
    if several := context.ambiguous("Model", name, team):
        context.error(team, path, several)
    elif not context.found("Model", name, team, path):
        message = f"selector model {name} not found in namespace {team.namespace}"
        context.elsewhere(team, path, message, of_model=True)


def _check_agent(context: Context, team: Document, selector: SelectorSpec) -> None:
    path = (*_SELECTOR, "agent")
    if not selector.agent:
        message = "selector strategy requires selector.agent to be specified"
        hint = "; selector.model is read under v0.1.31 only" if selector.model else ""
        context.error(team, path, message + hint)
        return
    if selector.model:
        message = "selector.model is ignored: the agent chooses, with its own model"
        context.warning(team, (*_SELECTOR, "model"), message)
    if several := context.ambiguous("Agent", selector.agent, team):
        context.error(team, path, several)
    elif not context.found("Agent", selector.agent, team, path):
        message = f"selector agent '{selector.agent}' not found in namespace {team.namespace}"
        context.error(team, path, message)
