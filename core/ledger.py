"""The resources of one step: what they hold, and what the step's blocks wrote to them.

One ledger belongs to one execution of a node and is shared by all contexts made in it. What
is written becomes part of the node's update, so it takes effect with the step or not at all.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from typing import Any, ClassVar, Self

from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from flowcompose.core.resource_state import patched, read_state, replaced
from flowcompose.core.resource_store import UserStore
from flowcompose.core.written import PART, Part, Written
from flowcompose.resources.contributions import Entry, Transcript
from flowcompose.resources.resource import ContributionsState, Resource, is_transcript
from flowcompose.resources.writes import WRITES, Delta, Deltas, compose

_NO_DELTAS: Deltas = {}
_NO_ENTRIES: Mapping[str, Sequence[Entry]] = {}


class Ledger:
    """What the blocks of one step read and write.

    Args:
        own: The resources that the graph knows, by the key under which blocks ask for them.
        stored: The deltas in the graph's state.
        config: The node's config: in it stands the ledger of the step outside, if this graph
            runs inside another, and whose run it is.
        transcripts: Transcripts that stand in a place of their own in the graph's state.
        program: Whose run it is. Only one that the step outside has started itself gives back
            what it wrote in its output; any other hands it over when it ends.
    """

    KEY: ClassVar[str] = "__flowcompose_ledger"
    """Where a config holds one. The engine keeps what begins so out of checkpoints and traces."""

    _TO: ClassVar[str] = "__flowcompose_ledger_to"
    """Where a config says for which program it was made."""

    def __init__(
        self,
        own: Mapping[str, Resource[Any]],
        stored: Deltas | None,
        config: RunnableConfig,
        transcripts: Mapping[str, Sequence[Entry]] = _NO_ENTRIES,
        program: object = None,
    ) -> None:
        addressee = (config.get("configurable") or {}).get(self._TO)
        self._gives_output = program is not None and addressee is program
        self._own = own
        self._stored = stored or _NO_DELTAS
        self._outer = Ledger.found(config)
        self._transcripts = transcripts
        self._written = Written()
        self._lent = False
        self._lock = threading.Lock()  # the tools of one answer may run in several threads
        # Of those known outside too, the step outside saves what is written in here.
        users = [
            each for each in self.known.values() if each.scope == "user" and not self._outside(each)
        ]
        self._users = UserStore(users, config) if users else None

    @classmethod
    def found(cls, config: RunnableConfig) -> Ledger | None:
        """Give the ledger of the step that this config was handed down by, if there is one."""
        ledger: Any = (config.get("configurable") or {}).get(cls.KEY)
        return ledger if isinstance(ledger, Ledger) else None

    def handed_down(self, config: RunnableConfig, program: object = None) -> RunnableConfig:
        """Give the config for what runs inside this step: it sees the resources of this one.

        Args:
            config: The step's config.
            program: The program that is run with it, if its output will be read.
        """
        configurable = config.get("configurable") or {}
        handed = {**configurable, self.KEY: self, self._TO: program}
        return {**config, "configurable": handed}

    def lent(self) -> Self:
        """Give it to a block that is used in the step, but not by it, as in a chain.

        The block writes to the step's resources; the step loads and saves them.
        """
        lent = copy.copy(self)
        lent._lent = True
        return lent

    @contextmanager
    def part(self) -> Generator[Part]:
        """Let something be done that may fail while the step goes on.

        What it wrote is gone then, or if it is told `failed`; what others wrote meanwhile is not.
        """
        part = Part(PART.get())
        token = PART.set(part)
        try:
            yield part
        except BaseException:
            part.failed = True
            raise
        finally:
            PART.reset(token)
            if part.failed:
                with self._lock:
                    self._written.take_back(part)

    @contextmanager
    def kept(self) -> Generator[None]:
        """Load, let a block work that is used outside of our own nodes, and save."""
        with self.part():
            self.load()
            yield
            self.save()
            self._give_to_outer()

    @asynccontextmanager
    async def akept(self) -> AsyncGenerator[None]:
        """`kept` on the async path."""
        with self.part():
            await self.aload()
            yield
            await self.asave()
            self._give_to_outer()

    def _give_to_outer(self) -> None:
        """Write to the step outside what it knows, as there is no run whose output it reads."""
        if self._outer and not self._lent:
            self._outer.add(self._unkept, self._own)

    @cached_property
    def known(self) -> Mapping[str, Resource[Any]]:
        """All resources that a block of this step can ask for; the graph's own come first."""
        if self._outer is None:
            return self._own
        mine = _places(self._own)
        seen = {
            key: each
            for key, each in self._outer.known.items()
            if key not in self._own and mine.get(_place(key, each), each) is each
        }
        return {**self._own, **seen}

    def knows(self, resource: Resource[Any]) -> bool:
        """Say whether a block of this step can ask for `resource`."""
        return any(each is resource for each in self.known.values())

    def read(self, key: str) -> Any:
        """Give the state of a known resource, with what the step wrote so far."""
        resource = self.known[key]
        if is_transcript(resource):
            return ContributionsState(Transcript(self._entries(key, resource)))
        return read_state(resource, self._present(resource.name, resource))

    def patch(self, key: str, fields: Mapping[str, Any]) -> None:
        """Write some fields of a known resource.

        Raises:
            ResourceError: They do not fit its schema.
        """
        resource = self.known[key]
        with self._lock:
            delta = patched(resource, self._present(resource.name, resource), fields)
            self._written.lay({resource.name: delta})

    def replace(self, key: str, value: object) -> None:
        """Write the whole state of a known resource.

        Raises:
            ResourceError: It does not fit its schema.
        """
        resource = self.known[key]
        delta = replaced(resource, value)
        with self._lock:
            self._written.lay({resource.name: delta})

    def add(self, deltas: Deltas | None, owned: Mapping[str, Resource[Any]]) -> None:
        """Take over what a finished run inside this step wrote.

        Args:
            deltas: The `resource_writes` of its output.
            owned: The resources of the inner graph itself. Of two of one name its own one
                shadows the one outside, and what it wrote there is not for this step.
        """
        if not deltas:
            return
        theirs, ours = _places(owned), _places(self.known)
        taken = {
            place: delta
            for place, delta in deltas.items()
            if place in ours and theirs.get(place, ours[place]) is ours[place]
        }
        with self._lock:
            self._written.lay(taken)

    def record(self, key: str, resource: Resource[Any], entries: Sequence[Entry]) -> None:
        """Keep the transcript of a finished pattern for later steps, if they know the resource."""
        if not self.knows(resource) or key in self._transcripts:
            return
        keys = [name for name, each in self.known.items() if each is resource]
        place = key if key in keys else keys[0]
        with self._lock:
            self._written.lay({place: Delta(whole=True, fields={"entries": list(entries)})})

    def opening(self) -> dict[str, Any]:
        """Give the update that clears what belongs to the last run of the thread.

        What a run outside knows is kept there. Where nothing was ever written there is nothing
        to clear, and no checkpoint pays for it.
        """
        if not self._stored:
            return {}
        known, outside = _places(self.known), self._places_outside
        self._stored = {
            place: delta
            for place, delta in self._stored.items()
            if place not in outside and not _ends_with_run(known.get(place))
        }
        return {WRITES: Overwrite(self._stored)}

    def update(self) -> dict[str, Any]:
        """Give the part of the node's update: empty where nothing was written."""
        written = self._unkept
        return {WRITES: written} if written else {}

    def take(self) -> Deltas:
        """Give all that was written, what the store keeps too, for another step to write."""
        with self._lock:
            taken = dict(self._written.whole)
            self._written.clear()
        return taken

    def closing(self) -> dict[str, Any]:
        """Give the part of the update of a run's last node: what ends with the run is gone.

        What a run outside knows stays, for it to take over.
        """
        known, outside = _places(self.known), self._places_outside
        whole = compose(self._stored, [self._unkept])
        if self._outer and not self._gives_output:
            self._outer.add({place: whole[place] for place in whole if place in outside}, self._own)
        left = {
            place: delta
            for place, delta in whole.items()
            if place in outside or not _ends_with_run(known.get(place))
        }
        return self.update() if left == whole else {WRITES: Overwrite(left)}

    @property
    def _unkept(self) -> dict[str, Delta]:
        """What the step wrote, but for what the store keeps."""
        kept = self._users.names if self._users else ()
        return {place: delta for place, delta in self._written.whole.items() if place not in kept}

    @property
    def _places_outside(self) -> Mapping[str, Resource[Any]]:
        return _places(self._outer.known) if self._outer else {}

    def discard(self) -> None:
        """Forget what the step wrote: its block failed."""
        with self._lock:
            self._written.clear()

    def load(self) -> None:
        """Read the resources of the user, before the step's block runs.

        Raises:
            DefinitionError: There are some, and the run lacks a store or the user's name.
        """
        if self._users and not self._lent:
            self._users.load()

    async def aload(self) -> None:
        """`load` on the async path."""
        if self._users and not self._lent:
            await self._users.aload()

    def save(self) -> None:
        """Write the resources of the user, after the step's block succeeded."""
        if self._users and (written := self._to_save):
            self._users.save(written)
            self._forget(written)

    async def asave(self) -> None:
        """`save` on the async path."""
        if self._users and (written := self._to_save):
            await self._users.asave(written)
            self._forget(written)

    @property
    def _to_save(self) -> Deltas:
        if self._users is None or self._lent:
            return _NO_DELTAS
        return self._users.of(self._written.whole)

    def _forget(self, saved: Deltas) -> None:
        with self._lock:
            self._written.forget(saved)

    def _present(self, place: str, resource: Resource[Any]) -> Delta | None:
        parts = self._parts(resource)
        laid = compose({}, [{place: part[place]} for part in parts if place in part])
        return laid.get(place)

    def _parts(self, resource: Resource[Any]) -> list[Deltas]:
        """What lies over the resource's default, from the outermost run inwards."""
        if self._users and resource.name in self._users.names:
            return [self._users.loaded, self._written.whole]
        outer = self._outer._parts(resource) if self._outer and self._outside(resource) else ()
        return [*outer, self._stored, self._written.whole]

    def _outside(self, resource: Resource[Any]) -> bool:
        return self._outer is not None and self._outer.knows(resource)

    def _entries(self, key: str, resource: Resource[Any]) -> Sequence[Entry]:
        """The entries under this key, else under another key of the same resource."""
        keys = [key, *(name for name, each in self.known.items() if each is resource)]
        for each in keys:
            if each in self._transcripts and self._own.get(each) is resource:
                return self._transcripts[each]
            if found := self._present(each, resource):
                entries: Sequence[Entry] = found["fields"]["entries"]
                return entries
        outer = self._outer if self._outside(resource) else None
        return outer._entries(key, resource) if outer else ()


def _place(key: str, resource: Resource[Any]) -> str:
    """Where a resource is kept: under its name, a transcript under its key."""
    return key if is_transcript(resource) else resource.name


def _places(resources: Mapping[str, Resource[Any]]) -> dict[str, Resource[Any]]:
    return {_place(key, each): each for key, each in resources.items()}


def _ends_with_run(resource: Resource[Any] | None) -> bool:
    return resource is not None and (resource.scope == "run" or is_transcript(resource))
