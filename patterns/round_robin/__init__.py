"""Round robin: a fixed roster, a fixed order, an optional referee, a synthesizer."""

from flowcompose.patterns.round_robin._pattern import round_robin
from flowcompose.patterns.round_robin._recording import (
    create_init_contributions,
    create_record_contribution,
)
from flowcompose.patterns.round_robin._referee import create_referee
from flowcompose.patterns.round_robin._schemas import (
    ContributionEntry,
    RefereeCritique,
    RefereeOutput,
    RoundRobinFinalShape,
    RoundRobinInput,
    RoundRobinState,
)
from flowcompose.patterns.turn_loop.default_blocks import create_roster_agent, create_synthesize
from flowcompose.resources.resource import create_round_robin_contributions

__all__ = [
    "ContributionEntry",
    "RefereeCritique",
    "RefereeOutput",
    "RoundRobinFinalShape",
    "RoundRobinInput",
    "RoundRobinState",
    "create_init_contributions",
    "create_record_contribution",
    "create_referee",
    "create_roster_agent",
    "create_round_robin_contributions",
    "create_synthesize",
    "round_robin",
]
