"""Teams in teams: every kind of pattern, and flows, as a member of every other."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from flowcompose import (
    DefinitionError,
    Edge,
    MaxTurnsReached,
    MemberError,
    Pattern,
    Result,
    RosterEntry,
    TurnInput,
    generator,
    graph,
    round_robin,
    selector,
    sequential,
    terminate,
)
from flowcompose.core import events
from flowcompose.core.conditions import max_messages, source_match, text_mention, token_usage
from flowcompose.core.testing import ScriptedModel
from tests.crash_team import KINDS, PATTERNS, built, says

both_paths = pytest.mark.parametrize("use_async", [False, True])
any_outer = pytest.mark.parametrize("outer", PATTERNS)
any_inner = pytest.mark.parametrize("inner", KINDS)
any_pattern_inside = pytest.mark.parametrize("inner", PATTERNS)


def around(outer: str, block: Any, **options: Any) -> Any:
    """A team of `first`, `team`, which is the block, and `last`."""
    members = {"first": says("first"), "team": block, "last": says("last")}
    return built(outer, "outer", members, **options)


def inside(inner: str, **options: Any) -> Any:
    """A team of x and y."""
    return built(inner, "inner", {"x": says("x"), "y": says("y")}, **options)


def openly(block: Any) -> RosterEntry:
    """The team of which all contributions are shown."""
    return RosterEntry("team", block=block, transcript="all")


async def run(
    pattern: Pattern[Any], goal: str = "go", *, use_async: bool, **options: Any
) -> Result[Any]:
    return await pattern.arun(goal, **options) if use_async else pattern.run(goal, **options)


def texts(result: Result[Any]) -> list[str]:
    return [each.text for each in result.contributions]


def speakers(result: Result[Any]) -> list[str]:
    return ["/".join((*each.path, each.agent_name)) for each in result.contributions]


# One contribution


@both_paths
@any_outer
@any_inner
async def test_a_team_gives_its_output_as_one_contribution(
    outer: str, inner: str, use_async: bool
) -> None:
    result = await run(around(outer, inside(inner)), use_async=use_async)
    assert texts(result) == ["first on go", "y on go", "last on go"]
    assert speakers(result) == ["first", "team", "last"]
    assert [(each.turn, each.path) for each in result.contributions] == [(1, ()), (2, ()), (3, ())]
    assert [task.assignee for task in result.tasks] == ["first", "team", "last"]


@both_paths
@any_pattern_inside
async def test_a_team_is_a_step_of_a_flow(inner: str, use_async: bool) -> None:
    flow = built("flow", "outer", {"first": says("first"), "team": inside(inner)})
    assert (await run(flow, use_async=use_async)).output == "y on go"


@any_outer
@any_inner
def test_a_team_may_speak_twice_and_reads_what_it_said_before(outer: str, inner: str) -> None:
    heard: list[list[str]] = []

    def listen(given: Any, ctx: Any) -> str:
        heard.append([message.text for message in ctx.history])
        return "said"

    team = built(inner, "inner", {"x": listen, "y": says("y")})
    given: dict[str, Any] = {"name": "outer", "roster": [RosterEntry("team", block=team)]}
    twice: dict[str, Callable[[], Pattern[Any]]] = {
        "round_robin": lambda: round_robin(**given, max_rounds=2, synthesizer=False),
        "sequential": lambda: sequential(**given, loops=True, max_turns=2),
        "selector": lambda: selector(
            **given, selector=lambda ctx: "team", allow_repeat=True, max_turns=2
        ),
        "graph": lambda: graph(
            **given, edges=[("team", "team", lambda ctx: len(ctx.contributions) < 2)], max_turns=9
        ),
    }
    assert texts(twice[outer]().run("go")) == ["y on go", "y on go"]
    if inner != "flow":
        assert heard[0] == []
        assert "y on go" in "".join(heard[1])


@any_inner
def test_one_object_may_be_two_members(inner: str) -> None:
    team = inside(inner)
    result = built("sequential", "outer", {"one": team, "two": team}).run("go")
    assert speakers(result) == ["one", "two"]
    assert texts(result) == ["y on go", "y on go"]


@pytest.mark.parametrize("outer", KINDS)
def test_three_levels_of_any_kinds(outer: str) -> None:
    for middle, inner in product(PATTERNS, PATTERNS):
        mid = built(middle, "mid", {"deep": inside(inner)})
        whole = built(outer, "outer", {"first": says("first"), "mid": mid})
        seen = list(whole.events("go"))
        turns = [e for e in seen if isinstance(e, events.TurnCompleted)]
        told = ["/".join((*e.path, e.agent_name)) for e in turns if e.path]
        deep = ["mid/deep/x", "mid/deep/y", "mid/deep"]
        assert told == deep, (outer, middle, inner)
        assert isinstance(seen[-1], events.RunCompleted)
        assert seen[-1].result.output == "y on go", (outer, middle, inner)


def test_flows_and_patterns_in_turn() -> None:
    deep = built("flow", "deep", {"team": inside("graph")})
    mid = built("selector", "mid", {"deep": deep, "z": says("z")})
    whole = built("flow", "outer", {"mid": mid})
    assert whole.run("go").output == "z on go"


@both_paths
@any_outer
@any_pattern_inside
async def test_events_tell_inside_which_member_they_happened(
    outer: str, inner: str, use_async: bool
) -> None:
    pattern = around(outer, inside(inner))
    if use_async:
        seen = [event async for event in pattern.aevents("go")]
    else:
        seen = list(pattern.events("go"))
    for kind in (events.TurnStarted, events.TurnCompleted):
        told = [(e.path, e.agent_name) for e in seen if isinstance(e, kind)]
        own = [((), "first"), ((), "team"), ((), "last")]
        assert [each for each in told if not each[0]] == own
        assert [each for each in told if each[0]] == [(("team",), "x"), (("team",), "y")]
    stops = [e.path for e in seen if isinstance(e, events.RunStopped)]
    assert stops == [("team",), ()]
    assert [type(e) for e in seen].count(events.RunCompleted) == 1


@any_outer
def test_steps_of_a_flow_inside_tell_their_path(outer: str) -> None:
    seen = around(outer, inside("flow")).events("go")
    steps = [(e.path, e.step) for e in seen if isinstance(e, events.StepCompleted)]
    assert steps == [(("team",), "x"), (("team",), "y")]


@any_outer
@any_inner
def test_a_team_is_drawn_with_its_members(outer: str, inner: str) -> None:
    drawn = around(outer, inside(inner)).mermaid()
    assert "subgraph team" in drawn
    assert "\\3ax(x)" in drawn
    assert "\\3ay(y)" in drawn


@any_outer
@any_inner
def test_what_a_team_spends_is_told_under_its_name(outer: str, inner: str) -> None:
    def costly(name: str) -> Any:
        spent = UsageMetadata(input_tokens=10, output_tokens=2, total_tokens=12)
        return generator(
            name, "Speak.", model=ScriptedModel([AIMessage(name, usage_metadata=spent)])
        )

    team = built(inner, "inner", {"x": costly("x"), "y": costly("y")})
    usage = around(outer, team).run("go").usage
    assert (usage.by_member["team"].total_tokens, usage.total_tokens) == (24, 24)


# All contributions


@both_paths
@any_outer
@any_pattern_inside
async def test_a_team_may_be_shown_with_all_that_was_said(
    outer: str, inner: str, use_async: bool
) -> None:
    heard: list[list[str]] = []

    def listen(turn: TurnInput) -> str:
        heard.append(["/".join((*each.path, each.agent_name)) for each in turn.contributions])
        return "heard"

    members = {"first": says("first"), "team": openly(inside(inner)), "last": listen}
    result = await run(built(outer, "outer", members), use_async=use_async)
    assert heard == [["first", "team/x", "team/y"]]
    assert speakers(result) == ["first", "team/x", "team/y", "last"]
    assert texts(result) == ["first on go", "x on go", "y on go", "heard"]
    assert [each.turn for each in result.contributions] == [1, 2, 2, 3]
    assert {each.round for each in result.contributions} == {1}
    assert [task.assignee for task in result.tasks] == ["first", "team", "last"]
    assert result.turns == 3


@any_outer
def test_three_levels_that_are_all_shown(outer: str) -> None:
    for middle, inner in product(PATTERNS, PATTERNS):
        mid = built(middle, "mid", {"team": openly(inside(inner)), "z": says("z")})
        entry = RosterEntry("mid", block=mid, transcript="all")
        whole = built(outer, "outer", {"mid": entry, "last": says("last")})
        expected = ["mid/team/x", "mid/team/y", "mid/z", "last"]
        assert speakers(whole.run("go")) == expected, (outer, middle, inner)


def test_what_is_not_shown_inside_is_not_shown_outside() -> None:
    mid = built("sequential", "mid", {"team": inside("graph"), "z": says("z")})
    entry = RosterEntry("mid", block=mid, transcript="all")
    whole = built("sequential", "outer", {"mid": entry, "last": says("last")})
    assert speakers(whole.run("go")) == ["mid/team", "mid/z", "last"]


@any_pattern_inside
def test_what_a_shown_team_spends_is_told_under_its_name(inner: str) -> None:
    spent = UsageMetadata(input_tokens=10, output_tokens=2, total_tokens=12)
    said = AIMessage("x", usage_metadata=spent)
    team = built(inner, "inner", {"x": lambda turn: said, "y": lambda turn: said})
    usage = around("sequential", openly(team)).run("go").usage
    assert usage.by_member["team"].total_tokens == usage.total_tokens == 24
    assert set(usage.by_member) == {"first", "team", "last"}


@pytest.mark.parametrize("transcript", ["output", "all"])
def test_rounds_of_a_loop_count_a_team_as_one_turn(transcript: Any) -> None:
    roster = [
        RosterEntry("a", block=says("a")),
        RosterEntry("team", block=inside("sequential"), transcript=transcript),
    ]
    result = sequential(name="p", roster=roster, loops=True, max_turns=4).run("go")
    inner = ["team"] if transcript == "output" else ["team/x", "team/y"]
    assert speakers(result) == ["a", *inner] * 2
    assert (result.turns, result.rounds) == (4, 2)
    numbers = [(1, 1), *[(1, 2)] * len(inner), (2, 3), *[(2, 4)] * len(inner)]
    assert [(each.round, each.turn) for each in result.contributions] == numbers


@both_paths
async def test_teams_that_speak_at_once_keep_their_words_together(use_async: bool) -> None:
    roster = [
        RosterEntry(name, block=inside(kind), transcript="all")
        for name, kind in (("one", "graph"), ("two", "sequential"))
    ]
    pattern = round_robin(name="p", roster=roster, max_rounds=2, synthesizer=False, speak="at_once")
    result = await run(pattern, use_async=use_async)
    assert speakers(result) == ["one/x", "one/y", "two/x", "two/y"] * 2
    assert [each.turn for each in result.contributions] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert (result.turns, result.rounds) == (4, 2)


def test_a_member_of_a_team_is_no_member_of_the_outer_one_that_has_its_name() -> None:
    roster = [RosterEntry("x", block=says("x")), openly(inside("sequential"))]
    result = selector(
        name="p", roster=roster, selector=lambda ctx: "x", max_turns=3, on_invalid="first"
    ).run("go")
    assert speakers(result) == ["x", "team/x", "team/y", "x"]
    edges = [Edge("x", "team", lambda ctx: len(ctx.contributions) < 2), Edge("team", "x")]
    looped = graph(name="p", roster=roster, edges=edges, max_turns=9).run("go")
    assert speakers(looped) == ["x", "team/x", "team/y", "x"]


@pytest.mark.parametrize(("transcript", "block"), [("all", says("x")), ("some", None)])
def test_only_a_pattern_has_contributions_to_show(transcript: Any, block: Any) -> None:
    entry = RosterEntry("a", block=block or inside("graph"), transcript=transcript)
    with pytest.raises(DefinitionError, match="transcript") as caught:
        sequential(name="p", roster=[entry])
    assert "'a'" in str(caught.value)


# How it ends


@any_outer
@any_pattern_inside
def test_a_stop_inside_ends_only_the_team(outer: str, inner: str) -> None:
    stop = text_mention("x on") if inner != "round_robin" else max_messages(2)
    team = inside(inner, terminate_when=stop)
    result = around(outer, team).run("go")
    assert texts(result)[1] == ("y on go" if inner == "round_robin" else "x on go")
    assert speakers(result) == ["first", "team", "last"]


@any_outer
@pytest.mark.parametrize("inner", ["sequential", "selector", "graph"])
def test_a_cap_inside_ends_only_the_team(outer: str, inner: str) -> None:
    result = around(outer, inside(inner, max_turns=1)).run("go")
    assert texts(result) == ["first on go", "x on go", "last on go"]


@both_paths
@any_outer
@any_pattern_inside
async def test_the_terminate_tool_ends_only_its_own_team(
    outer: str, inner: str, use_async: bool
) -> None:
    call = tool_call(name="terminate", args={"response": "enough"}, id="c1")
    model = ScriptedModel(by_agent={"x": [AIMessage("", tool_calls=[call])]})
    members = {"x": RosterEntry("x"), "y": RosterEntry("y")}
    team = built(inner, "inner", members, model=model, tools=[terminate])
    result = await run(around(outer, team), use_async=use_async)
    assert texts(result) == ["first on go", "enough", "last on go"]
    model.assert_complete()


def causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


@both_paths
@any_outer
@any_pattern_inside
async def test_a_cap_inside_that_raises_is_the_members_error(
    outer: str, inner: str, use_async: bool
) -> None:
    cap = {"max_rounds": 1} if inner == "round_robin" else {"max_turns": 1}
    team = inside(inner, on_limit="raise", **cap)
    with pytest.raises(MemberError, match="member 'team' failed") as caught:
        await run(around(outer, team), use_async=use_async)
    assert any(isinstance(each, MaxTurnsReached) for each in causes(caught.value))
    assert caught.value.result is not None
    assert texts(caught.value.result) == ["first on go"]


@pytest.mark.parametrize("outer", ["round_robin", "sequential", "graph"])
@any_inner
def test_a_failure_inside_is_the_members_and_can_be_skipped(outer: str, inner: str) -> None:
    def down(given: Any) -> str:
        raise LookupError("no connection")

    team = built(inner, "inner", {"x": says("x"), "y": down})
    with pytest.raises(MemberError, match="member 'team' failed") as caught:
        around(outer, team).run("go")
    assert any(isinstance(each, LookupError) for each in causes(caught.value))
    result = around(outer, team, on_error="skip").run("go")
    assert texts(result) == ["first on go", "last on go"]
    assert [t.assignee for t in result.tasks if t.status == "errored"] == ["team"]


# Conditions


@any_outer
@any_pattern_inside
def test_words_said_inside_fire_no_condition_unless_asked_for(outer: str, inner: str) -> None:
    def stopped(condition: Any) -> bool:
        given = {} if outer != "round_robin" else {"ask": "turn"}
        pattern = around(outer, openly(inside(inner)), terminate_when=condition, **given)
        result: Result[Any] = pattern.run("go")
        assert (speakers(result)[-1] == "last") == (result.stop.reason != "terminate_when")
        return result.stop.reason == "terminate_when"

    assert not stopped(text_mention("x on"))
    assert not stopped(max_messages(3))
    assert stopped(text_mention("x on", nested=True))
    assert stopped(text_mention("x on", sources=["x"]))
    assert stopped(max_messages(3, nested=True))
    assert stopped(source_match(["y"]))


@any_pattern_inside
def test_the_output_of_a_team_is_its_own_word(inner: str) -> None:
    result = around("sequential", inside(inner), terminate_when=text_mention("y on")).run("go")
    assert (speakers(result), result.stop.reason) == (["first", "team"], "terminate_when")


@any_outer
@any_inner
def test_tokens_spent_inside_count(outer: str, inner: str) -> None:
    spent = UsageMetadata(input_tokens=10, output_tokens=2, total_tokens=12)
    model = ScriptedModel([AIMessage("x", usage_metadata=spent)])
    team = built(inner, "inner", {"x": generator("x", "Speak.", model=model)})
    given = {} if outer != "round_robin" else {"ask": "turn"}
    result = around(outer, team, terminate_when=token_usage(total=12), **given).run("go")
    assert (speakers(result), result.stop.reason) == (["first", "team"], "terminate_when")


# Going on


@both_paths
@pytest.mark.parametrize("outer", KINDS)
@any_inner
async def test_a_question_inside_is_answered_inside(
    outer: str, inner: str, use_async: bool
) -> None:
    taken: list[str] = []

    def note(name: str) -> Callable[[Any], str]:
        def member(given: Any) -> str:
            taken.append(name)
            return name

        return member

    def ask(given: Any) -> str:
        return f"heard {interrupt('y?')}"

    team = built(inner, "inner", {"x": note("x"), "y": ask})
    members = {"first": note("first"), "team": team}
    pattern = built(outer, "outer", members, checkpointer=InMemorySaver())
    waiting = await run(pattern, use_async=use_async, thread_id="t")
    assert (waiting.stop.reason, waiting.interrupts) == ("interrupted", ["y?"])
    result = await pattern.aresume("t", "yes") if use_async else pattern.resume("t", "yes")
    assert result.output == "heard yes"
    assert taken == ["first", "x"]


@both_paths
@any_outer
@any_inner
async def test_a_failure_inside_is_resumed_inside(outer: str, inner: str, use_async: bool) -> None:
    taken: list[str] = []
    down = [True]

    def speak(name: str) -> Callable[[Any], str]:
        def member(given: Any) -> str:
            if name == "y" and down:
                down.clear()
                raise LookupError("no connection")
            taken.append(name)
            return name

        return member

    team = built(inner, "inner", {name: speak(name) for name in "xyz"})
    pattern = around(outer, team, checkpointer=InMemorySaver())
    with pytest.raises(MemberError, match="no connection"):
        await run(pattern, use_async=use_async, thread_id="t")
    result = await pattern.aresume("t") if use_async else pattern.resume("t")
    assert texts(result) == ["first on go", "z", "last on go"]
    assert taken == ["x", "y", "z"]


SCRIPT = Path(__file__).with_name("crash_team.py")
STEPS = ["first", "x", "y", "last"]
PAIRS = [
    "round_robin/graph",
    "sequential/selector",
    "selector/flow",
    "graph/round_robin",
    "flow/sequential",
]


def start(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(folder / "runs.db"), str(folder / "effects")]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("kill_at", "way"), [("x", ""), ("y", ""), ("y", "a"), ("last", "")])
def test_a_team_of_teams_that_is_killed_goes_on_inside_in_another_process(
    tmp_path: Path, pair: str, kill_at: str, way: str
) -> None:
    killed = start(tmp_path, f"{way}run", pair, kill_at)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    effects = tmp_path / "effects"
    assert effects.read_text().split() == STEPS[: STEPS.index(kill_at)]
    resumed = start(tmp_path, f"{way}resume", pair)
    assert resumed.stderr == ""
    assert effects.read_text().split() == STEPS
    of_flow = pair.startswith("flow")
    assert resumed.stdout.strip() == (
        "said by last" if of_flow else "said by first, said by y, said by last"
    )


# Inside itself


class Team:
    """Makes a team of the others that it is told of, whenever it is asked for a graph."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.others: list[Team] = []

    def as_graph(self) -> Any:
        members: dict[str, Any] = {each.name: each for each in self.others}
        return built(self.kind, self.name, {"m": says("m"), **members})


@any_outer
@any_pattern_inside
def test_a_team_that_contains_itself_is_refused_with_the_circle(outer: str, inner: str) -> None:
    a, b = Team("a", outer), Team("b", inner)
    a.others, b.others = [b], [a]
    with pytest.raises(DefinitionError) as caught:
        a.as_graph()
    told = str(caught.value).replace("'", "")
    assert "a -> b -> a" in told or "b -> a -> b" in told
    a.others = [a]
    with pytest.raises(DefinitionError) as caught:
        sequential(name="top", roster=[RosterEntry("a", block=a)])
    assert "a -> a" in str(caught.value).replace("'", "")


def test_the_same_team_twice_side_by_side_contains_nothing_twice() -> None:
    a, b, c = (Team(name, "sequential") for name in "abc")
    a.others, b.others = [b, c], [c]
    assert texts(a.as_graph().run("go")) == ["m on go"] * 3
