"""What a member gave, as text and data."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from flowcompose.core.context import Context
from flowcompose.core.untyped import mapping_of
from flowcompose.patterns.turn_loop.roster import Member
from flowcompose.resources.contributions import Entry
from flowcompose.resources.structured_data import class_name, to_json


@dataclass(frozen=True, slots=True)
class Spoken:
    """A contribution's words, and the structured answer behind them."""

    text: str
    data: Any = None
    data_class: str | None = None


@dataclass(frozen=True)
class Listener:
    """Reads what the members of one pattern give; warns once per member that is hard to read."""

    warned: set[str] = field(default_factory=set[str])

    def hear(self, value: Any, agent_name: str, ctx: Context) -> Spoken:
        """Take any value as a contribution."""
        if isinstance(value, str):
            return Spoken(value)
        if isinstance(value, BaseMessage):
            if ctx.meter.tokens is None:
                ctx.meter.add(value)
            return Spoken(str(value.text))
        if isinstance(value, BaseModel):
            return _of_model(value)
        keys = mapping_of(value) or {}
        text = keys.get("text", getattr(value, "text", None))
        if isinstance(text, str):
            return Spoken(text, to_json(keys) if len(keys) > 1 else None)
        return self._coerce(value, agent_name)

    def _coerce(self, value: Any, agent_name: str) -> Spoken:
        data = to_json(value)
        if agent_name not in self.warned:
            self.warned.add(agent_name)
            warnings.warn(
                f"member {agent_name!r} returned {type(value).__name__}, not a str, "
                '{"text": str}, an AIMessage or a pydantic model; its JSON is taken as the text',
                stacklevel=2,
            )
        return Spoken(json.dumps(data, ensure_ascii=False), data)


def _of_model(value: BaseModel) -> Spoken:
    text = getattr(value, "text", None)
    words = text if isinstance(text, str) else value.model_dump_json(by_alias=True)
    return Spoken(words, to_json(value), class_name(value))


def entry_of(spoken: Spoken, ctx: Context, started_at: float) -> Entry:
    """Make the transcript's entry of what was said in this context."""
    entry = Entry(
        round=ctx.state.round,
        turn=ctx.state.turn,
        agent_name=ctx.agent_name,
        text=spoken.text,
        started_at=started_at,
        completed_at=time.time(),
    )
    if spoken.data is not None:
        entry["data"] = spoken.data
    if spoken.data_class is not None:
        entry["data_class"] = spoken.data_class
    if ctx.meter.tokens is not None:
        entry["usage"] = ctx.meter.as_json()
    if ctx.tools_called:
        entry["tools"] = list(ctx.tools_called)
    if ctx.termination is not None:
        entry["ends"] = True
    return entry


def entries_of(spoken: Spoken, member: Member, ctx: Context, started_at: float) -> list[Entry]:
    """Make what a turn adds to the transcript: all that a member's members said, if it is to."""
    if member.transcript == "output" or not ctx.acts.said:
        return [entry_of(spoken, ctx, started_at)]
    entries = [_nested(each, member.name, ctx) for each in ctx.acts.said]
    if ctx.meter.tokens is not None:
        entries[-1]["usage"] = ctx.meter.as_json()
    return entries


def _nested(entry: Entry, member: str, ctx: Context) -> Entry:
    """An entry of a member's own transcript; what it cost is counted for the whole turn."""
    kept = {key: each for key, each in entry.items() if key not in ("usage", "ends", "next")}
    kept |= {"round": ctx.state.round, "turn": ctx.state.turn}
    return cast("Entry", {**kept, "path": [member, *entry.get("path", ())]})
