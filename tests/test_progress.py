"""How far a run is, said while it goes on."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from flowcompose import Contribution
from flowcompose.core import events
from flowcompose.resources.usage import Tokens
from flowcompose.runner.render import PlainRenderer, Renderer
from flowcompose.runner.render import plain as plain_module
from flowcompose.runner.render.live import LiveRenderer
from flowcompose.runner.render.region import Region, marked


def take(renderer: Renderer, turn: int, round: int) -> None:
    where: dict[str, Any] = {"turn": turn, "round": round}
    renderer.feed(events.RoundStarted(**where))
    renderer.feed(events.TurnStarted(agent_name="ann", **where))
    said = Contribution(round=round, turn=turn, agent_name="ann", text="Aye.")
    used = Tokens(input_tokens=1000, output_tokens=234, total_tokens=1234)
    renderer.feed(
        events.TurnCompleted(agent_name="ann", contribution=said, usage=used, seconds=1, **where)
    )


def test_a_renderer_knows_turn_round_cap_tokens_and_time() -> None:
    renderer = PlainRenderer(io.StringIO(), cap=10)
    assert not renderer.progress
    take(renderer, 1, 1)
    take(renderer, 4, 2)
    assert renderer.progress == ("turn 4", "round 2", "cap 10", "2,468 tokens", "0 s")


def test_what_happens_inside_of_a_member_is_no_turn_of_the_run() -> None:
    renderer = PlainRenderer(io.StringIO())
    renderer.feed(events.TurnStarted(agent_name="ann", turn=9, path=("board",)))
    assert renderer.progress == ()


def test_the_line_stands_below_a_text_that_is_being_said_and_beside_who_is_waited_for() -> None:
    written = io.StringIO()
    console, region = Console(file=written, width=80), Region(lambda: "turn 4 · cap 10")
    region.waiting = "ann …"
    console.print(region)
    region.hues["ann"], region.texts["ann"] = "cyan", "Half a sent"
    console.print(region)
    lines = [line.strip() for line in written.getvalue().splitlines() if line.strip()]
    assert lines[0].endswith("ann … · turn 4 · cap 10")
    assert lines[1:] == ["ann", "Half a sent", "turn 4 · cap 10"]


def test_a_live_run_draws_it() -> None:
    written = io.StringIO()
    console = Console(file=written, width=80, force_terminal=True, color_system=None)
    renderer = LiveRenderer(console, cap=7)
    renderer.feed(events.RunStarted(pattern="panel", goal="go"))
    renderer.feed(events.TurnStarted(agent_name="ann", turn=1, round=1))
    with renderer:
        renderer._live.refresh()  # pyright: ignore[reportPrivateUsage] - not to wait for its clock
    assert "ann … · turn 1 · cap 7 · 0 s" in written.getvalue()


def test_lines_say_it_now_and_then_and_only_in_long_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    renderer = PlainRenderer(written, cap=10)
    take(renderer, 1, 1)
    assert "== turn" not in written.getvalue()
    monkeypatch.setattr(plain_module, "_OFTEN", 0.0)
    take(renderer, 2, 1)
    assert written.getvalue().endswith("== turn 2; round 1; cap 10; 2,468 tokens; 0 s\n")


SECRET_TEXTS = {
    "key=*** and again ***, **bold** ***.": ["bold"],
    "******* and ***": [],
    "**key ***** and **a *** b**": ["key ***", "a *** b"],
    "2*3*4 and ** x ** y": [],
    "**2*3*4** and **a ** b**": ["2*3*4", "a ** b"],
}


@pytest.mark.parametrize("text", SECRET_TEXTS)
def test_a_mask_is_no_mark_and_what_stands_between_two_is_not_bold(text: str) -> None:
    drawn = marked(text)
    assert [drawn.plain[each.start : each.end] for each in drawn.spans] == SECRET_TEXTS[text]
    assert drawn.plain.count("***") == text.count("***")


def shown(*happened: events.Event, width: int = 60) -> list[str]:
    """Give what a terminal shows, without what is redrawn."""
    written = io.StringIO()
    renderer = LiveRenderer(Console(file=written, width=width))
    for event in happened:
        renderer.feed(event)
    return [line.rstrip() for line in written.getvalue().splitlines()]


def called(name: str, *path: str) -> events.Event:
    return events.ToolCalled(agent_name=name, path=path, tool="look", args={})


def returned(name: str) -> events.Event:
    return events.ToolReturned(agent_name=name, tool="look", text="a " * 50, status="success")


def spoke(name: str) -> events.Event:
    said = Contribution(round=1, agent_name=name, text="Aye.")
    return events.TurnCompleted(agent_name=name, contribution=said, usage=Tokens(), seconds=1)


def test_the_tools_of_a_speaker_stand_below_its_own_name() -> None:
    first, bob = called("ann"), (called("bob"), returned("bob"), spoke("bob"))
    answer = "  ← look: " + "a " * 24 + "a…"
    told = ["", "ann", "  → look()", "  Aye.", "", "bob", "  → look()", answer, "  Aye."]
    assert shown(first, spoke("ann"), *bob) == told


def test_a_speaker_who_goes_on_after_another_is_named_again() -> None:
    at_once = called("ann"), called("bob"), called("ann"), called("bob", "ann"), spoke("ann")
    names = [line for line in shown(*at_once) if line and not line.startswith(" ")]
    assert names == ["ann", "bob", "ann", "ann > bob", "ann"]


def test_each_turn_has_the_name_of_its_speaker() -> None:
    assert shown(spoke("ann"), spoke("ann")).count("ann") == 2


def test_a_name_that_stands_above_is_not_drawn_again_below() -> None:
    written = io.StringIO()
    console, region = Console(file=written, width=80), Region()
    region.hues, region.texts = {"ann": "cyan", "bob": "red"}, {"ann": "Aye", "bob": "Nay"}
    region.heading = "ann"
    console.print(region)
    lines = [line.strip() for line in written.getvalue().splitlines()]
    assert lines == ["Aye", "", "bob", "Nay"]
