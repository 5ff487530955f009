"""What the type checkers must see. They read this file; nothing runs it."""

from __future__ import annotations

from typing import Any, assert_type

from pydantic import BaseModel

from flowcompose import Flow, Pattern, Result, RosterEntry, RoundRobinFinalShape, round_robin
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


async def flow_cases() -> None:
    plain = Flow("f").step(str.strip).step(lambda text, ctx: text).map(len)
    assert_type(plain, Flow[Any])
    assert_type(plain.run("go"), Result[Any])
    assert_type(plain.compile(), Pattern[Any])

    typed = Flow("f", output_schema=Review).step(round_robin(name="p", roster=ROSTER))
    assert_type(typed, Flow[Review])
    assert_type(typed.run("go").output.verdict, str)
    assert_type((await typed.compile().aresume("t")).output, Review)

    grown = (
        typed.step_if(bool, str.strip)
        .tap(print)
        .tap_if(lambda value, ctx: True, print)
        .parallel({"a": plain, "b": str.strip})
        .parallel([plain, typed.compile()])
        .for_each(typed, max_concurrency=2)
        .branch({"a": (bool, plain), "b": (lambda value: True, str.strip)})
        .loop_back("p", when=bool, max_iterations=3)
        .exit_if(bool)
        .rescue(lambda error, value: value, on=(ValueError, KeyError))
    )
    assert_type(grown, Flow[Review])

    Flow("f").step(42)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - must be refused
    Flow("f").step(str.strip, "name")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue] - must be refused
    Flow("f").exit_if(True)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - must be refused
    Flow("f").rescue(print, on=int)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - must be refused
    Flow("f", output_schema=dict)  # type: ignore[type-var]  # pyright: ignore[reportCallIssue, reportArgumentType] - must be refused
