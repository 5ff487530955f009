"""What a model is asked that chooses the next speaker."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from flowcompose.core.context import Context
from flowcompose.core.definition import Problems
from flowcompose.patterns.turn_loop import prompts
from flowcompose.patterns.turn_loop.roster import Member
from flowcompose.patterns.turn_loop.selection_input import SelectionInput

_SLOT = re.compile(r"\{\{-?\s*(\.\w*)\s*-?\}\}")
_SLOTS = (".Participants", ".Roles", ".History")


def check_prompt(problems: Problems, prompt: object) -> None:
    """A text with nothing in double braces but the three slots."""
    if prompt is None:
        return
    if not isinstance(prompt, str) or not prompt.strip():
        problems.add(f"selector_prompt must be a non-empty string or None, got {prompt!r}")
        return
    unknown = sorted({each[0] for each in _SLOT.finditer(prompt) if each[1] not in _SLOTS})
    allowed = ", ".join(f"{{{{{slot}}}}}" for slot in _SLOTS)
    problems.extend(f"selector_prompt: unknown {each}; allowed are {allowed}" for each in unknown)


def shows_history(prompt: str | None) -> bool:
    """Say whether the prompt holds what was said, so that it need not be sent besides."""
    return prompt is not None and any(each[1] == ".History" for each in _SLOT.finditer(prompt))


def closing_writer(
    prompt: str | None, members: tuple[Member, ...], stop_word: str | None
) -> Callable[[Any, Context], str]:
    """Give what writes the last message of the request."""
    described = {m.name: m.description or m.role for m in members}

    def write(value: SelectionInput, ctx: Context) -> str:
        if prompt is not None:
            return _filled(prompt, value, ctx, described)
        roles = "\n".join(
            f"- {name}: {described[name]}" if described[name] else f"- {name}"
            for name in value.candidates
        )
        stop = prompts.MAY_STOP.format(word=stop_word) if stop_word else ""
        return prompts.SELECTOR.format(roles=roles, stop=stop)

    return write


def _filled(
    prompt: str, value: SelectionInput, ctx: Context, described: Mapping[str, str | None]
) -> str:
    """Fill the slots in one go: what is filled in is not looked at again."""
    roles = (f"{n}: {described[n]}" if described[n] else n for n in value.candidates)
    texts: dict[str, Callable[[], str]] = {
        ".Participants": lambda: ", ".join(value.candidates),
        ".Roles": lambda: ", ".join(roles),
        ".History": lambda: "\n".join(
            f"# {entry['agent_name']}:\n{entry['text']}\n" for entry in ctx.contributions.raw
        ),
    }
    known: dict[str, str] = {}

    def fill(slot: re.Match[str]) -> str:
        name = slot[1]
        if name not in known:
            known[name] = texts[name]()
        return known[name]

    return _SLOT.sub(fill, prompt)
