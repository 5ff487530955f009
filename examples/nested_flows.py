"""A panel in a flow in a flow, streamed from the outside: every token says where it is said.

What happens:

1. `review` is a flow: `pair`, a panel of two members and a synthesizer, then a `map`.
2. `release` is a flow of its own: for each change of a list it runs `review`, two at a time.
   The value is then the list of what the reviews gave, in the order of the changes.
3. `publish`, the outermost flow, splits a text into changes, runs `release`, and lets `editor`,
   a model call, write the notes.
4. `publish.events` gives the tokens of all of it. The `path` of a token names the steps in
   which it is said, outermost first, and the item of the `for_each`:
   `release > changes[0] > pair`. The `editor` is a step of the outermost flow: its path is empty.

Run it with `python examples/nested_flows.py`. It needs no key: the offline model answers.
For a real model, name one: `FLOWCOMPOSE_MODEL=openai:gpt-4o python examples/nested_flows.py`.
"""

from __future__ import annotations

import os

from flowcompose import Flow, Result, generator, round_robin
from flowcompose.core import events
from flowcompose.core.models import ModelLike

CHANGES = """\
Steps of a flow may run for each item of a list.
Version 2 needs Python 3.11."""

Speaker = tuple[tuple[str, ...], str]
"""Where, and who."""


def nested(model: ModelLike) -> Flow[str]:
    pair = round_robin(
        name="pair",
        roster=[
            {"name": "user", "role": "says what the change is good for"},
            {"name": "maintainer", "role": "says what the change may break"},
        ],
        max_rounds=1,
        model=model,
    )
    review = Flow("review").step(pair).map("- {}".format)
    release = Flow("release").for_each(review, name="changes", max_concurrency=2)
    editor = generator("editor", "You write release notes.", model=model)
    return Flow("publish").map(str.splitlines).step(release).map("\n".join).step(editor)


def main(model: ModelLike | None = None) -> tuple[dict[Speaker, str], Result[str]]:
    publish = nested(model or os.environ.get("FLOWCOMPOSE_MODEL", "offline"))
    said: dict[Speaker, str] = {}
    for event in publish.events(CHANGES):
        if isinstance(event, events.Token):
            speaker = event.path, event.agent_name
            said[speaker] = said.get(speaker, "") + event.text
        elif isinstance(event, events.RunCompleted):
            return said, event.result
    raise AssertionError("the last event is RunCompleted")


if __name__ == "__main__":
    heard, result = main()
    for (path, speaker), text in heard.items():
        print(f"[{' > '.join(path)}] {speaker}: {text}")
    print("output:", result.output)
