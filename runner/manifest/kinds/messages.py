"""Messages of a conversation, in the form of OpenAI's chat API."""

from __future__ import annotations

from typing import Final

from flowcompose.runner.manifest.kinds.base import JsonObject
from flowcompose.runner.manifest.shapes import is_list, is_mapping

ROLES: Final = ("system", "developer", "user", "assistant", "tool")

FIELDS: Final = ("role", "content", "name")
"""What a message of any role may hold."""

OWN_FIELDS: Final = {"assistant": "tool_calls", "tool": "tool_call_id"}
"""What those of a role may hold besides."""


def message_of(value: JsonObject) -> JsonObject:
    """Give a message with what is passed on of it: known fields, and texts."""
    known = (*FIELDS, OWN_FIELDS.get(str(value.get("role"))))
    kept = {key: each for key, each in value.items() if key in known and each is not None}
    return {**kept, "content": _texts(value.get("content"))}


def is_text(part: object) -> bool:
    """Tell whether a part of a content is text, which is passed on."""
    return is_mapping(part) and part.get("type") == "text"


def _texts(content: object) -> object:
    return [part for part in content if is_text(part)] if is_list(content) else content
