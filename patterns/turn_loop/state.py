"""What a pattern's graph remembers: plain dicts, so that every checkpointer can store it.

Keys that grow are logs, which a checkpoint stores by what a step added. What the caller
gives lives for one step only, then in `request`: a thread that is used again must not take
the last run's answer for new input.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, TypedDict

from langchain_core.messages import BaseMessage
from langgraph.channels.ephemeral_value import EphemeralValue

from flowcompose.core.results import CritiqueEntry
from flowcompose.resources.contributions import Entry
from flowcompose.resources.logs import constant_channel, log_channel
from flowcompose.resources.tasks import Failure


class Request(TypedDict):
    """What a run was started with."""

    goal: str
    history: list[BaseMessage]


def merge_session(old: dict[str, Any], new: Mapping[str, Any] | None) -> dict[str, Any]:
    """Update the thread's session with what a run brings."""
    return {**old, **(new or {})}


Goal = Annotated[str, EphemeralValue(str)]
Messages = Annotated[list[BaseMessage], EphemeralValue(list)]
SessionState = Annotated[dict[str, Any], merge_session]

# Functional syntax throughout: the transcript's key is the user's to name.
_INPUT: dict[str, Any] = {"goal": Goal, "messages": Messages, "session": SessionState}


class TurnState(TypedDict, total=False):
    """What a turn reads; the transcript is under the pattern's accessor key."""

    request: Request
    session: dict[str, Any]
    referee_critiques: list[CritiqueEntry]
    failures: list[Failure]
    rounds: int
    turns: int
    stop: dict[str, Any] | None
    undecided: bool


@lru_cache(maxsize=128)
def state_schemas(accessor_key: str) -> tuple[type, type, type, type]:
    """Give the schemas of the whole state, the input, the output and of what a turn reads."""
    transcript = Annotated[list[Entry], log_channel()]
    critiques = Annotated[list[CritiqueEntry], log_channel()]
    failures = Annotated[list[Failure], log_channel()]
    turn: dict[str, Any] = {
        "request": Annotated[Request, constant_channel()],
        "session": SessionState,
        accessor_key: transcript,
        "referee_critiques": critiques,
        "failures": failures,
        "rounds": int,
        "turns": int,
        "stop": dict[str, Any] | None,
        "undecided": bool,
    }
    output: dict[str, Any] = {
        "output": Any,
        "output_class": str | None,
        "rounds": int,
        "turns": int,
        accessor_key: transcript,
        "referee_critiques": critiques,
        "stop": dict[str, Any] | None,
        "usage": dict[str, Any],
        "tasks": list[dict[str, Any]],
        "messages": Messages,
    }
    named = {"State": {**_INPUT, **turn, **output}, "Input": _INPUT, "Output": output, "Turn": turn}
    state, given, out, read = (
        TypedDict(name, keys, total=False)  # type: ignore[operator]  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue, reportUnknownVariableType] - keys known at run time only
        for name, keys in named.items()
    )
    return state, given, out, read


RESERVED_KEYS = frozenset(
    {*_INPUT, "request", "referee_critiques", "failures", "rounds", "turns", "undecided"}
    | {"output", "output_class", "stop", "usage", "tasks"}
)
"""Keys that a transcript cannot have."""
