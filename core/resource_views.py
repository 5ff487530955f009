"""Shared state, as blocks see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from flowcompose.core.ledger import Ledger
from flowcompose.core.resource_state import ResourceError, UnknownResourceError
from flowcompose.resources.contributions import Entry, Transcript
from flowcompose.resources.resource import ContributionsState, Resource, is_transcript

StateT = TypeVar("StateT")

Live = tuple[Resource[Any], Sequence[Entry]]
"""The transcript of the pattern in which a block runs, up to the moment."""


class ResourceView(Generic[StateT]):
    """A resource as a block sees it.

    What is written is seen at once by whatever reads in the same step, and takes effect with
    the step: if its block fails, nothing was written.
    """

    __slots__ = ("_check", "_key", "_ledger", "_live")

    def __init__(
        self, ledger: Ledger, key: str, live: Live | None, check: Callable[[], None]
    ) -> None:
        self._ledger = ledger
        self._key = key
        self._live = live
        self._check = check

    @property
    def state(self) -> StateT:
        """An object of the resource's schema; a copy: changing it writes nothing."""
        state: StateT = self._read()
        return state

    def patch(self, /, **fields: Any) -> None:
        """Write some fields; the rest of the state stays.

        Raises:
            RunError: A field is unknown or its value does not fit the schema, or this is not
                the place to write; it is a ValueError as well.
        """
        self._writable()
        self._ledger.patch(self._key, fields)

    def set(self, state: StateT | Mapping[str, Any], /) -> None:
        """Write the whole state: an object of the schema, or a mapping that fits it.

        Raises:
            RunError: As `patch`.
        """
        self._writable()
        self._ledger.replace(self._key, state)

    def _read(self) -> Any:
        if self._live:
            return ContributionsState(Transcript(self._live[1]))
        return self._ledger.read(self._key)

    def _writable(self) -> None:
        resource = self._live[0] if self._live else self._ledger.known[self._key]
        if is_transcript(resource):
            msg = f"resource {self._key!r} is read-only: its pattern writes the transcript"
            raise ResourceError(msg)
        self._check()

    def __repr__(self) -> str:
        return f"ResourceView({self._key!r}, {self.state!r})"


class Resources:
    """The resources that a block can use, by key or by the resource itself."""

    __slots__ = ("_check", "_ledger", "_live")

    def __init__(self, ledger: Ledger, live: Live | None, check: Callable[[], None]) -> None:
        self._ledger = ledger
        self._live = live
        self._check = check

    @overload
    def __getitem__(self, key: Resource[StateT]) -> ResourceView[StateT]: ...
    @overload
    def __getitem__(self, key: str) -> ResourceView[Any]: ...
    def __getitem__(self, key: str | Resource[Any]) -> ResourceView[Any]:
        name = self._key_of(key)
        if name is None:
            raise UnknownResourceError("ctx.resources", [self._missing(key)])
        live = self._live if self._live and self._ledger.known[name] is self._live[0] else None
        return ResourceView(self._ledger, name, live, self._check)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, (str, Resource)) and self._key_of(key) is not None  # pyright: ignore[reportUnknownArgumentType] - any resource

    def __iter__(self) -> Iterator[str]:
        return iter(self._ledger.known)

    def __len__(self) -> int:
        return len(self._ledger.known)

    def __repr__(self) -> str:
        return f"Resources({', '.join(self)})"

    def _key_of(self, key: str | Resource[Any]) -> str | None:
        known = self._ledger.known
        if isinstance(key, str):
            return key if key in known else None
        return next((name for name, each in known.items() if each is key), None)

    def _missing(self, key: str | Resource[Any]) -> str:
        asked = key.name if isinstance(key, Resource) else key
        there = ", ".join(self) or "none"
        return (
            f"no resource {asked!r} here; there is: {there}. Declare it in resources=[...] of the "
            "flow, generator, handler or capability; a pattern shares its transcript with later "
            "steps under an accessor_key= of its own"
        )
