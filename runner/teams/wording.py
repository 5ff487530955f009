"""A text with secrets in it, and what state holds instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wording:
    """The user's input: parameters may have put a secret into it, which no checkpoint may hold."""

    shown: str = ""
    real: str = ""

    def reveal(self, text: str) -> str:
        """Give the real text for the shown one; any other is its own."""
        return self.real if text == self.shown else text
