"""Along the edges: on, back, apart, and together again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flowcompose.core.asking import Asking
from flowcompose.core.context import Context
from flowcompose.core.results import Stop
from flowcompose.patterns.graph._branches import Branch, Branches, Meeting
from flowcompose.patterns.graph._ways import Ways
from flowcompose.patterns.turn_loop.caps import cap_reached
from flowcompose.patterns.turn_loop.edges import async_ways
from flowcompose.patterns.turn_loop.schedule import Decision, Schedule, Speak


@dataclass(frozen=True)
class GraphSchedule(Schedule):
    """Follows the edges. Where a fan-out may be, the branches of a run stand in its state."""

    pattern: str
    ways: Ways
    waits_for_all: frozenset[str]
    cap: int | None

    def first(self, ctx: Context) -> Decision:
        """The member at which the graph begins."""
        start = self.ways.start
        return self._speak(Branches((Branch(start, (start,)),)))

    def after(self, spoke: tuple[str, ...], ctx: Context, memo: Any) -> Asking[Decision]:
        """Those to whom the edges lead."""
        meeting = Meeting(self.ways, self.waits_for_all, self._branches(spoke, memo))
        going: list[tuple[Branch, tuple[str, ...]]] = []
        for branch in meeting.before.speaking:
            targets = yield from self._targets(branch.at, ctx)
            going.append((branch, targets))
        for branch, targets in sorted(going, key=lambda each: bool(each[1])):
            meeting.go(branch, targets)  # what ends first: another may begin it again
        branches = meeting.after()
        if not branches.speaking:
            return self._stalled(meeting) if branches.waiting else Stop(reason="completed")
        wanted = len(branches.speaking)
        return cap_reached(ctx.state.turn, wanted, self.cap) or self._speak(branches)

    def _branches(self, spoke: tuple[str, ...], memo: Any) -> Branches:
        """Without a fan-out there is one branch, of which nothing need be kept."""
        if memo:
            return Branches.read(memo)
        return Branches(tuple(Branch(name, (name,)) for name in spoke))

    def _speak(self, branches: Branches) -> Speak:
        names = tuple(branch.at for branch in branches.speaking)
        return Speak(names, memo=branches.write() if self.keeps_selection else None)

    def _targets(self, name: str, ctx: Context) -> Asking[tuple[str, ...]]:
        """Say where the edges of a member lead: the first that holds, or all."""
        if self.ways.fans_out(name):
            return self.ways.targets[name]
        for way in self.ways.of[name]:
            if (yield from way.holds(self.pattern, ctx)):
                return (way.target,)
        return ()

    def _stalled(self, meeting: Meeting) -> Stop:
        """Nobody can go on: say who waits, and for whom."""
        joins = list(dict.fromkeys(branch.at for branch in meeting.arrived))
        waits = "; ".join(
            f"{join!r} waits for {', '.join(_where(b, meeting) for b in meeting.missing_at(join))}"
            for join in joins
        )
        return Stop(reason="stalled", by=joins[0], detail=waits)

    @property
    def keeps_selection(self) -> bool:
        """Only where there may be several branches."""
        return bool(self.ways.forks)

    @property
    def turns_per_round(self) -> None:
        """There are no rounds."""
        return

    @property
    def max_turns(self) -> int:
        """The cap; without one there is no cycle, and nobody speaks twice."""
        return len(self.ways.names) if self.cap is None else self.cap

    @property
    def together(self) -> frozenset[str]:
        """All that come after a fan-out."""
        return self.ways.together

    @property
    def async_parts(self) -> tuple[str, ...]:
        """The edges that only work with `arun`."""
        return async_ways(self.ways.ways)

    def successors(self, speaker: str | None) -> tuple[str | None, ...]:
        """Where the edges lead; the end, where they may lead nowhere or the cap may fall."""
        if speaker is None:
            return (self.ways.start,)
        targets = self.ways.targets[speaker]
        leaves = all(way.when is not None for way in self.ways.of[speaker])
        return (*targets, None) if leaves or self.cap is not None else targets


def _where(branch: Branch, meeting: Meeting) -> str:
    """Say what became of a branch that does not come."""
    became = "has ended" if branch in meeting.ended else "waits"
    place = "" if branch.heads == (branch.at,) else f" at {branch.at!r}"
    return f"the branch of {' and '.join(map(repr, branch.heads))}, which {became}{place}"
