"""A document that is to be written, and all of them as YAML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from flowcompose.runner.manifest.heads import VERSION

Kind = Literal["Secret", "Model", "Agent", "Team"]

KINDS: tuple[Kind, ...] = ("Secret", "Model", "Agent", "Team")
"""In the order in which they are written: what is named stands before what names it."""

_RARE_BREAKS = frozenset("\r\x85\u2028\u2029")
"""YAML takes them for the end of a line, and would read another one back."""

_NUMBER_OR_WORD = re.compile(r"[-+.]?\d|[ynYN]$")
"""What one version of YAML takes for a number or a truth, and another one for a text."""


@dataclass(frozen=True)
class Draft:
    """A document that is to be written."""

    kind: Kind
    name: str
    content: Mapping[str, Any]
    """Its `spec`; of a Secret, its `stringData`."""

    @property
    def document(self) -> dict[str, Any]:
        """The whole of it, with its keys in the usual order."""
        is_secret = self.kind == "Secret"
        return {
            "apiVersion": "v1" if is_secret else VERSION,
            "kind": self.kind,
            "metadata": {"name": self.name},
            "stringData" if is_secret else "spec": self.content,
        }

    @property
    def file(self) -> str:
        """The name of a file for it alone."""
        return f"{self.kind.lower()}-{self.name}.yaml"

    @property
    def yaml(self) -> str:
        """The text of that file."""
        return yaml.dump(
            self.document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
        )


def as_yaml(drafts: Iterable[Draft]) -> str:
    """Write several documents as one text."""
    return "---\n".join(draft.yaml for draft in drafts)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are read, and nothing as a reference."""

    def ignore_aliases(self, data: Any) -> bool:
        """A schema that is used twice is written twice."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Set lists in below their key."""
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Of an enum of texts, its value; of half a character, which is in no file, a `?`.
    plain = "".join(text).encode("utf-8", "replace").decode()
    return dumper.represent_scalar(  # pyright: ignore[reportUnknownMemberType] - PyYAML's style
        "tag:yaml.org,2002:str", plain, style=_style(plain)
    )


def _style(text: str) -> str | None:
    if _RARE_BREAKS & set(text):
        return '"'
    if "\n" in text:
        return "|"
    return "'" if _NUMBER_OR_WORD.match(text) else None


_Dumper.add_representer(str, _text)
_Dumper.add_multi_representer(str, _text)
