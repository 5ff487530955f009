"""Branches of a run that a fan-out has started: where they are, and where they meet.

A branch is known by its head, the member with which it began. All of it is JSON, for it
stands in the state of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from flowcompose.patterns.graph._ways import Ways


@dataclass(frozen=True)
class Branch:
    """One branch."""

    head: str
    """The member with which it began."""
    at: str
    """The member that speaks in it, or at which it waits or has ended."""
    closed: frozenset[str] = frozenset()
    """Joins that went on without it, at which it ends."""

    def to(self, target: str) -> Branch:
        """The same branch at the next member."""
        return Branch(self.head, target, self.closed)

    @classmethod
    def read(cls, stored: Sequence[Any]) -> Self:
        """Read it from the state."""
        head, at, *closed = stored
        return cls(head, at, frozenset(closed))

    def write(self) -> list[str]:
        """Give it as JSON."""
        return [self.head, self.at, *sorted(self.closed)]


@dataclass(frozen=True)
class Branches:
    """All branches of a run."""

    speaking: tuple[Branch, ...]
    waiting: tuple[Branch, ...] = ()
    """Those at a join that does not go on yet."""
    ended: tuple[Branch, ...] = ()
    """Those that no edge led on."""

    @classmethod
    def read(cls, memo: Mapping[str, Any]) -> Self:
        """Read them from the state."""
        parts = ("speaking", "waiting", "ended")
        return cls(*(tuple(map(Branch.read, memo.get(part) or ())) for part in parts))

    def write(self) -> dict[str, Any]:
        """Give them as JSON, what there is none of left out."""
        parts = {"speaking": self.speaking, "waiting": self.waiting, "ended": self.ended}
        return {key: [each.write() for each in part] for key, part in parts.items() if part}


@dataclass
class Meeting:
    """One step: branches that have spoken go on to the next members, and may meet there.

    Args:
        ways: The edges.
        waits_for_all: The joins that wait for every branch.
        before: The branches as they were.
    """

    ways: Ways
    waits_for_all: frozenset[str]
    before: Branches
    arrived: list[Branch] = field(default_factory=list[Branch])
    ended: list[Branch] = field(default_factory=list[Branch])

    def __post_init__(self) -> None:
        """Who waited is there already."""
        self.arrived += self.before.waiting
        self.ended += self.before.ended

    def go(self, branch: Branch, targets: Sequence[str]) -> None:
        """Let a branch go where its member's edges lead it: nowhere, on, or apart."""
        if not targets:
            self._end(branch)
        elif len(targets) == 1:
            self._arrive(branch.to(targets[0]))
        else:
            for target in targets:
                self.ended = [each for each in self.ended if each.head != target]
                self._arrive(Branch(target, target, branch.closed))

    def _end(self, branch: Branch) -> None:
        self.ended = [*(each for each in self.ended if each.head != branch.head), branch]

    def _arrive(self, branch: Branch) -> None:
        if branch.at not in branch.closed:
            self.arrived.append(branch)

    def after(self) -> Branches:
        """Say who speaks now, who waits, and who has ended."""
        places = [name for name in self.ways.names if any(b.at == name for b in self.arrived)]
        ready = [name for name in places if not self.missing_at(name)]
        speaking = [self._met(name) for name in ready]
        waiting = [b for b in self.arrived if b.at not in ready]
        for name in ready:
            if name in self.ways.joins and name not in self.waits_for_all:
                speaking = [self._closed_to(b, name) for b in speaking]
                waiting = [self._closed_to(b, name) for b in waiting]
        return Branches(tuple(speaking), tuple(waiting), tuple(self.ended))

    def missing_at(self, join: str) -> list[Branch]:
        """Give the branches for which a join waits: all that began where they could come to it.

        One that goes another way counts as well: who waits for all does not go on without one.
        """
        if join not in self.ways.joins or join not in self.waits_for_all:
            return []
        elsewhere = [*(each for each in self.arrived if each.at != join), *self.ended]
        return [each for each in elsewhere if self._comes(each.head, join, each)]

    def _comes(self, source: str, join: str, branch: Branch) -> bool:
        return join not in branch.closed and self.ways.comes_to(source, join, branch.closed)

    def _met(self, name: str) -> Branch:
        """Make one branch of those that have come to a member."""
        come = [each for each in self.arrived if each.at == name]
        if len(come) == 1:
            return come[0]
        closed = (join for join in come[0].closed if all(join in each.closed for each in come))
        return Branch(name, name, frozenset(closed))

    def _closed_to(self, branch: Branch, join: str) -> Branch:
        """A branch that comes to a join which has gone on with another one ends there."""
        if branch.at == join or not self._comes(branch.at, join, branch):
            return branch
        return Branch(branch.head, branch.at, branch.closed | {join})
