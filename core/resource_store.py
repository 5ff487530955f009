"""Resources of scope "user": kept in LangGraph's store, one place per user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import get_runtime
from langgraph.store.base import BaseStore, Item, PutOp

from flowcompose.core.definition import Problems
from flowcompose.core.resource_state import json_of, read_state
from flowcompose.core.untyped import unchecked
from flowcompose.resources.resource import Resource
from flowcompose.resources.writes import Delta, Deltas, compose


class UserStore:
    """Reads and writes the resources of the user whose run it is."""

    def __init__(self, resources: Sequence[Resource[Any]], config: RunnableConfig) -> None:
        self._resources = {each.name: each for each in resources}
        self._config = config
        self.loaded: Deltas = {}
        """What was read last; a resource that was never saved is not in it."""

    @property
    def names(self) -> Mapping[str, Resource[Any]]:
        """The resources by name, which is their key in the store."""
        return self._resources

    def of(self, written: Deltas) -> Deltas:
        """Give those of the deltas that belong here."""
        return {name: delta for name, delta in written.items() if name in self._resources}

    def load(self) -> None:
        """Read all of them."""
        store, place = self._place
        items = {name: store.get(place, name) for name in self._resources}
        self.loaded = _deltas(items)

    async def aload(self) -> None:
        """Read all of them on the async path."""
        store, place = self._place
        items = {name: await store.aget(place, name) for name in self._resources}
        self.loaded = _deltas(items)

    def save(self, written: Deltas) -> None:
        """Lay what was written over what the store holds by now: all of it, or nothing."""
        store, place = self._place
        now = _laid_over({name: store.get(place, name) for name in written}, written)
        store.batch(self._puts(now))
        self.loaded = {**self.loaded, **now}

    async def asave(self, written: Deltas) -> None:
        """`save` on the async path."""
        store, place = self._place
        now = _laid_over({name: await store.aget(place, name) for name in written}, written)
        await store.abatch(self._puts(now))
        self.loaded = {**self.loaded, **now}

    def _puts(self, deltas: Deltas) -> list[PutOp]:
        store, place = self._place
        lasting = (store.ttl_config or {}).get("default_ttl")  # as `put` does
        checked = {name: self._checked(name, delta) for name, delta in deltas.items()}
        return [PutOp(place, name, value, ttl=lasting) for name, value in checked.items()]

    def _checked(self, name: str, delta: Delta) -> dict[str, Any]:
        """What another run wrote meanwhile may not go with what this one did."""
        resource = self._resources[name]
        read_state(resource, delta)
        return json_of(resource, delta)

    @cached_property
    def _place(self) -> tuple[BaseStore, tuple[str, ...]]:
        """The store, and the namespace of the user."""
        store = _store()
        user = unchecked((self._config.get("configurable") or {}).get("user_id"))
        problems = Problems(f"resources of scope 'user' ({', '.join(map(repr, self._resources))})")
        problems.check(
            store is not None,
            "the run has no store: pass store=... where the pattern or flow is made, "
            "for instance store=InMemoryStore()",
        )
        problems.check(
            user is not None and not isinstance(user, bool) and bool(str(user).strip()),
            "the run does not say whose they are: pass "
            f"config={{'configurable': {{'user_id': ...}}}} to the run, got {user!r}",
        )
        problems.raise_if_any()
        return unchecked(store), ("flowcompose", "resources", _label(str(user)))


def _deltas(items: Mapping[str, Item | None]) -> Deltas:
    return {name: Delta(whole=True, fields=item.value) for name, item in items.items() if item}


def _laid_over(items: Mapping[str, Item | None], written: Deltas) -> Deltas:
    return compose(_deltas(items), [written])


def _store() -> BaseStore | None:
    try:
        runtime = unchecked(get_runtime())
    except (RuntimeError, KeyError):  # outside any graph
        return None
    return None if runtime is None else runtime.store


def _label(user: str) -> str:
    """A store's labels hold no period, which many user names do, and no NUL."""
    return user.replace("%", "%25").replace(".", "%2E").replace("\x00", "%00")
