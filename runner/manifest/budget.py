"""How much may be read of files and documents: what is larger is refused before it costs much."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from flowcompose.runner.manifest.marks import Path

FILE_BYTES: Final = 5 * 1024 * 1024
"""The size of one file."""

DEPTH: Final = 100
"""How deep mappings and lists may stand in one another."""

NODES: Final = 200_000
"""Values in one document, those counted anew to which an alias expands."""

ALIASES: Final = 100
"""Aliases in one document."""

ALIASED_CHARACTERS: Final = 5_000_000
"""Text in one document to which its aliases expand."""

DOCUMENTS: Final = 10_000
"""Documents in one file."""

RESTARTS: Final = 50
"""After how many broken documents the rest of a file is left unread."""


class RefusedError(Exception):
    """A document that is not read to its end; the message is for the user."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(slots=True)
class Flaw:
    """Something wrong with a document that is read on nevertheless."""

    message: str
    line: int
    path: Path


@dataclass(slots=True)
class Budget:
    """Counts what is read of a document, and what its aliases expand to."""

    _nodes: int = 0
    _characters: int = 0
    _aliases: int = 0
    _aliased: int = 0
    _begun: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    _sizes: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def node(self, depth: int, line: int) -> None:
        """Count a value.

        Raises:
            RefusedError: It is one too many, or stands too deep.
        """
        self._nodes += 1
        if depth > DEPTH:
            raise RefusedError(f"nested deeper than {DEPTH} levels", line)
        if self._nodes > NODES:
            raise RefusedError(f"a document of more than {NODES} values", line)

    def text(self, text: str) -> None:
        """Count the text of a value."""
        self._characters += len(text)

    def begin(self, anchor: str) -> None:
        """Note that a value with an anchor begins."""
        self._sizes.pop(anchor, None)
        self._begun[anchor] = self._nodes - 1, self._characters

    def end(self, anchor: str) -> None:
        """Note that it ends, and so how large it is."""
        nodes, characters = self._begun.pop(anchor)
        self._sizes[anchor] = self._nodes - nodes, self._characters - characters

    def alias(self, anchor: str, line: int) -> None:
        """Count an alias, and what it expands to.

        Raises:
            RefusedError: There are too many, or they expand to too much.
        """
        nodes, characters = self._sizes.get(anchor, (1, 0))
        self._aliases += 1
        self._nodes += nodes
        self._characters += characters
        self._aliased += characters
        if self._aliases > ALIASES:
            raise RefusedError(f"more than {ALIASES} aliases in a document", line)
        if self._nodes > NODES or self._aliased > ALIASED_CHARACTERS:
            raise RefusedError("aliases that expand to more than a document may hold", line)
