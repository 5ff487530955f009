"""Keeping secrets out of everything that is shown, told or kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from flowcompose.core.untyped import items_of, mapping_of
from flowcompose.runner.beginnings import Beginnings
from flowcompose.runner.escaped import bare_forms, escaped_pattern, without_backslashes
from flowcompose.runner.secret_forms import forms_of, texts_of

_SHORTEST = 4
"""What is shorter than this stands in too many words to be told apart from them."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{0,99}[1-9])?")
"""As JSON writes one that is the same text when it is read back."""

_STARS = "***"


class Redactor:
    """Replaces secrets by `***`, in each form in which they may come back.

    Args:
        secrets: What must not be seen. A secret shorter than four characters is left alone.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        texts = {text for each in secrets for text in texts_of(each)}
        texts = {text for text in texts if len(text) >= _SHORTEST}
        self._numbers = frozenset(json.loads(text) for text in texts if _NUMBER.fullmatch(text))
        self._forms = Beginnings(form for text in texts for form in forms_of(text))
        patterns = {text: escaped_pattern(text) for text in texts}
        self._patterns = [each for each in patterns.values() if each]
        self._bare = Beginnings(
            form for text, each in patterns.items() if each for form in bare_forms(text)
        )

    def __repr__(self) -> str:
        return f"Redactor({len(self._forms)} forms)"

    def clean(self, text: str) -> str:
        """Give the text without secrets."""
        kept, end = "", 0
        for start, after in self._found(text):
            kept += text[end:start] + _STARS
            end = after
        return kept + text[end:]

    def clean_json(self, value: Any, *, numbers: bool = True) -> Any:
        """Give a JSON value without secrets, in keys either.

        Args:
            value: What to clean.
            numbers: Whether a number may be one as a whole; not where we have counted it.
        """
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, int | float):
            return _STARS if numbers and value in self._numbers else value
        clean = partial(self.clean_json, numbers=numbers)
        items = mapping_of(value)
        if items is not None:
            return {clean(key): clean(each) for key, each in items.items()}
        listed = items_of(value)
        return value if listed is None else [clean(each) for each in listed]

    def stream(self) -> TokenRedactor:
        """Give a redactor of texts that come in pieces."""
        return TokenRedactor(self)

    def split(self, text: str) -> tuple[str, str]:
        """Part a text that goes on: what is safe to show, cleaned, and what may yet be a secret."""
        cut = self._held_from(text)
        for start, after in self._found(text):
            if start < cut < after:  # a longer secret may begin inside of one, or with it
                cut = start
        return self.clean(text[:cut]), text[cut:]

    def _held_from(self, text: str) -> int:
        """Find where the longest tail begins with which a secret could begin."""
        held = self._forms.held_from(text)
        if not self._patterns:
            return held
        bare, places = without_backslashes(text, self._bare.longest)
        return min(held, places[self._bare.held_from(bare)])

    def _found(self, text: str) -> list[tuple[int, int]]:
        """Find where secrets stand: those that overlap are one place."""
        places: list[tuple[int, int]] = []
        for start, after in sorted(self._places(text)):
            if places and start <= places[-1][1]:
                places[-1] = places[-1][0], max(after, places[-1][1])
            else:
                places.append((start, after))
        return places

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        for form in self._forms:
            start = text.find(form)
            while start >= 0:
                yield start, start + len(form)
                start = text.find(form, start + 1)
        for pattern in self._patterns:
            found = pattern.search(text)
            while found:
                yield found.span()
                found = pattern.search(text, found.start() + 1)


class TokenRedactor:
    """Cleans texts that come in pieces: a secret that is split over some does not get out.

    What could be the beginning of a secret is held back until it is known not to be one.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held: dict[str, str] = {}

    def feed(self, key: str, piece: str) -> str:
        """Take the next piece of the text `key`, and give what can be shown of it by now."""
        safe, held = self._redactor.split(self._held.pop(key, "") + piece)
        if held:
            self._held[key] = held
        return safe

    def flush(self, key: str) -> str:
        """Give the rest of the text `key`, which has ended."""
        return self._redactor.clean(self._held.pop(key, ""))
