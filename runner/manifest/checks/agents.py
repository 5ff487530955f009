"""Checking agents."""

from __future__ import annotations

from dataclasses import replace

from flowcompose.runner.manifest.checks.agent_tools import check_agent_tool
from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.checks.schemas import schema_problem
from flowcompose.runner.manifest.checks.sources import check_parameters, check_template
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.kinds.agent import AgentSpec, ModelRef


def check_agent(context: Context, agent: Document, spec: AgentSpec) -> None:
    """Note what is wrong with an agent."""
    _check_model(context, agent, spec)
    check_parameters(context, agent, ("spec", "parameters"), spec.parameters)
    names = [parameter.name for parameter in spec.parameters]
    check_template(context, agent, ("spec", "prompt"), spec.prompt, names)
    for index, tool in enumerate(spec.tools):
        check_agent_tool(context, agent, tool, index)
    if spec.execution_engine:
        message = f"executionEngine '{spec.execution_engine.name}' is ignored: it runs as all do"
        context.elsewhere(agent, ("spec", "executionEngine"), message)
    problem = schema_problem(spec.output_schema) if spec.output_schema is not None else None
    if problem:
        message = f"outputSchema is ignored: {problem}"
        context.warning(agent, ("spec", "outputSchema"), message)


def _check_model(context: Context, agent: Document, spec: AgentSpec) -> None:
    if spec.model:
        message = f"model is not of the schema: use modelRef: {{name: {spec.model.name}}}"
        context.warning(agent, ("spec", "model"), message)
    elif spec.model_ref:
        _check_reference(context, agent, spec.model_ref)
    elif several := context.ambiguous("Model", "default", agent):
        context.error(agent, ("spec", "modelRef"), several)
    elif not context.found("Model", "default", agent, ("spec", "modelRef")):
        message = "no model specified for agent and no 'default' model found in namespace"
        context.elsewhere(
            agent, ("spec", "modelRef"), f"{message} '{agent.namespace}'", of_model=True
        )


def _check_reference(context: Context, agent: Document, ref: ModelRef) -> None:
    path = ("spec", "modelRef", "name")
    # A namespace that is named is as good as one's own.
    referrer = replace(agent, namespace=ref.namespace or agent.namespace)
    if several := context.ambiguous("Model", ref.name, referrer):
        context.error(agent, path, several)
    elif not context.found("Model", ref.name, referrer, path):
        message = f"model {ref.name} not found in namespace {referrer.namespace}"
        context.elsewhere(agent, path, message, of_model=True)
