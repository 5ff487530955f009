"""The properties of a Model document, as the requests to its server hold them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_OPTIONS = (
    *("temperature", "top_p", "frequency_penalty", "presence_penalty", "seed"),
    *("logprobs", "top_logprobs", "reasoning_effort"),
)
"""What LangChain's models take by name; they know which model takes what."""

_TEXTS = ("reasoning_effort",)

_OURS = ("messages", "model", "n", "response_format", "stream", "stream_options", "tools")
"""What a request holds anyway: a property must not change it."""

_KNOWN = (*_OPTIONS, "max_tokens", "max_completion_tokens", "stop")


def options_of(properties: Mapping[str, str], *, only_known: bool = False) -> dict[str, Any]:
    """Give the arguments of a chat model for properties, which are all text in a document.

    Args:
        properties: Names, as the server knows them, and values.
        only_known: Drop what is not OpenAI's: the server is another one than the document's.
    """
    read = {
        name: text if name in _TEXTS else _read(text)
        for name, text in properties.items()
        if name not in _OURS
    }
    options = {name: value for name, value in read.items() if name in _OPTIONS}
    # These go as they are written: servers that are not OpenAI's know `max_tokens` only.
    extra = {
        name: value
        for name, value in read.items()
        if name not in _OPTIONS and (name in _KNOWN or not only_known)
    }
    return {**options, "extra_body": extra} if extra else options


def _read(text: str) -> Any:
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)  # Python reads NaN and Infinity, which are no JSON
    except (ValueError, RecursionError):
        return text
    return value
