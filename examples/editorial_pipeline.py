"""An editorial pipeline: an outline, a panel that argues about it, an article made of the debate.

What happens:

1. `outline`, a model call, gives a typed `Outline` of the topic.
2. Its points are the goal of `editorial`, a round_robin of two members with two rounds. The
   panel's own deliverable is short: a `Verdict`. It is the flow's value from there on.
3. `consolidate` is given the verdict alone. It reads the debate from the shared resource, in
   which the panel has left its transcript: no step has to carry it along.
4. The output is an `Article`.

Run it with `python examples/editorial_pipeline.py`. It needs no key: the offline model answers.
For a real model: `FLOWCOMPOSE_MODEL=openai:gpt-4o python examples/editorial_pipeline.py`.
"""

from __future__ import annotations

import os

from pydantic import BaseModel

import flowcompose as fc
from flowcompose.core.models import ModelLike

TOPIC = "The Eiffel Tower opened in 1889. It was to stand for 20 years. It still stands."

debate = fc.create_round_robin_contributions()


class Outline(BaseModel):
    """What the panel works on."""

    points: list[str]


class Verdict(BaseModel):
    """What the panel delivers."""

    reason: str


class Article(BaseModel):
    """What the pipeline delivers."""

    title: str
    text: str


def as_goal(outline: Outline) -> str:
    return f"Review this outline: {' '.join(outline.points)}"


def material(verdict: Verdict, ctx: fc.Context) -> str:
    said = [f"{each.agent_name}: {each.text}" for each in ctx.resources[debate].state.entries]
    return "\n".join([f"Write the article. The panel's verdict: {verdict.reason}", *said])


def main(model: ModelLike | None = None) -> fc.Result[Article]:
    model = model or os.environ.get("FLOWCOMPOSE_MODEL", "offline")
    outline = fc.generator("outline", "Outline it.", output_schema=Outline, model=model)
    editorial = fc.round_robin(
        name="editorial",
        roster=[{"name": "writer"}, {"name": "editor"}],
        max_rounds=2,
        contributions=debate,
        output_schema=Verdict,
        model=model,
    )
    write = fc.generator(
        "consolidate", user=material, output_schema=Article, resources=[debate], model=model
    )
    pipeline = fc.Flow("pipeline", output_schema=Article).step(outline)
    return pipeline.step(editorial, input=as_goal).step(write).run(TOPIC)


if __name__ == "__main__":
    article = main().output
    print(article.title, article.text, sep="\n")
