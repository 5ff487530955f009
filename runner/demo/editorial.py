"""The demo's pattern: a writer, a fact-checker and a copy-editor review a draft.

What is wrong in `draft.md` on purpose, for the fact-checker to find:

- John Roebling died of tetanus, not of cholera.
- There are four main cables, not five.
- The bridge opened in 1883, not in 1886 (which the draft's own 17 May 1884 contradicts).
- The president was Chester A. Arthur; Grover Cleveland came as governor of New York.
- The main span is 1,595.5 feet, not 1,959 (the 486 metres beside it are right).

The first sentence, the long one about caissons and the last one are for the copy-editor.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, Field

from flowcompose.core.models import ModelLike
from flowcompose.core.pattern import Pattern
from flowcompose.patterns.round_robin import create_referee, round_robin
from flowcompose.patterns.turn_loop.roster import RosterEntry

ROSTER = (
    RosterEntry(name="writer", role="writer responsible for the original draft"),
    RosterEntry(name="fact-checker", role="fact-checker verifying every claim"),
    RosterEntry(name="copy-editor", role="copy editor polishing prose and clarity"),
)

INSTRUCTIONS = """\
The goal holds the whole draft. Quote the words you speak of. Check dates, figures and names \
against what you know and against each other, say how sure you are, and invent no sources. \
Keep to 150 words per contribution."""


class Correction(BaseModel):
    """One passage that must not be printed as it stands."""

    claim: str = Field(description="the words of the draft")
    problem: str = Field(description="what is wrong with them")
    correction: str = Field(description="what should stand there instead")


class Review(BaseModel):
    """What the editor receives."""

    verdict: Literal["revise", "publish", "reject"]
    """Whether the draft may be printed."""
    summary: str = Field(description="the state of the draft in two or three sentences")
    """The state of the draft in two or three sentences."""
    corrections: list[Correction]
    """What must change, the errors of fact first."""
    polished_opening: str = Field(description="the first paragraph, rewritten")
    """The first paragraph, rewritten."""


def shipped_draft() -> str:
    """Read the text that comes with the package."""
    return (files("flowcompose.runner.demo") / "draft.md").read_text(encoding="utf-8")


def editorial_review(model: ModelLike, *, rounds: int) -> Pattern[Review]:
    """Make the pattern."""
    return round_robin(
        name="editorial-review",
        roster=ROSTER,
        max_rounds=rounds,
        referee=create_referee(),
        output_schema=Review,
        instructions=INSTRUCTIONS,
        model=model,
    )


def goal_for(text: str) -> str:
    """Say what is to be done with a text."""
    return f"Review this draft before it is published.\n\n{text.strip()}"
