"""What an export has found so far: documents, their names, and what is to be said of them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flowcompose.runner.export.documents import KINDS, Draft, Kind
from flowcompose.runner.export.findings import Finding
from flowcompose.runner.export.naming import dns_name, numbered

_GROUP: Mapping[Kind, str] = {"Agent": "member", "Team": "member"}
"""A team must not have the name of an agent in it, so both share their names."""


@dataclass
class Book:
    """Grows while a pattern is read."""

    _all: dict[tuple[str, str], Draft | None] = field(
        default_factory=dict[tuple[str, str], Draft | None]
    )
    """By group and name; None where a name is taken before its document is known."""
    _findings: dict[Finding, None] = field(default_factory=dict[Finding, None])

    @property
    def drafts(self) -> tuple[Draft, ...]:
        """The documents, in the order in which they are written."""
        known = [draft for draft in self._all.values() if draft is not None]
        return tuple(sorted(known, key=lambda draft: KINDS.index(draft.kind)))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is to be said, each once."""
        return tuple(self._findings)

    def lose(self, where: str, what: str, instead: str) -> None:
        """Note what documents cannot hold."""
        self._findings[Finding(where, what, instead)] = None

    def note(self, where: str, what: str, instead: str) -> None:
        """Note what they hold in another way."""
        self._findings[Finding(where, what, instead, lost=False)] = None

    def reserve(self, kind: Kind, wanted: str) -> str:
        """Take a name for a document that is added later."""
        name = next(each for each in _names(kind, wanted) if self._key(kind, each) not in self._all)
        self._all[self._key(kind, name)] = None
        return name

    def fill(self, kind: Kind, name: str, content: Mapping[str, Any]) -> None:
        """Add the document of a name that was taken, after all that were added meanwhile."""
        self._all.pop(self._key(kind, name))
        self._all[self._key(kind, name)] = Draft(kind, name, content)

    def add(
        self, kind: Kind, wanted: str, content: Mapping[str, Any], *, but: Container[str] = ()
    ) -> str:
        """Add a document and give its name; one that says the same is not written again.

        Args:
            kind: Its kind.
            wanted: What it is to be called, if that is free.
            content: What it says.
            but: Names that it must not have.
        """
        drafts = (Draft(kind, name, content) for name in _names(kind, wanted))
        draft = next(each for each in drafts if each.name not in but and self._has_room(each))
        self._all[self._key(kind, draft.name)] = draft
        return draft.name

    def _has_room(self, draft: Draft) -> bool:
        key = self._key(draft.kind, draft.name)
        return key not in self._all or self._all[key] == draft

    def _key(self, kind: Kind, name: str) -> tuple[str, str]:
        return _GROUP.get(kind, kind), name


def _names(kind: Kind, wanted: str) -> Iterator[str]:
    return numbered(dns_name(wanted, kind.lower()))
