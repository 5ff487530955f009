"""What a flow's graph remembers.

A value is kept twice: as the object that it is, for the steps of this process, and packed,
for the checkpoint. A run without a checkpointer keeps only the object, which may then be
anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, Self

from langchain_core.messages import BaseMessage
from langgraph.channels.ephemeral_value import EphemeralValue
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from flowcompose.core.request import Request
from flowcompose.core.session import SessionState
from flowcompose.resources.logs import constant_channel, log_channel, update_channel
from flowcompose.resources.writes import ResourceWrites


class LiveValues(UntrackedValue[dict[Any, Any]]):
    """Objects of this process, by name; no checkpoint holds them."""

    def update(self, values: Sequence[dict[Any, Any]]) -> bool:
        """Take them all; those of one superstep have different names."""
        if not values:
            return False
        known: dict[Any, Any] = self.value if self.is_available() else {}
        self.value = {**known, **{name: each[name] for each in values for name in each}}
        return True

    def copy(self) -> Self:
        """Give a copy that later writes do not reach."""
        made = self.__class__(self.typ, self.guard)
        made.key, made.value = self.key, self.value
        return made


def merge_parts(old: dict[str, Any], writes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Lay what a superstep wrote over what there was."""
    merged = dict(old)
    for write in writes:
        merged.update(write)
    return merged


class FlowRequest(Request):
    """What a run was started with; the input is packed."""

    input: Any


Live = Annotated[dict[Any, Any], LiveValues(dict)]
Messages = Annotated[list[BaseMessage], EphemeralValue(list)]


_GIVEN: dict[str, Any] = {
    "input": Annotated[Any, EphemeralValue(object)],
    "packed_input": Annotated[Any, EphemeralValue(object)],
    "goal": Annotated[str, EphemeralValue(str)],
    "messages": Messages,
    "session": SessionState,
}
_NOW: dict[str, Any] = {
    "value": Any,
    "live": Live,
    "request": Annotated[FlowRequest, constant_channel()],
    "session": SessionState,
    "spent": Annotated[list[dict[str, Any]], log_channel()],
    "resource_writes": ResourceWrites,
}
_OF_PARTS: dict[str, Any] = {"parts": Annotated[dict[str, Any], update_channel(merge_parts)]}
_OF_LOOPS: dict[str, Any] = {
    "loops": dict[str, int],
    "caps": Annotated[list[dict[str, Any]], log_channel()],
}
_OF_RESCUES: dict[str, Any] = {"failure": dict[str, Any] | None}
_OUTPUT: dict[str, Any] = {
    "output": Annotated[Any, UntrackedValue(object)],
    "output_class": Annotated[str | None, UntrackedValue(object)],
    "stop": dict[str, Any] | None,
    "usage": dict[str, Any] | None,
    "messages": Messages,
    "resource_writes": ResourceWrites,
}


class Schemas(NamedTuple):
    """The schemas of a flow's graph."""

    state: type
    given: type
    """What a run is started with."""
    now: type
    """What a step reads."""
    output: type
    """What a run ends with."""


@lru_cache(maxsize=8)
def state_schemas(*, parallel: bool, loops: bool, rescues: bool) -> Schemas:
    """Give the schemas of a flow: each key costs every checkpoint some bytes, needed or not."""
    now = {
        **_NOW,
        **(_OF_PARTS if parallel else {}),
        **(_OF_LOOPS if loops else {}),
        **(_OF_RESCUES if rescues else {}),
    }
    return Schemas(
        _schema("State", {**_GIVEN, **now, **_OUTPUT}),
        _schema("Given", _GIVEN),
        _schema("Now", now),
        _schema("Output", _OUTPUT),
    )


def _schema(name: str, keys: dict[str, Any]) -> type:
    return TypedDict(name, keys, total=False)  # type: ignore[operator, no-any-return]  # pyright: ignore - keys known at run time only


_LEFTOVERS = ("value", "loops", "failure", "stop", "usage")
_LEFTOVER_LOGS: dict[str, Any] = {"spent": [], "parts": {}, "caps": []}


def reset_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """Give the update that clears what the last run of the thread left, where there is any."""
    values: dict[str, Any] = {key: None for key in _LEFTOVERS if state.get(key) is not None}
    if state.get("session"):  # a fresh start for the log: reading it need not go back further
        values["session"] = Overwrite(state["session"])
    logs = {key: Overwrite(empty) for key, empty in _LEFTOVER_LOGS.items() if state.get(key)}
    return values | logs
