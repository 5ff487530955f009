"""How large a file of documents may be: what is larger is refused before it costs much."""

from __future__ import annotations

from typing import Final

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

RESTARTS: Final = 50
"""After how many broken documents the rest of a file is left unread."""
