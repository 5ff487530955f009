"""What is to be said of an export: what documents cannot hold, and what they hold differently."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something that documents do not express as it was written."""

    where: str
    what: str
    instead: str
    """What happens in its place."""
    lost: bool = True
    """Whether something is lost; else it is only said in another way."""

    def __str__(self) -> str:
        word = "lost" if self.lost else "note"
        return f"{word}: {self.where}: {self.what}; {self.instead}"
