"""From a Query, or a team that is given an input, to jobs."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_openai_messages
from langgraph.checkpoint.base import BaseCheckpointSaver

from flowcompose.core.errors import DefinitionError
from flowcompose.core.pattern import Pattern
from flowcompose.runner.agents.endpoint import Endpoint
from flowcompose.runner.keys import known_keys
from flowcompose.runner.manifest import Manifest
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams.compiler import Compiler
from flowcompose.runner.teams.job import Job
from flowcompose.runner.teams.messages import cleaned, from_openai
from flowcompose.runner.teams.preflight import problems_of_models
from flowcompose.runner.teams.question import Question, of_query, of_team
from flowcompose.runner.teams.targets import target
from flowcompose.runner.teams.wording import Wording


def jobs_for(
    manifest: Manifest,
    *,
    query: str | None = None,
    team: str | None = None,
    input: str | None = None,
    endpoint: Endpoint,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> list[Job]:
    """Make the jobs of a Query, or of a team or agent that is given an input.

    Args:
        manifest: The documents.
        query: Which Query; None for the only one.
        team: A team or an agent to be asked instead.
        input: What it is asked.
        endpoint: What the command line says of models.
        checkpointer: Where runs are kept.

    Raises:
        ManifestError: A document cannot work; all problems are listed.
        DefinitionError: What is asked for is not there, or has no model.
    """
    manifest.raise_if_errors()
    if team is not None:
        question = of_team(manifest, team, input or "")
    else:
        question = of_query(manifest, query)
    redactor = _redactor(manifest, endpoint)
    texts = [question.text, *(str(each.content) for each in question.before)]
    wording = Wording.of(texts, redactor)
    compiler = Compiler(manifest, endpoint, redactor, question.parameters, wording)
    jobs = [_job(compiler, question, *each, checkpointer) for each in question.targets]
    if problems := problems_of_models(compiler, question.targets, question.namespace):
        raise DefinitionError("models", problems)
    return jobs


def team_pattern(
    manifest: Manifest,
    name: str,
    endpoint: Endpoint | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> Pattern[Any]:
    """Make the pattern of a team. Its output is a mapping of `text` and all `messages`.

    Args:
        manifest: The documents.
        name: Of a Team, or of an Agent.
        endpoint: Which model to ask instead of those of the documents.
        checkpointer: Where runs are kept.

    Raises:
        ManifestError: A document cannot work; all problems are listed.
        DefinitionError: There is no such team.
    """
    manifest.raise_if_errors()
    question = of_team(manifest, name, "")
    endpoint = endpoint or Endpoint()
    compiler = Compiler(manifest, endpoint, _redactor(manifest, endpoint))
    return target(compiler, *question.targets[0], question.namespace, checkpointer)[1]


def _redactor(manifest: Manifest, endpoint: Endpoint) -> Redactor:
    """Give what knows the secrets of the documents, of the command line and of the environment."""
    return Redactor([*manifest.secrets, *known_keys(endpoint.api_key, endpoint.base_url)])


def _shown(question: Question, redactor: Redactor) -> list[BaseMessage]:
    """Give the conversation before a question as state may hold it."""
    written = convert_to_openai_messages(list(question.before))
    return from_openai(cleaned(message, redactor) for message in written)


def _job(
    compiler: Compiler,
    question: Question,
    kind: str,
    name: str,
    checkpointer: BaseCheckpointSaver[Any] | None,
) -> Job:
    team, pattern = target(compiler, kind, name, question.namespace, checkpointer)
    shown = compiler.redactor.clean(question.text)
    before = _shown(question, compiler.redactor)
    goal = {"messages": [*before, HumanMessage(shown)]} if before else {"goal": shown}
    return Job(
        target_type=kind,
        target=name,
        pattern=pattern,
        goal=goal,
        redactor=compiler.redactor,
        reports=team.report,
        query=question.query,
        era=compiler.rules.era,
        timeout=question.timeout,
        cap=team.turns,
        names=team.names,
    )
