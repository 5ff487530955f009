"""Messages in OpenAI's form: kept with each contribution, and read back for the next request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    InvalidToolCall,
    convert_to_messages,
    convert_to_openai_messages,
)

from flowcompose.core.messages import slug
from flowcompose.core.untyped import items_of, mapping_of
from flowcompose.resources.contributions import Contribution, Entry
from flowcompose.runner.secrets import Redactor

Message = dict[str, Any]
"""A message in OpenAI's form."""

_OF_DOCUMENTS = ("role", "name")
"""Keys of a message that hold nothing that a model wrote."""

_WIRE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def to_openai(messages: Sequence[BaseMessage], author: str) -> list[Message]:
    """Write messages down; those of an assistant carry the name of their author."""
    written = convert_to_openai_messages(list(messages))
    return [_of_form(*pair, author) for pair in zip(written, messages, strict=True)]


def _of_form(message: Message, given: BaseMessage, author: str) -> Message:
    if not isinstance(given, AIMessage):  # none but those of an assistant have a name
        return {key: value for key, value in message.items() if key != "name"}
    calls = [*(message.get("tool_calls") or ()), *map(_unreadable, given.invalid_tool_calls)]
    told = {"tool_calls": calls} if calls else {}
    # Servers of the era send null beside tool calls; an empty list is refused by some.
    text = message.get("content") or (None if calls else "")
    return {**message, **told, "content": text, "name": author}


def _unreadable(call: InvalidToolCall) -> dict[str, Any]:
    """A call whose arguments are no JSON, as it came."""
    function = {"name": call["name"], "arguments": call["args"]}
    return {"id": call["id"], "type": "function", "function": function}


def cleaned(message: Message, redactor: Redactor) -> Message:
    """Give a message without secrets: in what was said, not in the words of its form."""
    return {
        key: value if key in _OF_DOCUMENTS else _cleaned(value, redactor)
        for key, value in message.items()
    }


def _cleaned(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.clean(value)
    if isinstance(value, list):
        return [_cleaned(each, redactor) for each in items_of(value) or ()]
    if (inner := mapping_of(value)) is None:
        return value
    return {key: _part(key, part, redactor) for key, part in inner.items()}


def _part(key: Any, value: Any, redactor: Redactor) -> Any:
    """Clean a part of a message; arguments of calls that are JSON stay JSON."""
    if key == "type":
        return value
    if key == "arguments" and isinstance(value, str):
        with suppress(ValueError, RecursionError):
            clean = redactor.clean_json(json.loads(value))
            same = redactor.clean(value) == value
            return value if same else json.dumps(clean, ensure_ascii=False)
    return _cleaned(value, redactor)


def from_openai(messages: Iterable[Message]) -> list[BaseMessage]:
    """Read messages back, as a provider takes them."""
    return convert_to_messages([_for_the_wire(each) for each in _answered(messages)])


def _answered(messages: Iterable[Message]) -> Iterator[Message]:
    """Give messages with an answer to each call: what comes after `terminate` has none."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            waiting = [each for each in waiting if each != message.get("tool_call_id")]
        else:
            yield from map(_not_run, waiting)
            waiting = [each["id"] for each in message.get("tool_calls") or () if each.get("id")]
        yield message
    yield from map(_not_run, waiting)


def _not_run(call: str) -> Message:
    return {"role": "tool", "tool_call_id": call, "content": "not run"}


def _for_the_wire(message: Message) -> Message:
    taken = {**message, "content": message.get("content") or ""}
    name = message.get("name")
    return taken if name is None else {**taken, "name": wire_name(name)}


def wire_name(name: str) -> str:
    """Give the name of an author as a provider takes it."""
    return name if _WIRE_NAME.fullmatch(name) else slug(name)


def kept_in(data: object, text: str, author: str) -> list[Message]:
    """Give the messages that a contribution came of; one without any is its text."""
    messages: list[Message] | None = (mapping_of(data) or {}).get("messages")
    if messages is None:
        return [{"role": "assistant", "content": text, "name": author}]
    return list(messages)


def of_entries(entries: Iterable[Entry]) -> list[Message]:
    """Give all messages of a transcript in state form."""
    return [m for e in entries for m in kept_in(e.get("data"), e["text"], e["agent_name"])]


def of_contributions(contributions: Iterable[Contribution]) -> list[Message]:
    """Give all messages of a result's transcript."""
    return [m for c in contributions for m in kept_in(c.data, c.text, c.agent_name)]


def last_words(messages: Sequence[Message]) -> str:
    """Give the last text of an assistant."""
    said = (_text(m) for m in reversed(messages) if m["role"] == "assistant")
    return next(filter(None, said), "")


def last_text(messages: Sequence[Message]) -> str:
    """Give the text of the last message, of whatever kind."""
    return _text(messages[-1]) if messages else ""


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list):  # parts: text, images
        return str(convert_to_messages([message])[0].text)
    return str(content or "")


def selector_history(messages: Iterable[Message]) -> str:
    """Write a conversation for a selector: what users and assistants said, each under a name."""
    told = {"user": "user", "assistant": None}
    blocks = (
        f"# {told[m['role']] or m.get('name', '')}:\n{_text(m)}\n"
        for m in messages
        if m["role"] in told
    )
    return "\n".join(blocks)
