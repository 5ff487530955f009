"""What a run was started with: a goal, and the conversation before it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NotRequired

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from typing_extensions import TypedDict

from flowcompose.core.errors import DefinitionError


class Request(TypedDict):
    """What a run was started with."""

    goal: str
    history: list[BaseMessage]
    started_at: NotRequired[float]
    """When the run began, in seconds since 1970; threads of older versions lack it."""
    inherits: NotRequired[bool]
    """Whether the history is that of a run around it, which hands it over with every turn."""


def read_request(name: str, given: Mapping[str, Any]) -> Request:
    """Read the goal and the conversation before it from a run's input.

    Raises:
        DefinitionError: There is neither a goal nor a human message, or the goal is no text.
    """
    goal = given.get("goal")
    history = read_messages(name, given.get("messages"))
    if goal is None:
        asked = [message for message in history if isinstance(message, HumanMessage)]
        if not asked:
            keys = "'goal' (a string) or 'messages' with a human message"
            has = ", ".join(key for key in ("goal", "messages") if given.get(key) is not None)
            raise DefinitionError(
                repr(name), [f"the input must have {keys}, got {has or 'nothing'}"]
            )
        history = [message for message in history if message is not asked[-1]]
        goal = str(asked[-1].text)
    if not isinstance(goal, str):
        raise DefinitionError(repr(name), [f"the goal must be a string, got {goal!r}"])
    return Request(goal=goal, history=history, started_at=time.time())


def read_messages(name: str, given: Any) -> list[BaseMessage]:
    """Read what LangGraph's own messages channel reads: one message, or a list of them."""
    if given is None:
        return []
    try:
        return convert_to_messages(given if isinstance(given, list) else [given])  # pyright: ignore[reportUnknownArgumentType] - any list
    except (ValueError, TypeError, RuntimeError) as error:  # as the engine's reader raises them
        problem = f"messages cannot be read: {error}; got {given!r}"
        raise DefinitionError(repr(name), [problem]) from error
