"""What the edges of a graph say before any run: who can come where, and what leads back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from flowcompose.patterns.turn_loop.edges import Way


@dataclass(frozen=True)
class Ways:
    """The edges of one graph.

    Args:
        names: The members, in the order of the roster.
        ways: The edges, in the order in which they were written.
        start: Who opens.
    """

    names: tuple[str, ...]
    ways: tuple[Way, ...]
    start: str

    @cached_property
    def of(self) -> dict[str, tuple[Way, ...]]:
        """The edges of each member."""
        return {name: tuple(w for w in self.ways if w.source == name) for name in self.names}

    @cached_property
    def targets(self) -> dict[str, tuple[str, ...]]:
        """To whom the edges of each member lead."""
        return {name: tuple(way.target for way in ways) for name, ways in self.of.items()}

    @cached_property
    def forward(self) -> dict[str, tuple[str, ...]]:
        """The same without the edges that close a cycle: those lead back.

        Of a cycle that is the edge to a member that every way to its source goes through, as a
        loop's beginning is. A cycle may have none, being entered in several places: then it is
        a choice of its member's, else an edge that leads nearer to where the run began, else
        the one that was written last.
        """
        forward: dict[str, tuple[str, ...]] = dict.fromkeys(self.names, ())
        for way in sorted(self.ways, key=self._backwardness):
            around = _walk(forward, [way.target])
            if way.source not in around and way.target not in forward[way.source]:
                forward[way.source] += (way.target,)
        return forward

    def _backwardness(self, way: Way) -> tuple[bool, bool, bool]:
        """How much an edge looks like one that leads back; `sorted` keeps the order besides."""
        chosen = any(each.when is not None for each in self.of[way.source])
        nearer = self._distance(way.target) < self._distance(way.source)
        others = {name: () if name == way.target else to for name, to in self.targets.items()}
        before = () if way.target == self.start else _walk(others, [self.start])
        return way.source not in before, chosen, nearer

    def _distance(self, name: str) -> int:
        return self._distances.get(name, len(self.names))

    @cached_property
    def _distances(self) -> dict[str, int]:
        """How many edges lie between the beginning and each member."""
        found, steps, at = {self.start: 0}, 0, [self.start]
        while at:
            steps += 1
            reached = dict.fromkeys(target for name in at for target in self.targets[name])
            at = [name for name in reached if name not in found]
            found |= dict.fromkeys(at, steps)
        return found

    @cached_property
    def joins(self) -> frozenset[str]:
        """The members to which several edges lead that do not lead back."""
        heads = [target for targets in self.forward.values() for target in targets]
        return frozenset(name for name in self.names if heads.count(name) > 1)

    @cached_property
    def forks(self) -> dict[str, tuple[str, ...]]:
        """The members after which several speak at once, and these."""
        return {name: self.targets[name] for name in self.names if self.fans_out(name)}

    def fans_out(self, name: str) -> bool:
        """Say whether several speak at once after this member."""
        return len(self.of[name]) > 1 and all(way.when is None for way in self.of[name])

    @cached_property
    def reached(self) -> dict[str, frozenset[str]]:
        """Whom a run can come to from each member, over at least one edge."""
        return {name: frozenset(_walk(self.targets, self.targets[name])) for name in self.names}

    @property
    def unreachable(self) -> list[str]:
        """The members that never speak."""
        known = {self.start, *self.reached[self.start]}
        return [name for name in self.names if name not in known]

    @property
    def without_exit(self) -> list[str]:
        """The members from which no run can come to an end, but by a cap."""
        ends = {name for name in self.names if self._may_end(name)}
        return [n for n in self.names if n not in ends and not ends & self.reached[n]]

    @property
    def cycle(self) -> list[str] | None:
        """A way around, from a member to itself, if a run can come into one."""
        known = {self.start, *self.reached[self.start]}
        return next((self._around(n) for n in self.names if n in known & self.reached[n]), None)

    def begins_again(self, heads: Iterable[str], target: str) -> bool:
        """Say whether a branch that goes back to `target` comes to where it was parted again."""
        parted = [name for name, targets in self.forks.items() if set(heads) & set(targets)]
        return any(name == target or self.comes_to(target, name) for name in parted)

    def comes_to(self, source: str, target: str, closed: Iterable[str] = ()) -> bool:
        """Say whether a branch can go forward from one member to another.

        Args:
            source: Where it is.
            target: Where it would come.
            closed: Members at which it ends.
        """
        ways = {name: () if name in set(closed) else to for name, to in self.forward.items()}
        return target in _walk(ways, self.forward[source])

    @cached_property
    def together(self) -> frozenset[str]:
        """Who may have to speak at once with others: all that come after a fan-out."""
        forked = [target for targets in self.forks.values() for target in targets]
        return frozenset(_walk(self.targets, forked))

    def _may_end(self, name: str) -> bool:
        """Whether there is a case in which no edge of the member leads on."""
        return all(way.when is not None for way in self.of[name])

    def _around(self, name: str) -> list[str]:
        """The shortest way from a member to itself."""
        paths, seen = [[name]], set[str]()
        while True:
            path = paths.pop(0)
            for target in self.targets[path[-1]]:
                if target == name:
                    return [*path, target]
                if target not in seen:
                    seen.add(target)
                    paths.append([*path, target])


def _walk(ways: dict[str, tuple[str, ...]], begin: Iterable[str]) -> Iterator[str]:
    """Give all that can be reached, those to begin with included, each once."""
    seen: set[str] = set()
    waiting = [*begin]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            yield name
            waiting += ways[name]
