"""What a pattern's graph remembers: plain dicts, so that every checkpointer can store it.

Keys that grow are logs, which a checkpoint stores by what a step added. What the caller
gives lives for one step only, then in `request`: a thread that is used again must not take
the last run's answer for new input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

from langchain_core.messages import BaseMessage
from langgraph.channels.ephemeral_value import EphemeralValue
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from flowcompose.core.request import Request
from flowcompose.core.session import SessionState
from flowcompose.core.turns import Selection
from flowcompose.resources.contributions import Entry
from flowcompose.resources.critiques import CritiqueEntry
from flowcompose.resources.logs import Gathered, constant_channel, log_channel
from flowcompose.resources.selections import SelectionEntry
from flowcompose.resources.tasks import Failure
from flowcompose.resources.writes import WRITES, Held, ResourceWrites

Goal = Annotated[str, EphemeralValue(str)]
Messages = Annotated[list[BaseMessage], EphemeralValue(list)]

# Functional syntax throughout: the transcript's key is the user's to name.
_INPUT: dict[str, Any] = {"goal": Goal, "messages": Messages, "session": SessionState}


class Schemas(NamedTuple):
    """The schemas of a pattern's graph."""

    state: type
    given: type
    output: type
    turn: type
    """What a turn reads."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What a pattern's runs keep: each log costs every checkpoint some bytes."""

    derived_output: bool
    """Whether the output can be read from the transcript, so that it need not be stored."""
    critiques: bool = False
    failures: bool = False
    selection: bool = False
    """What was decided about who speaks next."""
    selections: bool = False
    """Whom the selector chose."""
    together: bool = False
    """Whether members speak at once."""


@lru_cache(maxsize=128)
def state_schemas(accessor_key: str, kept: Kept) -> Schemas:
    """Give the schemas for a transcript under `accessor_key`.

    What can be derived from the transcript is not stored beside it: the tasks, and the output
    if there is no synthesizer. A caller gets them all the same.
    """
    transcript = Annotated[list[Entry], log_channel(of_turns=kept.together)]
    critiques: Any = list[CritiqueEntry]
    if kept.critiques:
        critiques = Annotated[critiques, log_channel()]
    failures: dict[str, Any] = {}
    if kept.failures:
        failures = {"failures": Annotated[list[Failure], log_channel(of_turns=kept.together)]}
    choosing: dict[str, Any] = {}
    if kept.selection:
        choosing["selection"] = Selection | None
    if kept.selections:
        choosing["selections"] = Annotated[list[SelectionEntry], log_channel()]
    if kept.together:
        choosing["faults"] = Annotated[list[Any], Gathered(list)]
        choosing["held"] = Annotated[list[Held], log_channel(of_turns=True)]
    turn: dict[str, Any] = {
        "request": Annotated[Request, constant_channel()],
        "session": SessionState,
        accessor_key: transcript,
        "referee_critiques": critiques,
        **failures,
        **choosing,
        "stop": dict[str, Any] | None,
        "undecided": bool,
        "fault": Annotated[Exception, UntrackedValue(Exception)],
        WRITES: ResourceWrites,
    }
    output: dict[str, Any] = {
        "output": Annotated[Any, UntrackedValue(object)] if kept.derived_output else Any,
        "output_class": str | None,
        "rounds": int,
        "turns": int,
        accessor_key: transcript,
        "referee_critiques": critiques,
        **failures,
        "stop": dict[str, Any] | None,
        "usage": dict[str, Any],
        "tasks": Annotated[list[dict[str, Any]], UntrackedValue(list)],
        "messages": Messages,
        WRITES: ResourceWrites,
    }
    return Schemas(
        _schema("State", {**_INPUT, **turn, **output}),
        _schema("Input", _INPUT),
        _schema("Output", output),
        _schema("Turn", turn),
    )


def _schema(name: str, keys: dict[str, Any]) -> type:
    return TypedDict(name, keys, total=False)  # type: ignore[operator, no-any-return]  # pyright: ignore - keys known at run time only


_LEFTOVERS = (
    *("stop", "output", "output_class", "usage", "undecided", "rounds", "turns"),
    "selection",
)
_LEFTOVER_LOGS = ("referee_critiques", "failures", "selections", "held")


def reset_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """Give the update that clears what the last run of the thread left.

    Only what is there is cleared: a key that is never written costs no checkpoint anything.
    """
    values: dict[str, Any] = {key: None for key in _LEFTOVERS if state.get(key) is not None}
    if state.get("session"):  # a fresh start for the log: reading it need not go back further
        values["session"] = Overwrite(state["session"])
    return values | {key: Overwrite([]) for key in _LEFTOVER_LOGS if state.get(key)}


RESERVED_KEYS = frozenset(
    {*_INPUT, "request", "referee_critiques", "failures", "rounds", "turns", "undecided", "fault"}
    | {"selection", "selections", "faults", "held"}
    | {"output", "output_class", "stop", "usage", "tasks", WRITES}
)
"""Keys that a transcript cannot have."""
