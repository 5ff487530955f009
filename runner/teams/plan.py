"""What the strategy of a Team document means in its era."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from flowcompose.runner.manifest.kinds.team import DEFAULT_CAP, MemberSpec, TeamSpec
from flowcompose.runner.teams.eras import Rules

Strategy = Literal["sequential", "loops", "selector", "graph"]
Way = tuple[str, str]


@dataclass(frozen=True)
class TeamPlan:
    """A team's strategy as it is carried out."""

    name: str
    spec: TeamSpec
    rules: Rules
    strategy: Strategy
    members: Mapping[str, MemberSpec]
    """By a name that is theirs alone: a member may be listed several times."""
    max_turns: int | None
    """As the document counts them; None for no cap, or for ours."""

    @property
    def cap(self) -> int | None:
        """Turns at most; None where the strategy ends by itself."""
        if self.strategy == "sequential":
            return None
        if self.max_turns is None:
            return DEFAULT_CAP
        in_cycles = self.strategy == "loops" and self.rules.counts_cycles
        return self.max_turns * len(self.members) if in_cycles else self.max_turns

    @property
    def edges(self) -> list[Way]:
        """The ways from member to member, each once."""
        edges = self.spec.graph.edges if self.spec.graph else ()
        ways = dict.fromkeys((each.source, each.target) for each in edges)
        return [way for way in ways if set(way) <= set(self.members)]

    @property
    def constrained(self) -> bool:
        """Whether edges say whom a selector may choose."""
        return self.rules.constrains and bool(self.edges)

    @property
    def openers(self) -> tuple[str, ...]:
        """Who may open a selector team: edges that begin at the selector's agent say it.

        They do so where else the first member would open it.
        """
        agent = self.spec.selector.agent if self.spec.selector else None
        edges = self.spec.graph.edges if self.spec.graph and self.rules.opens_with_first else ()
        opening = (e.target for e in edges if e.source == agent and e.target in self.members)
        return () if agent in self.members else tuple(dict.fromkeys(opening))

    @property
    def fails_at_cap(self) -> bool:
        """Whether reaching the cap is an error; ours never is."""
        return self.rules.cap_is_error and self.max_turns is not None


def plan_of(name: str, spec: TeamSpec, rules: Rules) -> TeamPlan:
    """Say how a team of an era works."""
    strategy, max_turns = _strategy(spec, rules)
    collapses = strategy in ("selector", "graph")
    members = {m.name: m for m in spec.members} if collapses else _numbered(spec.members)
    return TeamPlan(name, spec, rules, strategy, members, max_turns)


def _strategy(spec: TeamSpec, rules: Rules) -> tuple[Strategy, int | None]:
    """Give the strategy, migrated where the era does so."""
    match spec.strategy:
        case "selector":
            return "selector", spec.max_turns
        case "graph" if not rules.migrates:
            return "graph", spec.max_turns
        case "round-robin" if not rules.migrates or spec.max_turns is not None:
            return "loops", spec.max_turns
        case "sequential" if spec.loops and rules.migrates:
            return "loops", spec.max_turns
        case _:
            return "sequential", None


def _numbered(members: Sequence[MemberSpec]) -> dict[str, MemberSpec]:
    taken = {each.name for each in members}
    named: dict[str, MemberSpec] = {}
    for member in members:
        name, number = member.name, 1
        while name in named or (number > 1 and name in taken):
            number += 1
            name = f"{member.name}-{number}"
        named[name] = member
    return named
