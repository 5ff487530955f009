"""What blocks and predicates see of the run they are in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from flowcompose.core.meter import Meter
from flowcompose.core.results import CritiqueEntry, RefereeCritique
from flowcompose.core.stream import emit
from flowcompose.resources.contributions import Transcript
from flowcompose.resources.resource import ContributionsState, Resource
from flowcompose.resources.usage import Usage

StateT = TypeVar("StateT")

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class RunInput(BaseModel):
    """What a pattern was started with."""

    goal: str
    """What the panel works on; may be empty."""


class RunState:
    """How far a run is."""

    __slots__ = ("_critiques", "round", "turn")

    def __init__(self, round: int, turn: int, critiques: Sequence[CritiqueEntry]) -> None:
        self.round = round
        """The current round, counted from 1; in `terminate_when`, the round just finished."""
        self.turn = turn
        """The current turn of the run, counted from 1."""
        self._critiques = critiques

    @property
    def referee_critiques(self) -> list[RefereeCritique]:
        """One critique per finished round, if there is a referee."""
        return [RefereeCritique(round=c["round"], critique=c["critique"]) for c in self._critiques]


@dataclass(frozen=True, slots=True)
class Session:
    """What belongs to the thread, and outlives a run."""

    state: Mapping[str, Any]
    """What `run(session=...)` gave, and what earlier runs of the thread left."""


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


@dataclass(frozen=True)
class MemberInfo:
    """A member as the others know it."""

    name: str
    role: str | None = None


@dataclass(frozen=True)
class Panel:
    """What the default blocks of one pattern have in common."""

    name: str
    members: tuple[MemberInfo, ...] = ()
    system: Callable[[Context], str] | None = None
    """Writes the system message that every request of the panel begins with."""
    model: Any = None
    """The pattern's model, for default blocks that name none."""
    accessor_key: str = "contributions"
    contributions: Resource[ContributionsState] | None = None


class Context:
    """The run, as blocks, predicates and prompt functions see it. Made anew for each turn.

    Predicates get it as their only argument, blocks as their second one if they take two.
    """

    __slots__ = (
        "_load_contributions",
        "_load_usage",
        "agent_name",
        "config",
        "critiques",
        "goal",
        "history",
        "meter",
        "panel",
        "session",
        "state",
    )

    def __init__(
        self,
        *,
        goal: str = "",
        agent_name: str = "",
        state: RunState | None = None,
        contributions: Callable[[], Transcript] = Transcript,
        critiques: Sequence[CritiqueEntry] = (),
        history: Sequence[BaseMessage] = (),
        session: Mapping[str, Any] = _EMPTY,
        config: RunnableConfig | None = None,
        panel: Panel | None = None,
        usage: Callable[[], Usage] = Usage,
    ) -> None:
        self.goal = goal
        """What the panel works on."""
        self.agent_name = agent_name
        """Who is asked to speak; empty outside a turn."""
        self.state = state or RunState(1, 1, critiques)
        """`.round`, `.turn`, `.referee_critiques`."""
        self.critiques = critiques
        self.history = history
        """The conversation before the run, if it was started with messages."""
        self.session = Session(session)
        """`.state` holds what the caller passed as `session=`."""
        self.config: RunnableConfig = config or {}
        """The engine's config: pass it to models and graphs that you call yourself."""
        self.panel = panel or Panel(name="")
        self.meter = Meter()
        self._load_contributions = contributions
        self._load_usage = usage

    @property
    def contributions(self) -> Transcript:
        """All that was said so far, oldest first."""
        return self._load_contributions()

    @property
    def input(self) -> RunInput:
        """The pattern's input."""
        return RunInput(goal=self.goal)

    @property
    def usage(self) -> Usage:
        """Tokens spent up to the last finished turn."""
        return self._load_usage()

    @property
    def resources(self) -> Resources:
        """Shared state: `ctx.resources["contributions"].state.entries`."""
        resource = self.panel.contributions
        if resource is None:
            return Resources({})
        state = ContributionsState(self.contributions)
        return Resources({self.panel.accessor_key: (resource, state)})

    def emit(self, data: Any) -> None:
        """Send `data` to whoever follows the run's events, as an `Emitted` event."""
        emit("emitted", self, data=data)
