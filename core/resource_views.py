"""Shared state, as blocks see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from flowcompose.resources.resource import Resource

StateT = TypeVar("StateT")


@dataclass(frozen=True, slots=True)
class ResourceView(Generic[StateT]):
    """A resource as a block sees it."""

    state: StateT
    """An object of the resource's schema."""


class Resources:
    """The resources that a block can read, by accessor key or by the resource itself."""

    __slots__ = ("_states",)

    def __init__(self, states: Mapping[str, tuple[Resource[Any], Any]]) -> None:
        self._states = states

    def __getitem__(self, key: str | Resource[Any]) -> ResourceView[Any]:
        for name, (resource, state) in self._states.items():
            if key is resource or key == name:
                return ResourceView(state)
        asked = key.name if isinstance(key, Resource) else key
        msg = f"no resource {asked!r} here; there is: {', '.join(self._states) or 'none'}"
        raise KeyError(msg)

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)
