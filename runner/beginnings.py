"""Which end of a text may be the beginning of another one that is looked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator


class Beginnings:
    """Texts, and which tails of another one could be the beginning of one."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = sorted(set(texts) - {""})
        self._first = frozenset(text[0] for text in self._texts)
        self.longest = max(map(len, self._texts), default=0)

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def held_from(self, text: str) -> int:
        """Find where the longest such tail begins."""
        for at in range(max(0, len(text) - self.longest + 1), len(text)):
            if text[at] in self._first and self._begins_one(text[at:]):
                return at
        return len(text)

    def _begins_one(self, tail: str) -> bool:
        at = bisect_left(self._texts, tail)
        # The tail itself may be a secret, and a longer one begin with it.
        at += at < len(self._texts) and self._texts[at] == tail
        return at < len(self._texts) and self._texts[at].startswith(tail)
