"""What the type checkers must see. They read this file; nothing runs it."""

from __future__ import annotations

from typing import Any, assert_type

from pydantic import BaseModel

from flowcompose import Pattern, Result, RosterEntry, RoundRobinFinalShape, round_robin
from flowcompose.core.conditions import max_messages, text_mention


class Review(BaseModel):
    verdict: str


ROSTER = [RosterEntry(name="a")]


def summarize(given: RoundRobinFinalShape) -> Review:
    return Review(verdict=str(given.rounds))


async def cases() -> None:
    text = round_robin(name="p", roster=ROSTER)
    assert_type(text, Pattern[str])
    assert_type(text.run("go"), Result[str])
    assert_type((await text.arun("go")).output, str)

    review = round_robin(name="p", roster=ROSTER, output_schema=Review)
    assert_type(review, Pattern[Review])
    assert_type(review.run("go").output.verdict, str)
    assert_type((await review.aresume("t")).output, Review)

    raw = round_robin(name="p", roster=ROSTER, synthesizer=False)
    assert_type(raw.run("go").output, RoundRobinFinalShape)

    own = round_robin(name="p", roster=ROSTER, synthesizer=summarize)
    assert_type(own, Pattern[Any])

    both = round_robin(name="p", roster=ROSTER, synthesizer=summarize, output_schema=Review)
    assert_type(both, Pattern[Review])

    round_robin(name="p", roster=ROSTER, terminate_when=text_mention("x") | max_messages(3))
    round_robin(name="p", roster=ROSTER, terminate_when=lambda ctx: ctx.state.round > 1)
    round_robin(name="p", roster=[{"name": "a", "role": "x"}, RosterEntry(name="b")])

    round_robin(name="p", roster=ROSTER, on_error="ignore")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType] - must be refused
    round_robin(name="p", roster=ROSTER, max_round=3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue] - must be refused
    round_robin(name="p", roster=ROSTER, synthesizer=False, output_schema=Review)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType] - must be refused
