"""Taking secrets out of events, before anything is shown or written of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from pydantic import BaseModel

from flowcompose.core import events
from flowcompose.core.events import Event
from flowcompose.core.untyped import items_of, mapping_of
from flowcompose.runner.secrets import Redactor

_Key = tuple[tuple[str, ...], str]
"""Who speaks: inside which members, and the name."""


class RedactedEvents:
    """Gives events without secrets.

    A secret may come in pieces, one to a token. So what could be the beginning of one is held
    back until it is clear what it is.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._stream = redactor.stream()
        self._open: dict[_Key, events.Token] = {}

    def read(self, event: Event) -> Iterator[Event]:
        """Give what may be shown now."""
        key = event.path, event.agent_name
        last = self._open.get(key)
        if not isinstance(event, events.Token):
            yield from self._rest(event)
            yield self._clean(event)
            return
        if last is not None and last.message_id != event.message_id:
            yield from self._flushed(key)
        self._open[key] = event
        if text := self._stream.feed(_name(event), event.text):
            yield replace(event, text=text)

    def _rest(self, event: Event) -> Iterator[Event]:
        """Whatever else happens to who speaks, the piece of text comes first."""
        if isinstance(event, (events.RunStopped, events.RunCompleted)) and not event.path:
            for key in list(self._open):
                yield from self._flushed(key)
        elif (event.path, event.agent_name) in self._open:
            yield from self._flushed((event.path, event.agent_name))

    def _flushed(self, key: _Key) -> Iterator[Event]:
        last = self._open.pop(key)
        if text := self._stream.flush(_name(last)):
            yield replace(last, text=text)

    def _clean(self, event: Event) -> Event:
        cleaned = {
            each.name: clean_value(getattr(event, each.name), self._redactor)
            for each in fields(event)
            if each.name != "at"
        }
        return replace(event, **cleaned)


def _name(token: events.Token) -> str:
    return "\0".join((*token.path, token.agent_name, token.message_id))


def clean_value(value: Any, redactor: Redactor) -> Any:
    """Take secrets out of anything that an event holds; objects of a user's class stay."""
    if isinstance(value, str):
        return redactor.clean(value)
    if isinstance(value, BaseModel):
        names = type(value).model_fields
        found = {name: clean_value(getattr(value, name), redactor) for name in names}
        return value.model_copy(update=found)
    if (mapping := mapping_of(value)) is not None:
        return {clean_value(k, redactor): clean_value(v, redactor) for k, v in mapping.items()}
    if isinstance(value, tuple):
        return tuple(clean_value(each, redactor) for each in items_of(value) or ())
    if isinstance(value, list):
        return [clean_value(each, redactor) for each in items_of(value) or ()]
    return value
