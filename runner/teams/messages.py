"""Messages in OpenAI's form: kept with each contribution, and read back for the next request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import (
    BaseMessage,
    convert_to_messages,
    convert_to_openai_messages,
)

from flowcompose.core.messages import slug
from flowcompose.core.untyped import mapping_of
from flowcompose.resources.contributions import Contribution, Entry
from flowcompose.runner.secrets import Redactor

Message = dict[str, Any]
"""A message in OpenAI's form."""


def to_openai(messages: Sequence[BaseMessage], author: str) -> list[Message]:
    """Write messages down; those of an assistant carry the name of their author."""
    written = convert_to_openai_messages(list(messages))
    return [_named(message, author) for message in written]


def _named(message: Message, author: str) -> Message:
    if message["role"] != "assistant":  # none but those of an assistant have a name
        return {key: value for key, value in message.items() if key != "name"}
    text = message.get("content")
    # Servers of the era send null beside tool calls; an empty list is refused by some.
    return {**message, "content": text or ("" if "tool_calls" not in message else None)} | {
        "name": slug(author)
    }


def cleaned(message: Message, redactor: Redactor) -> Message:
    """Give a message without secrets: in what was said, not in the words of its form."""
    shown = {**message, "content": redactor.clean_json(message.get("content"))}
    if "tool_calls" in message:
        shown["tool_calls"] = [_cleaned_call(call, redactor) for call in message["tool_calls"]]
    return shown


def _cleaned_call(call: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    function: dict[str, Any] = call.get("function") or {}
    arguments = redactor.clean_json(function.get("arguments"))
    return {**call, "function": {**function, "arguments": arguments}}


def from_openai(messages: Iterable[Message]) -> list[BaseMessage]:
    """Read messages back."""
    return convert_to_messages(
        [{**message, "content": message.get("content") or ""} for message in messages]
    )


def kept_in(data: object, text: str, author: str) -> list[Message]:
    """Give the messages that a contribution came of; one without any is its text."""
    messages: list[Message] | None = (mapping_of(data) or {}).get("messages")
    if messages is None:
        return [{"role": "assistant", "content": text, "name": slug(author)}]
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
