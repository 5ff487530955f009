"""Fields that a document may have, but that are not read: old ones, and those of no effect here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from flowcompose.runner.manifest.marks import Path

_MEMORY: Final = "memory is ignored: nothing is kept between runs but checkpoints"
_EVALUATION: Final = "is ignored: answers are not evaluated here"


@dataclass(frozen=True)
class Left:
    """A field that is not read, and why."""

    path: Path
    message: str
    instead: str | None = None
    """The field that takes its place, for an obsolete one; such a field is an error."""


_OBSOLETE: Final = {
    ("Team", "agents"): ("members", "agents is obsolete: use members: [{name: ..., type: agent}]"),
    ("Team", "teams"): ("members", "teams is obsolete: use members: [{name: ..., type: team}]"),
    ("Team", "workflow"): (
        "strategy",
        "workflow is obsolete: use strategy: sequential, round-robin, selector or graph",
    ),
    ("Agent", "systemPrompt"): ("prompt", "systemPrompt is obsolete: use prompt"),
    ("Agent", "modelSelector"): (
        "modelRef",
        "modelSelector is obsolete: use modelRef: {name: ...}",
    ),
    ("Tool", "function"): (
        "http",
        "function is obsolete: use type: http and http: {url: ...}",
    ),
}

_IGNORED: Final = {
    ("Team", "memory"): _MEMORY,
    ("Agent", "memory"): _MEMORY,
    ("Query", "memory"): _MEMORY,
    ("Agent", "overrides"): "overrides is ignored: no header is added here",
    ("Agent", "pod"): "pod is ignored: nothing runs in a cluster here",
    ("Query", "overrides"): "overrides is ignored: no header is added here",
    ("Query", "evaluator"): f"evaluator {_EVALUATION}",
    ("Query", "evaluators"): f"evaluators {_EVALUATION}",
    ("Query", "evaluatorSelector"): f"evaluatorSelector {_EVALUATION}",
    ("Query", "serviceAccount"): "serviceAccount is ignored: there is no cluster here",
    ("Query", "ttl"): "ttl is ignored: nothing is kept here",
}


def left_fields(kind: str, spec: dict[str, object]) -> Iterator[Left]:
    """Name the fields of a document that are not read."""
    for name, value in spec.items():
        if value is None:
            continue
        if (kind, name) in _OBSOLETE:
            instead, message = _OBSOLETE[kind, name]
            yield Left(("spec", name), message, instead)
        elif (kind, name) in _IGNORED:
            yield Left(("spec", name), _IGNORED[kind, name])
        elif (kind, name) == ("Agent", "model") and isinstance(value, str):
            message = f"model is no string any more: use modelRef: {_reference(value)}"
            yield Left(("spec", name), message, "modelRef")


def _reference(text: str) -> str:
    """Write the reference that a name stands for, or `namespace/name`."""
    match = re.fullmatch(r"(?:([\w.-]+)/)?([\w.-]+)", text)
    if match is None:
        return "{name: ...}"
    namespace, name = match.groups()
    return f"{{name: {name}, namespace: {namespace}}}" if namespace else f"{{name: {name}}}"
