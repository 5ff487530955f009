"""What the referee said, round by round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NotRequired, overload

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict


class CritiqueEntry(TypedDict):
    """One critique, as graph state holds it; with an `error` there was none."""

    round: int
    critique: str
    usage: dict[str, int]
    error: NotRequired[str]


class RefereeCritique(BaseModel):
    """What the referee said of one round."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    round: int = Field(ge=1)
    """The round it is about, counted from 1."""
    critique: str
    """What the referee said."""


class Critiques(Sequence[RefereeCritique]):
    """A read-only view of the critiques up to one moment; objects are made on access."""

    __slots__ = ("raw",)

    def __init__(self, raw: Sequence[CritiqueEntry] = ()) -> None:
        self.raw = raw

    def __len__(self) -> int:
        return len(self.raw)

    @overload
    def __getitem__(self, index: int) -> RefereeCritique: ...
    @overload
    def __getitem__(self, index: slice) -> Critiques: ...
    def __getitem__(self, index: int | slice) -> RefereeCritique | Critiques:
        if isinstance(index, slice):
            return Critiques(self.raw[index])
        return _of_entry(self.raw[index])

    def __iter__(self) -> Iterator[RefereeCritique]:
        return map(_of_entry, self.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)  # pyright: ignore[reportUnknownArgumentType] - any sequence

    __hash__ = None  # type: ignore[assignment]  # equal by content, as a list is

    def __repr__(self) -> str:
        return f"Critiques({list(self)!r})"


def _of_entry(entry: CritiqueEntry) -> RefereeCritique:
    return RefereeCritique(round=entry["round"], critique=entry["critique"])
