"""The transcript: what the members said, in order.

In graph state an entry is a plain dict, so that every checkpointer stores it without
knowing our classes. `Transcript` shows a list of them as `Contribution`s, made on access:
a turn that does not look at the transcript pays nothing for its length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NotRequired, overload

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from flowcompose.resources.structured_data import revive


class Entry(TypedDict):
    """One turn in the transcript, as graph state holds it."""

    round: int
    turn: int
    agent_name: str
    text: str
    started_at: float
    completed_at: float
    data: NotRequired[Any]
    data_class: NotRequired[str]
    usage: NotRequired[dict[str, int]]
    path: NotRequired[list[str]]
    """Inside which members of the pattern it was said, outermost first; absent for own ones."""
    tools: NotRequired[list[str]]
    """The tools that were called in the turn, in order; absent where there were none."""
    next: NotRequired[str]
    """How the next speaker was chosen, where that is not always the same."""
    ends: NotRequired[bool]
    """Whether the member ended its team with it; absent where it did not."""


class ContributionEntry(BaseModel):
    """What a turn added, in the three fields every pattern shares."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    round: int = Field(ge=1)
    """Counted from 1."""
    agent_name: str
    """The member who spoke."""
    text: str
    """What it said."""


class Contribution(ContributionEntry):
    """What a turn added to the transcript."""

    turn: int = Field(default=1, ge=1)
    """The turn of the run, counted from 1; failed turns count too."""
    data: Any = None
    """The structured answer behind `text`, if the member gave one."""
    path: tuple[str, ...] = ()
    """Inside which members it was said, outermost first; empty for a member of the pattern."""
    tools: tuple[str, ...] = ()
    """The tools that were called in the turn, in order."""

    @classmethod
    def of_entry(cls, entry: Entry) -> Contribution:
        """Read an entry of the state."""
        return cls(
            round=entry["round"],
            turn=entry["turn"],
            agent_name=entry["agent_name"],
            text=entry["text"],
            data=revive(entry["data"], entry.get("data_class")) if "data" in entry else None,
            path=tuple(entry.get("path", ())),
            tools=tuple(entry.get("tools", ())),
        )


class Transcript(Sequence[Contribution]):
    """A read-only view of what was said up to one moment; later turns do not show in it."""

    __slots__ = ("raw",)

    raw: Sequence[Entry]
    """The entries as the state holds them; reading these makes no objects."""

    def __init__(self, raw: Sequence[Entry] = ()) -> None:
        self.raw = raw

    def __len__(self) -> int:
        return len(self.raw)

    @overload
    def __getitem__(self, index: int) -> Contribution: ...
    @overload
    def __getitem__(self, index: slice) -> Transcript: ...
    def __getitem__(self, index: int | slice) -> Contribution | Transcript:
        if isinstance(index, slice):
            return Transcript(self.raw[index])
        return Contribution.of_entry(self.raw[index])

    def __iter__(self) -> Iterator[Contribution]:
        return map(Contribution.of_entry, self.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)  # pyright: ignore[reportUnknownArgumentType] - any sequence

    __hash__ = None  # type: ignore[assignment]  # equal by content, as a list is

    def __repr__(self) -> str:
        return f"Transcript({list(self)!r})"
