"""A document that was loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from flowcompose.runner.manifest.kinds.agent import AgentSpec
from flowcompose.runner.manifest.kinds.model import ModelSpec
from flowcompose.runner.manifest.kinds.query import QuerySpec
from flowcompose.runner.manifest.kinds.stored import ConfigMapSpec, SecretSpec
from flowcompose.runner.manifest.kinds.team import TeamSpec
from flowcompose.runner.manifest.kinds.tool import ToolSpec
from flowcompose.runner.manifest.marks import Mark, Path, parts_of

DEFAULT_NAMESPACE: Final = "default"

AnySpec = TeamSpec | AgentSpec | QuerySpec | ModelSpec | ToolSpec | SecretSpec | ConfigMapSpec

SPECS: Final[Mapping[str, type[TeamSpec | AgentSpec | QuerySpec | ModelSpec | ToolSpec]]] = {
    "Team": TeamSpec,
    "Agent": AgentSpec,
    "Query": QuerySpec,
    "Model": ModelSpec,
    "Tool": ToolSpec,
}
"""The kinds whose content stands in `spec`."""

KINDS: Final = (*SPECS, "Secret", "ConfigMap")
"""The kinds that are loaded."""


@dataclass(frozen=True, eq=False)
class Document:
    """A document, and what it says."""

    kind: str
    name: str
    """Empty if it has none."""
    namespace: str
    file: str
    """The file, as its user named it; in a folder, the path to it."""
    line: int
    """Where it begins."""
    ok: bool
    """Whether no error was found in it."""
    ok_strictly: bool
    """Whether no warning was, either, that is an error under `--strict`."""
    labels: Mapping[str, str]
    annotations: Mapping[str, str] = field(repr=False)
    spec: AnySpec | None
    """None if it cannot be read. If not `ok`, fields that are wrong may be missing in it."""
    raw: Mapping[str, object] = field(repr=False)
    """As it was written; a Secret is not to be shown."""
    marks: Mark = field(repr=False)

    def line_of(self, path: str) -> int:
        """Give the line of a field such as `spec.members[0].name`, or of what it would be in."""
        return self.marks.line_of(parts_of(path))

    def line_at(self, path: Path) -> int:
        """Give the same for a path that is taken apart."""
        return self.marks.line_of(path)

    @property
    def key(self) -> int:
        """What tells it from all others, however much of it has been read."""
        return id(self.marks)

    @property
    def description(self) -> str:
        """What it says of itself; empty where it says nothing."""
        spec = self.spec
        return spec.description if isinstance(spec, AgentSpec | TeamSpec | ToolSpec) else ""

    @property
    def title(self) -> str:
        """How it is called in sentences: `Team 'panel'`."""
        return f"{self.kind} {self.name!r}"

    @property
    def place(self) -> str:
        """Where it begins: `teams.yaml:12`."""
        return f"{self.file}:{self.line}"
