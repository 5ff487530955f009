"""What is to be answered: which Query, which targets, with which input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage, convert_to_messages

from flowcompose.core.errors import DefinitionError, ManifestError, ManifestProblem
from flowcompose.runner.manifest import Document, Manifest, fill, seconds
from flowcompose.runner.manifest.durations import DEFAULT_TIMEOUT
from flowcompose.runner.manifest.kinds.query import QuerySpec
from flowcompose.runner.manifest.marks import said
from flowcompose.runner.manifest.sentences import printable


@dataclass(frozen=True)
class Question:
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


def of_query(manifest: Manifest, name: str | None) -> Question:
    """Read a Query.

    Args:
        manifest: The documents.
        name: Which one; None for the only one.

    Raises:
        DefinitionError: There is no such Query, or there is a choice.
        ManifestError: A parameter of what it asks is nowhere.
    """
    document = _query(manifest, name)
    spec = document.spec
    if not isinstance(spec, QuerySpec):
        raise TypeError(document)
    if lacks := list(_lacks(manifest, document, spec)):
        raise ManifestError(f"Query {document.name!r}", lacks)
    parameters = manifest.parameters_of(spec.parameters, namespace=document.namespace)
    text, before = _input(spec, parameters)
    targets = [(str(each.type), each.name) for each in manifest.targets_of(document)]
    return Question(
        tuple(targets),
        text,
        before,
        document.namespace,
        parameters,
        document.name,
        seconds(spec.timeout or DEFAULT_TIMEOUT),
    )


def _lacks(manifest: Manifest, query: Document, spec: QuerySpec) -> Iterator[ManifestProblem]:
    for index, parameter in enumerate(spec.parameters):
        path = ("spec", "parameters", index)
        line = query.line_at(path)
        for lack in manifest.lacks_of([parameter], namespace=query.namespace):
            message = f"Query {query.name!r}: {lack}"
            yield ManifestProblem(printable(message), query.file, line, said(path))


def of_team(manifest: Manifest, name: str, text: str) -> Question:
    """Ask a team or an agent by name.

    Raises:
        DefinitionError: There is none.
    """
    found = manifest.find("Team", name) or manifest.find("Agent", name)
    if found is None:
        names = [each.name for kind in ("Team", "Agent") for each in manifest.of_kind(kind)]
        problem = f"there is no Team or Agent {name!r}; there is: {', '.join(names) or 'none'}"
        raise DefinitionError("what to run", [problem])
    return Question(((found.kind.lower(), name),), text, namespace=found.namespace)


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


def _input(spec: QuerySpec, parameters: Mapping[str, str]) -> tuple[str, tuple[BaseMessage, ...]]:
    """Give the text that is asked, and the conversation before it."""
    if isinstance(spec.input, str):
        return (fill(spec.input, parameters) if spec.parameters else spec.input), ()
    *before, last = convert_to_messages(spec.input)
    return str(last.text), tuple(before)
