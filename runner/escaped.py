"""Finding a text in others, however often it was written as JSON within JSON.

Each level doubles the backslashes of the one before and adds its own, so that any number of them
may stand before a character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_HELD = 64
"""Backslashes to each character, above which no text is taken for an escaped one."""

_HEX = re.compile(r"[ux][0-9a-f]+")


def escaped_pattern(text: str) -> re.Pattern[str] | None:
    """Give what finds a text at any level; None if no level changes it."""
    if not any(_bodies(each) for each in set(text)):
        return None
    # Only from where backslashes begin, or a long row of them would be read from each.
    start = r"(?<!\\)" if text[0] == "\\" or _bodies(text[0]) else ""
    return re.compile(start + "".join(_parts(text)))


def bare_forms(text: str) -> set[str]:
    """Give a text as it is written at any level, but for the backslashes.

    Only one at its end is kept, so that what stands before it is not taken for all of it.
    """
    written = (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    end = "\\" if text.endswith("\\") else ""
    return {each.replace("\\", "") + end for each in (*written, repr(text)[1:-1])}


def without_backslashes(text: str, length: int) -> tuple[str, list[int]]:
    """Give the end of a text, and where each character is with the backslashes before it.

    Args:
        text: The text.
        length: How many characters are wanted.

    Returns:
        The characters, and the places of all of them and of the text's end.
    """
    kept: list[str] = []
    places = [end := len(text)]
    least = end - _HELD * (length + _HELD)
    while end > max(0, least) and len(kept) <= length:
        end -= 1
        if text[end] == "\\":
            places[-1] = end
        else:
            kept.append(text[end])
            places.append(end)
    return "".join(reversed(kept)), places[::-1]


def _parts(text: str) -> Iterator[str]:
    backslashes = 0
    for character in text:
        if character == "\\":
            backslashes += 1
            continue
        ways = [_after(backslashes, re.escape(character), more=_may_be_escaped(character))]
        ways += [_after(backslashes + 1, body, more=True) for body in _bodies(character)]
        yield ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"
        backslashes = 0
    if backslashes:
        yield _after(backslashes, "", more=True)


def _after(backslashes: int, body: str, *, more: bool) -> str:
    """Give what finds a character after at least so many backslashes."""
    return rf"\\{{{backslashes},}}{body}" if backslashes or more else body


def _may_be_escaped(character: str) -> bool:
    return character in "\"'/"


def _bodies(character: str) -> list[str]:
    """Give how a character is written after backslashes, if it is written otherwise there."""
    if character in "\"'/\\":
        return [re.escape(character)]
    if character.isascii() and character.isprintable():
        return []
    forms = {json.dumps(character)[1:-1], repr(character)[1:-1]}
    return [_body(form) for form in sorted(forms) if form.startswith("\\")]


def _body(form: str) -> str:
    parts = form.split("\\")[1:]  # two, for a character that is written as a pair
    return r"\\+".join(f"(?i:{each})" if _HEX.fullmatch(each) else each for each in parts)
