"""Finding in an answer whom it names. Models write a name in many ways."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unicodedata import east_asian_width

from langchain_core.messages import BaseMessage

from flowcompose.core.messages import slug
from flowcompose.core.untyped import mapping_of

_KEYS = ("name", "agent_name", "speaker", "next", "text")
"""Where a mapping or an object may say the name."""


@dataclass(frozen=True)
class Named:
    """Whom an answer names, and how closely; a name of None stops the run."""

    name: str | None
    reason: str


@dataclass(frozen=True)
class Reader:
    """Reads answers for one roster.

    Args:
        names: All members: who must not be chosen now is still no other member's name.
        stop_word: What is said to stop; None where that is no choice.
    """

    names: tuple[str, ...]
    stop_word: str | None

    def read(self, text: str, candidates: Sequence[str]) -> Named | None:
        """Find the one candidate that a text names: exactly, but for case, or in passing."""
        said = text if text in candidates else text.strip()
        if said in candidates:
            return Named(said, "exact")
        if said in self.names:
            return None  # the very name of somebody who may not speak
        if self.stop_word is not None and said.casefold() == self.stop_word.casefold():
            return Named(None, "exact" if said == self.stop_word else "tolerant")
        alike: list[str | None] = [n for n in candidates if n.casefold() == said.casefold()]
        named = alike or self._mentioned(said)
        if len(named) != 1 or (named[0] is not None and named[0] not in candidates):
            return None
        return Named(named[0], "tolerant")

    def _mentioned(self, text: str) -> list[str | None]:
        """Give whom a text mentions: whole names, the longest first; None for the stop word.

        That counts only as it is written: many a text says "stop" about something else.
        """
        left, found = text.casefold(), list[str | None]()
        for form, names in self._forms:
            left, count = form.subn("\0", left)
            found += [name for name in names if count and name not in found]
        if self.stop_word is not None and _whole(self.stop_word).search(text):
            found.append(None)
        return found

    @cached_property
    def _forms(self) -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
        """How names are written, and whose they are: as they are, or as they are sent."""
        whose: dict[str, tuple[str, ...]] = {}
        for name in self.names:
            form = name.casefold()
            whose[form] = (*whose.get(form, ()), name)
        sent = [(slug(name).casefold(), name) for name in self.names if slug(name) != _NO_SLUG]
        forms = [form for form, _ in sent]
        whose |= {f: (n,) for f, n in sent if f not in whose and forms.count(f) == 1}
        return [(_whole(form), whose[form]) for form in sorted(whose, key=len, reverse=True)]


_NO_SLUG = slug("")
"""What a name is sent as of which no character can be sent."""


def _whole(form: str) -> re.Pattern[str]:
    """Find a name as a whole; where words are written without blanks, no edge is to be seen."""
    before = "" if _is_wide(form[0]) else r"(?<![\w-])"
    after = "" if _is_wide(form[-1]) else r"(?![\w-])"
    return re.compile(before + re.escape(form) + after)


def _is_wide(character: str) -> bool:
    return east_asian_width(character) in ("W", "F")


def words_of(answer: Any) -> str | None:
    """Give the words of what a model, a block or a function answered; None where it has none."""
    if answer is None:
        return None
    if isinstance(answer, BaseMessage):
        return _in_json(str(answer.text))
    if isinstance(answer, str):
        return _in_json(answer)
    keys = mapping_of(answer)
    return next(_strings(keys if keys is not None else _attributes(answer)), None)


def names_nobody(answer: Any) -> bool:
    """Say whether an answer says itself that nobody is to speak."""
    keys = mapping_of(answer) or {}
    return answer is None or ("name" in keys and keys["name"] is None)


def _in_json(text: str) -> str:
    """Give the name in an answer that is JSON, or the text itself."""
    with suppress(ValueError, RecursionError):
        given: Any = json.loads(text)
        keys = mapping_of(given)
        if keys is not None:
            return next(_strings(keys), text)
        if isinstance(given, str):
            return given
    return text


def _attributes(answer: object) -> Mapping[str, Any]:
    return {key: getattr(answer, key, None) for key in _KEYS}


def _strings(keys: Mapping[Any, Any]) -> Iterator[str]:
    return (each for key in _KEYS if isinstance(each := keys.get(key), str))
