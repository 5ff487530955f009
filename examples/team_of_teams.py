"""A team of teams: three levels, each with a way of its own to decide who speaks.

What happens:

1. `magazine`, a graph, lets the `desk` work until the chief is content: the edge back no longer
   holds, no other leads on, and the run is `completed`.
2. `desk` is a member of it, and a sequential of its own: a writer, `checks`, an editor. Of all
   this the magazine hears one contribution: what the editor said (`transcript="output"`).
3. `checks` is a member of the desk, a round_robin whose members speak at once. The desk hears all
   that they say (`transcript="all"`), each in its own name.
4. The chief sends it back to the desk once, which begins anew and reads what it gave before.
5. Events tell by their path in which team they happened, and each team why it ended.

Run it with `python examples/team_of_teams.py`. What is said is scripted; for real teams, name a
model: `FLOWCOMPOSE_MODEL=openai:gpt-4o python examples/team_of_teams.py`.
"""

from __future__ import annotations

import os

import flowcompose as fc
from flowcompose.core import events
from flowcompose.core.conditions import text_mention
from flowcompose.core.models import ModelLike
from flowcompose.core.testing import ScriptedModel

SCRIPT = {
    "writer": ["Lit in 1858, it is 38 metres high.", "Lit in 1858; ships still need it."],
    "dates": ["1858 is right.", "Still right."],
    "sums": ["38 metres is right.", "No sums in it."],
    "editor": ["A light of 1858, 38 metres high.", "Since 1858 ships have needed this light."],
}


def chief(turn: fc.TurnInput) -> str:
    return "What is it good for?" if turn.turn == 2 else "Print it."


def magazine(model: ModelLike) -> fc.Pattern[str]:
    checks = fc.round_robin(
        name="checks",
        roster=[fc.RosterEntry("dates", "checks dates"), fc.RosterEntry("sums", "checks sums")],
        speak="at_once",
        max_rounds=1,
        synthesizer=False,
        model=model,
    )
    desk = fc.sequential(
        name="desk",
        roster=[
            fc.RosterEntry("writer", "writes the note, and mends it"),
            fc.RosterEntry("checks", block=checks, transcript="all"),
            fc.RosterEntry("editor", "makes the final note of draft and checks"),
        ],
        model=model,
    )
    return fc.graph(
        name="magazine",
        roster=[desk, fc.RosterEntry("chief", block=chief)],
        edges=[("desk", "chief"), ("chief", "desk", ~text_mention("Print it."))],
        max_turns=9,
    )


def main(model: ModelLike | None = None) -> fc.Result[str]:
    chosen = model or os.environ.get("FLOWCOMPOSE_MODEL") or ScriptedModel(by_agent=SCRIPT)
    for event in magazine(chosen).events("A note on the lighthouse: lit in 1858, 38 metres high."):
        where = " > ".join(("magazine", *event.path))
        if isinstance(event, events.TurnCompleted) and not event.contribution.path:
            print(f"{where} > {event.agent_name}: {event.contribution.text}")
        elif isinstance(event, events.RunStopped):
            print(f"{where} ended: {event.stop.reason}")
        elif isinstance(event, events.RunCompleted):
            return event.result
    raise AssertionError("the last event is RunCompleted")


if __name__ == "__main__":
    print("spoke in the magazine:", *[said.agent_name for said in main().contributions])
