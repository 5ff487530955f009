"""From what the command line asks to jobs: which Query, which targets, with which input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from langgraph.checkpoint.base import BaseCheckpointSaver

from flowcompose.core.errors import DefinitionError
from flowcompose.core.pattern import Pattern
from flowcompose.runner.agents.endpoint import Endpoint
from flowcompose.runner.keys import known_keys
from flowcompose.runner.manifest import Document, Manifest, fill, seconds
from flowcompose.runner.manifest.kinds.query import QuerySpec
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams.compiler import Compiler
from flowcompose.runner.teams.job import Job
from flowcompose.runner.teams.preflight import problems_of_models
from flowcompose.runner.teams.targets import target
from flowcompose.runner.teams.wording import Wording

_DEFAULT_TIMEOUT = "5m"


@dataclass(frozen=True)
class Asked:
    """What is to be answered, and by whom."""

    targets: tuple[tuple[str, str], ...]
    """Kinds and names."""
    text: str
    before: tuple[BaseMessage, ...] = ()
    """The conversation before it."""
    namespace: str = "default"
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    query: str | None = None
    timeout: float | None = None


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
        asked = _of_team(manifest, team, input or "")
    else:
        asked = _of_query(manifest, _query(manifest, query))
    redactor = _redactor(manifest, endpoint)
    wording = Wording(redactor.clean(asked.text), asked.text)
    compiler = Compiler(manifest, endpoint, redactor, asked.parameters, wording)
    jobs = [_job(compiler, asked, *each, checkpointer) for each in asked.targets]
    if problems := problems_of_models(compiler, asked.targets, asked.namespace):
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
    asked = _of_team(manifest, name, "")
    endpoint = endpoint or Endpoint()
    compiler = Compiler(manifest, endpoint, _redactor(manifest, endpoint))
    return target(compiler, *asked.targets[0], asked.namespace, checkpointer)[1]


def _redactor(manifest: Manifest, endpoint: Endpoint) -> Redactor:
    """Give what knows the secrets of the documents, of the command line and of the environment."""
    return Redactor([*manifest.secrets, *known_keys(endpoint.api_key, endpoint.base_url)])


def _query(manifest: Manifest, name: str | None) -> Document:
    queries = manifest.of_kind("Query")
    if name is not None:
        queries = [each for each in queries if each.name == name]
    if len(queries) == 1:
        return queries[0]
    there = ", ".join(each.name for each in manifest.of_kind("Query")) or "none"
    problem = f"there is no Query {name!r}; there is: {there}"
    if name is None:
        ask = "name one with --query, or ask a team with --team NAME --input TEXT"
        problem = f"one Query is needed, there is: {there}; {ask}"
    raise DefinitionError("what to run", [problem])


def _of_team(manifest: Manifest, name: str, text: str) -> Asked:
    found = manifest.find("Team", name) or manifest.find("Agent", name)
    if found is None:
        names = [each.name for kind in ("Team", "Agent") for each in manifest.of_kind(kind)]
        problem = f"there is no Team or Agent {name!r}; there is: {', '.join(names) or 'none'}"
        raise DefinitionError("what to run", [problem])
    return Asked(((found.kind.lower(), name),), text, namespace=found.namespace)


def _of_query(manifest: Manifest, document: Document) -> Asked:
    spec = document.spec
    if not isinstance(spec, QuerySpec):
        raise TypeError(document)
    parameters = manifest.parameters_of(spec.parameters, namespace=document.namespace)
    text, before = _input(spec, parameters)
    targets = [(str(each.type), each.name) for each in manifest.targets_of(document)]
    return Asked(
        tuple(targets),
        text,
        before,
        document.namespace,
        parameters,
        document.name,
        seconds(spec.timeout or _DEFAULT_TIMEOUT),
    )


def _input(spec: QuerySpec, parameters: Mapping[str, str]) -> tuple[str, tuple[BaseMessage, ...]]:
    """Give the text that is asked, and the conversation before it."""
    if isinstance(spec.input, str):
        return (fill(spec.input, parameters) if spec.parameters else spec.input), ()
    messages = convert_to_messages(spec.input)
    at = max(at for at, each in enumerate(messages) if isinstance(each, HumanMessage))
    return str(messages[at].text), tuple(messages[:at])


def _job(
    compiler: Compiler,
    asked: Asked,
    kind: str,
    name: str,
    checkpointer: BaseCheckpointSaver[Any] | None,
) -> Job:
    team, pattern = target(compiler, kind, name, asked.namespace, checkpointer)
    shown = HumanMessage(compiler.wording.shown)
    goal = {"messages": [*asked.before, shown]} if asked.before else {"goal": shown.content}
    return Job(
        target_type=kind,
        target=name,
        pattern=pattern,
        goal=goal,
        redactor=compiler.redactor,
        reports=team.report,
        query=asked.query,
        era=compiler.rules.era,
        timeout=asked.timeout,
        cap=team.turns,
    )
