"""Branches of a run that a fan-out has started: where they are, and where they meet.

A branch is known by its heads, the members with which it began: one, or several where branches
have met. All of it is JSON, for it stands in the state of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from flowcompose.patterns.graph._ways import Ways


@dataclass(frozen=True)
class Branch:
    """One branch."""

    at: str
    """The member that speaks in it, or at which it waits or has ended."""
    heads: tuple[str, ...]
    """The members with which it began."""
    closed: frozenset[str] = frozenset()
    """Joins that went on without it, at which it ends."""
    passed: frozenset[str] = frozenset()
    """Joins to which it has come, so that they do not wait for it any more."""

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read it from the state."""
        closed, passed = (frozenset(stored.get(key) or ()) for key in ("closed", "passed"))
        return cls(stored["at"], tuple(stored["heads"]), closed, passed)

    def write(self) -> dict[str, Any]:
        """Give it as JSON."""
        joins = {"closed": sorted(self.closed), "passed": sorted(self.passed)}
        kept = {key: names for key, names in joins.items() if names}
        return {"at": self.at, "heads": list(self.heads), **kept}


def met(branches: Sequence[Branch]) -> Branch:
    """Make one branch of those that have come to the same member."""
    first = branches[0]
    heads = dict.fromkeys(head for each in branches for head in each.heads)
    closed = (join for join in first.closed if all(join in each.closed for each in branches))
    passed = (join for join in first.passed if all(join in each.passed for each in branches))
    return Branch(first.at, tuple(heads), frozenset(closed), frozenset(passed))


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
    begin_anew: set[str] = field(default_factory=set[str])
    """Where branches have gone back that are parted anew: what was in their last lap is past."""

    def __post_init__(self) -> None:
        """Who waited is there already."""
        self.arrived += self.before.waiting
        self.ended += self.before.ended

    def go(self, branch: Branch, targets: Sequence[str]) -> None:
        """Let a branch go where its member's edges lead it: nowhere, on, or apart."""
        if not targets:
            self._forget([branch.at, *branch.heads])
            self.ended.append(branch)
        for target in targets:
            heads = branch.heads if len(targets) == 1 else (target,)
            self._forget(heads if len(targets) > 1 else ())
            self._arrive(replace(branch, at=target, heads=heads), branch.at)

    def _forget(self, heads: Iterable[str]) -> None:
        """A branch that begins again is not the one that has ended."""
        again = set(heads)
        self.ended = [each for each in self.ended if not again & set(each.heads)]

    def _arrive(self, branch: Branch, source: str) -> None:
        if branch.at not in self.ways.forward[source]:
            branch = replace(branch, passed=frozenset())
            if self.ways.begins_again(branch.heads, branch.at):
                self.begin_anew.add(branch.at)
                branch = replace(branch, closed=frozenset())
        if branch.at not in branch.closed:
            self.arrived.append(branch)

    def after(self) -> Branches:
        """Say who speaks now, who waits, and who has ended."""
        there = {name: [b for b in self.arrived if b.at == name] for name in self.ways.names}
        come = {name: met(branches) for name, branches in there.items() if branches}
        if self.begin_anew and len(come) == 1:
            self.ended = []
        ready = [name for name in come if not self.missing_at(name)]
        branches = [*come.values()]
        for name in ready:
            if name in self.ways.joins and name not in self.waits_for_all:
                branches = [self._closed_to(each, name) for each in branches]
        return Branches(
            tuple(self._passing(each) for each in branches if each.at in ready),
            tuple(each for each in branches if each.at not in ready),
            tuple(self.ended),
        )

    def _passing(self, branch: Branch) -> Branch:
        here = self.ways.joins & {branch.at}
        return replace(branch, passed=branch.passed | here) if here else branch

    def missing_at(self, join: str) -> list[Branch]:
        """Give the branches for which a join waits: all that began where they could come to it.

        One that goes another way counts as well: who waits for all does not go on without one.
        """
        if join not in self.ways.joins or join not in self.waits_for_all:
            return []
        elsewhere = [*(each for each in self.arrived if each.at != join), *self.ended]
        return [each for each in elsewhere if self._comes(each.heads, join, each)]

    def _comes(self, sources: Iterable[str], join: str, branch: Branch) -> bool:
        ways, closed = self.ways, branch.closed
        if join in closed or join in branch.passed:
            return False
        return any(ways.comes_to(each, join, closed) for each in sources)

    def _closed_to(self, branch: Branch, join: str) -> Branch:
        """A branch that comes to a join which has gone on with another one ends there."""
        if branch.at == join or branch.at in self.begin_anew:
            return branch
        if not self._comes((branch.at,), join, branch):
            return branch
        return replace(branch, closed=branch.closed | {join})
