"""What a run comes to before anybody makes a deliverable of it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from flowcompose.resources.contributions import Contribution, ContributionEntry
from flowcompose.resources.critiques import RefereeCritique


class RoundRobinFinalShape(BaseModel):
    """The transcript and the critiques of a finished run.

    It is `result.output` where there is no synthesizer. `.model_dump(by_alias=True)` gives
    the camelCase shape: `rounds`, `contributions` of `round`, `agentName`, `text`, and
    `refereeCritiques` of `round`, `critique`.
    """

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    rounds: int
    """Rounds that were finished."""
    contributions: list[ContributionEntry]
    """What was said, in order."""
    referee_critiques: list[RefereeCritique]
    """One per round if there is a referee, else empty."""


class SynthesisInput(RoundRobinFinalShape):
    """What a synthesizer block receives: the final shape, and the goal it is about."""

    goal: str
    """What the panel worked on."""


def last_words(given: SynthesisInput) -> Any:
    """Give what was said last, as the output of those who make no deliverable of it."""
    last = given.contributions[-1] if given.contributions else None
    if last is None:
        return None
    data = last.data if isinstance(last, Contribution) else None
    return last.text if data is None else data
