"""Checking an input that is messages: they must be what a chat API takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.heads import Found
from flowcompose.runner.manifest.json_text import json_object
from flowcompose.runner.manifest.kinds.messages import FIELDS, OWN_FIELDS, ROLES, is_text
from flowcompose.runner.manifest.marks import at
from flowcompose.runner.manifest.sentences import shown
from flowcompose.runner.manifest.shapes import is_list, is_mapping

_INPUT = ("spec", "input")


def check_messages(context: Context, query: Document) -> None:
    """Note what is wrong with messages, and what of them is not passed on."""
    messages = at(query.raw, _INPUT)
    if not is_list(messages):
        return
    for index, message in enumerate(messages):
        if is_mapping(message):
            for path, problem in _problems(message):
                context.error(query, (*_INPUT, index, *path), f"message {index} {problem}")
            for path, problem in _left_out(message):
                context.warning(query, (*_INPUT, index, *path), f"message {index}: {problem}")
    if ending := _problem_of_last(messages):
        context.error(query, (*_INPUT, len(messages) - 1), ending)


def _problem_of_last(messages: Sequence[object]) -> str | None:
    """Say why the end of a conversation is no question."""
    last = messages[-1] if messages else None
    if not is_mapping(last) or last.get("role") not in ROLES:
        return None  # which has been said
    if last["role"] != "user":
        return "its last message must be one of the user"
    content = last.get("content")
    if is_list(content) and not all(map(is_text, content)):
        return "a team is asked a text: its last message must hold no other parts"
    return "its last message must not be empty" if content in ("", []) else None


def _problems(message: dict[str, object]) -> Iterator[Found]:
    role = message.get("role")
    if role not in ROLES:
        yield ("role",), f"has the role {shown(role)}: allowed are {', '.join(ROLES)}"
    yield from _problems_of_content(message.get("content"), role)
    if not isinstance(message.get("name"), str | None):
        yield ("name",), "must have a string as its `name`"
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        yield ("tool_call_id",), "must have a `tool_call_id`: a tool answers a call"
    if role == "assistant":
        yield from _problems_of_calls(message.get("tool_calls"))


def _problems_of_content(content: object, role: object) -> Iterator[Found]:
    # What an assistant says may be nothing but the calls of tools.
    if isinstance(content, str) or (content is None and role == "assistant"):
        return
    if not is_list(content):
        yield ("content",), "must have a `content`: a text, or a list of parts"
        return
    for index, part in enumerate(content):
        if not is_mapping(part) or not isinstance(part.get("type"), str):
            yield ("content", index), "has a part that is no mapping with a `type`"
        elif is_text(part) and not isinstance(part.get("text"), str):
            yield ("content", index, "text"), "has a part of the type 'text' without a `text`"


def _problems_of_calls(calls: object) -> Iterator[Found]:
    if calls is None:
        return
    if not is_list(calls):
        yield ("tool_calls",), "must have a list as its `tool_calls`"
        return
    for index, call in enumerate(calls):
        yield from _problems_of_call(call, index)


def _problems_of_call(call: object, index: int) -> Iterator[Found]:
    path = ("tool_calls", index)
    if not is_mapping(call):
        yield path, "has a tool call that is no mapping"
        return
    if not _is_name(call.get("id")):
        yield (*path, "id"), "has a tool call without an `id`"
    function = call.get("function")
    if call.get("type", "function") != "function" or not is_mapping(function):
        yield (*path, "function"), "has a tool call that is none of a `function`"
        return
    if not _is_name(function.get("name")):
        yield (*path, "function", "name"), "has a tool call whose function has no `name`"
    arguments = function.get("arguments")
    if not isinstance(arguments, str) or json_object(arguments) is None:
        where = (*path, "function", "arguments")
        yield where, "has a tool call whose `arguments` are no JSON object in a string"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _left_out(message: dict[str, object]) -> Iterator[Found]:
    role, content = message.get("role"), message.get("content")
    known = (*FIELDS, OWN_FIELDS.get(str(role)))
    for key in (each for each in message if each not in known):
        yield (key,), f"{key!r} is not passed on with the role {shown(role)}"
    for index, part in enumerate(content if is_list(content) else []):
        if is_mapping(part) and not is_text(part):
            kind = shown(part.get("type"))
            yield ("content", index), f"a part of the type {kind} is not passed on, only text is"
