from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from typer.testing import CliRunner, Result

from flowcompose import (
    Context,
    DefinitionError,
    Edge,
    Flow,
    Pattern,
    RosterEntry,
    TurnInput,
    capability,
    generator,
    graph,
    round_robin,
    selector,
    sequential,
)
from flowcompose.core.conditions import text_mention
from flowcompose.core.flow.program import FlowProgram
from flowcompose.core.retry import Retry
from flowcompose.core.tools import terminate
from flowcompose.patterns.round_robin import create_referee, create_roster_agent
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.program import LoopProgram
from flowcompose.runner.agents.endpoint import Endpoint
from flowcompose.runner.commands.export import HELP, export
from flowcompose.runner.export import Export, export_pattern
from flowcompose.runner.manifest import Manifest, load_text
from flowcompose.runner.teams import team_pattern

KEY = "sk-a-secret-of-mine"
GOAL = "Say what you know of tides."
MODEL = "openai:gpt-4o"


class Mood(StrEnum):
    KIND = "kind to all"


class Verdict(BaseModel):
    """What a judge gives."""

    fine: bool
    reasons: list[str]


def look_up(word: str) -> str:
    """Look a word up."""
    return word


class Unwritable(BaseModel):
    """No JSON Schema can be made of it."""

    call: Callable[[], int]


def by_rule(ctx: Context) -> str:
    return "a"


def unhappy(ctx: Context) -> bool:
    return "rework" in ctx.contributions[-1].text


def count(turn: TurnInput) -> str:
    """Count the words of the goal."""
    return str(len(turn.goal.split()))


@pytest.fixture(autouse=True)
def _no_model_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "FLOWCOMPOSE_", "LANGSMITH_", "LANGCHAIN_")):
            monkeypatch.delenv(name)


def _roster(names: str) -> list[RosterEntry]:
    return [RosterEntry(name, role=f"the {name}") for name in names.split()]


def _loaded(exported: Export) -> Manifest:
    manifest = load_text(exported.yaml)
    assert [str(each) for each in manifest.errors] == []
    assert manifest.era == "v0.1.50"
    return manifest


def _back(exported: Export) -> Pattern[Any]:
    return team_pattern(_loaded(exported), exported.team, Endpoint(model="offline"))


def _plan(pattern: Pattern[Any]) -> Plan:
    program = pattern.program
    assert isinstance(program, LoopProgram)
    return program.plan


def _spec(exported: Export, kind: str, name: str) -> dict[str, Any]:
    found = [d for d in exported.documents if (d.kind, d.name) == (kind, name)]
    assert len(found) == 1
    return dict(found[0].content)


def _said(exported: Export) -> list[str]:
    """All that is lost, without where."""
    return [f"{each.what}; {each.instead}" for each in exported.lost]


def _speakers(pattern: Pattern[Any]) -> list[str]:
    """Who spoke; of a team of documents, its messages say it."""
    said = pattern.run(GOAL).contributions
    inner = [each.data["messages"] if isinstance(each.data, dict) else None for each in said]
    return [
        name
        for each, messages in zip(said, inner, strict=True)
        for name in ([each.agent_name] if messages is None else [m["name"] for m in messages])
    ]


# --- what is expressed


def _sequential() -> Pattern[Any]:
    return sequential(name="team", roster=_roster("a b c"), model="offline")


def _loops() -> Pattern[Any]:
    return sequential(name="team", roster=_roster("a b"), model="offline", loops=True, max_turns=6)


def _round_robin() -> Pattern[Any]:
    return round_robin(
        name="team", roster=_roster("a b"), model="offline", max_rounds=3, synthesizer=False
    )


def _chain() -> Pattern[Any]:
    edges = [("b", "c"), ("c", "a")]
    return graph(name="team", roster=_roster("a b c"), edges=edges, start="b", model="offline")


def _ring() -> Pattern[Any]:
    edges = [("a", "b"), ("b", "a")]
    return graph(
        name="team",
        roster=_roster("a b"),
        edges=edges,
        max_turns=5,
        model="offline",
        tools=[terminate],
    )


def _nested() -> Pattern[Any]:
    inner = sequential(name="inner", roster=_roster("b c"), model="offline")
    entries = [*_roster("a"), RosterEntry("inner", block=inner, transcript="all"), *_roster("d")]
    return sequential(name="team", roster=entries, model="offline")


@pytest.mark.parametrize("make", [_sequential, _loops, _round_robin, _chain, _ring, _nested])
def test_documents_let_the_same_members_speak_in_the_same_order(
    make: Callable[[], Pattern[Any]],
) -> None:
    pattern = make()
    exported = export_pattern(pattern)
    assert set(_said(exported)) == {
        "the model 'offline' is not one of OpenAI's that a Model could name; gpt-4o is named"
    }
    back = _back(exported)
    assert _speakers(back) == _speakers(pattern)
    assert back.run(GOAL).stop.reason.replace("turns", "rounds") == (
        pattern.run(GOAL).stop.reason.replace("turns", "rounds")
    )


def test_the_documents_of_a_small_team() -> None:
    team = sequential(
        name="review",
        roster=[
            RosterEntry("writer", role="writer of the draft"),
            RosterEntry("judge", block=generator("j", "You judge.", output_schema=Verdict)),
        ],
        instructions="Be brief.",
        context="The paper appears daily.",
        tools=[terminate],
        model=MODEL,
    )
    assert export_pattern(team).yaml == snapshot("""\
apiVersion: v1
kind: Secret
metadata:
  name: openai-token
stringData:
  token: REPLACE_ME
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Model
metadata:
  name: default
spec:
  provider: openai
  model:
    value: gpt-4o
  config:
    openai:
      baseUrl:
        value: https://api.openai.com/v1
      apiKey:
        valueFrom:
          secretKeyRef:
            name: openai-token
            key: token
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata:
  name: writer
spec:
  description: writer of the draft
  prompt: |-
    You are writer, writer of the draft.

    Be brief.

    The paper appears daily.
  modelRef:
    name: default
  tools:
    - type: built-in
      name: terminate
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata:
  name: judge
spec:
  prompt: You judge.
  modelRef:
    name: default
  outputSchema:
    description: What a judge gives.
    properties:
      fine:
        type: boolean
      reasons:
        items:
          type: string
        type: array
    required:
      - fine
      - reasons
    type: object
    title: Verdict
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Team
metadata:
  name: review
spec:
  members:
    - name: writer
      type: agent
    - name: judge
      type: agent
  strategy: sequential
""")


def test_what_a_selector_team_says_comes_back() -> None:
    edges = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")]
    team = selector(
        name="team",
        roster=_roster("a b c"),
        edges=edges,
        max_turns=7,
        selector_prompt="One of {{.Participants}}:\n{{.History}}",
        model=MODEL,
        on_no_transition="first",
    )
    exported = export_pattern(team)
    assert _said(exported) == []
    spec = _spec(exported, "Team", "team")
    assert spec["selector"] == {
        "agent": "team-selector",
        "selectorPrompt": "One of {{.Participants}}:\n{{.History}}",
    }
    plan = _plan(_back(exported))
    assert [member.name for member in plan.members] == ["a", "b", "c"]
    assert plan.schedule.max_turns == 7
    assert plan.schedule.successors("b") == ("a", "c", None)


def test_a_selector_prompt_without_the_history_gets_it() -> None:
    team = selector(
        name="t", roster=_roster("a b"), max_turns=2, selector_prompt="Who?", model=MODEL
    )
    prompt = _spec(export_pattern(team), "Team", "t")["selector"]["selectorPrompt"]
    assert prompt == "Who?\n\nThis was said so far:\n\n{{.History}}"


def test_a_selector_that_may_stop_gets_the_tool() -> None:
    team = selector(name="t", roster=_roster("a b"), max_turns=2, can_stop=True, model=MODEL)
    agent = _spec(export_pattern(team), "Agent", "t-selector")
    assert agent["tools"] == [{"type": "built-in", "name": "terminate"}]
    assert "call the tool terminate" in agent["prompt"]


def test_a_generator_may_select() -> None:
    boss = generator("boss", "You know them all.", output_schema=Verdict)
    team = selector(name="t", roster=_roster("a b"), max_turns=2, selector=boss, model=MODEL)
    exported = export_pattern(team)
    agent = _spec(exported, "Agent", "t-selector")
    assert agent["prompt"] == "You know them all."
    assert "outputSchema" not in agent
    assert _said(exported) == ["output_schema; it answers with the name alone"]


def test_a_roster_agent_of_its_own_keeps_role_and_instructions() -> None:
    critic = create_roster_agent(
        agent_name="critic", role="sceptic", instructions="Doubt it.", model="openai:gpt-5"
    )
    team = sequential(
        name="t",
        roster=[*_roster("a"), RosterEntry("critic", block=critic)],
        instructions="Be brief.",
        uses=[capability("style", instructions="Use short words.", context="Readers are busy.")],
        model=MODEL,
    )
    exported = export_pattern(team)
    agent = _spec(exported, "Agent", "critic")
    texts = "You are critic, sceptic.|Be brief.|Use short words.|Readers are busy.|Doubt it."
    assert agent["prompt"].split("\n\n") == texts.split("|")
    assert agent["description"] == "sceptic"
    assert agent["modelRef"] == {"name": "gpt-5"}
    assert _said(exported) == []


def test_a_chat_model_as_a_member_is_an_agent_without_a_prompt() -> None:
    model = ChatOpenAI(model="gpt-4o", api_key=lambda: KEY, temperature=0.2, top_p=0.5)
    exported = export_pattern(sequential(name="t", roster=[RosterEntry("a", block=model)]))
    assert _spec(exported, "Agent", "a") == {"modelRef": {"name": "default"}}
    config = _spec(exported, "Model", "default")["config"]["openai"]
    assert config["properties"] == {
        "temperature": {"value": "0.2"},
        "top_p": {"value": "0.5"},
    }
    _back(exported)


def test_a_pattern_in_two_teams_is_one_team() -> None:
    inner = sequential(name="inner", roster=_roster("x"), model=MODEL)
    sides = [
        sequential(name=side, roster=[RosterEntry("inner", block=inner)]) for side in ("l", "r")
    ]
    exported = export_pattern(sequential(name="t", roster=sides))
    teams = [each.name for each in exported.documents if each.kind == "Team"]
    assert teams == ["inner", "l", "r", "t"]
    _back(exported)


def test_members_of_one_name_in_two_teams_are_told_apart() -> None:
    inner = sequential(name="inner", roster=[RosterEntry("a", role="another a")], model=MODEL)
    exported = export_pattern(sequential(name="a", roster=[*_roster("a"), inner], model=MODEL))
    assert [each.name for each in exported.documents if each.kind == "Agent"] == ["a-2", "a-3"]
    notes = [str(each) for each in exported.findings if "is no name in a cluster" in str(each)]
    assert notes == [
        "note: sequential 'a': member 'a': its name, 'a', is no name in a cluster or is taken; "
        "it is 'a-2'",
        "note: sequential 'inner': member 'a': its name, 'a', is no name in a cluster or is "
        "taken; it is 'a-3'",
    ]
    _back(exported)


# --- what is not


LOST: dict[str, tuple[Callable[[], Pattern[Any]], Sequence[str]]] = {
    "a pass that ends in its middle": (
        lambda: sequential(name="t", roster=_roster("a b"), loops=True, max_turns=5, model=MODEL),
        [
            "max_turns=5 ends in the middle of a pass over 2 members; "
            "maxTurns counts whole passes: 3, which are 6 turns"
        ],
    ),
    "a cap within one pass": (
        lambda: sequential(name="t", roster=_roster("a b"), max_turns=1, model=MODEL),
        ["max_turns=1; all 2 members speak"],
    ),
    "how a run ends": (
        lambda: sequential(
            name="t",
            roster=_roster("a"),
            model=MODEL,
            terminate_when=text_mention("DONE"),
            on_error="skip",
            on_limit="raise",
            turn_timeout=3.0,
            retry=Retry(attempts=1),
        ),
        [
            "terminate_when (text_mention('DONE')); "
            "only maxTurns and the tool terminate end a team early",
            "on_error='skip'; a member that fails ends the run in error",
            "on_limit='raise'; a run that reaches maxTurns ends well",
            "turn_timeout=3.0; only a Query as a whole has a timeout",
            "retry; models are asked again as the runner does it",
        ],
    ),
    "referee and synthesizer": (
        lambda: round_robin(
            name="t",
            roster=_roster("a"),
            referee=create_referee(),
            output_schema=Verdict,
            model=MODEL,
        ),
        [
            "the referee ('referee'); nobody audits a round",
            "the synthesizer ('synthesizer'), which makes the deliverable; "
            "the answer is what was said last",
            "output_schema=Verdict; the answer is what was said last",
        ],
    ),
    "speaking at once": (
        lambda: round_robin(
            name="t", roster=_roster("a b"), speak="at_once", synthesizer=False, model=MODEL
        ),
        ["speak='at_once'; its members speak one after the other"],
    ),
    "a function as a member": (
        lambda: sequential(name="t", roster=[RosterEntry("a", block=count)], model=MODEL),
        ["the function 'count', which is Python; an Agent with a prompt to be written"],
    ),
    "a flow as a member": (
        lambda: sequential(
            name="t", roster=[RosterEntry("a", block=Flow("f").step(str.upper))], model=MODEL
        ),
        ["the flow 'f', which is Python; an Agent with a prompt to be written"],
    ),
    "functions that write prompts": (
        lambda: sequential(
            name="t",
            roster=[RosterEntry("a", block=generator("g", ["Be good.", str])), *_roster("b")],
            instructions=repr,
            model=MODEL,
        ),
        [
            "functions write parts of the prompts ('repr'); left out",
            "functions write parts of its prompt ('str'); left out",
        ],
    ),
    "tools of Python": (
        lambda: sequential(
            name="t", roster=_roster("a b"), tools=[look_up, terminate], model=MODEL
        ),
        ["tools of Python ('look_up'); left out; a Tool document may take the place of each"],
    ),
    "conditions on edges": (
        lambda: graph(
            name="t",
            roster=_roster("a b c"),
            edges=[("a", "b"), Edge("b", "a", unhappy), Edge("b", "c", text_mention("fine"))],
            max_turns=9,
            model=MODEL,
        ),
        [
            "the edge 'b' -> 'a' when unhappy; left out: 'c' always follows",
            "the condition of the edge 'b' -> 'c' when text_mention('fine'); the edge always holds",
        ],
    ),
    "a fan-out and a join": (
        lambda: graph(
            name="t",
            roster=_roster("a b c d"),
            edges=[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")],
            model=MODEL,
        ),
        [
            "the edge 'a' -> 'c'; left out: 'b' always follows",
            "'d' waits for several branches; there is only one branch",
            "no edge leads to 'c' any more; they never speak",
        ],
    ),
    "the only edge, which leads back": (
        lambda: graph(
            name="t", roster=_roster("a"), edges=[Edge("a", "a", unhappy)], max_turns=3, model=MODEL
        ),
        ["the edge 'a' -> 'a' when unhappy; left out: the team ends after 'a'"],
    ),
    "the rules of a selector": (
        lambda: selector(
            name="t",
            roster=_roster("a b"),
            selector=by_rule,
            candidates=lambda ctx: ["a"],
            allow_repeat=True,
            on_invalid="raise",
            max_turns=3,
            model=MODEL,
        ),
        [
            "candidates; all members may be chosen, or those to whom an edge leads",
            "allow_repeat=True; nobody is chosen twice in a row",
            "on_invalid='raise'; the first who may speak is taken",
            "the function 'by_rule', which is Python; an Agent with a prompt to be written",
        ],
    ),
    "the end of the edges": (
        lambda: selector(
            name="t",
            roster=_roster("a b"),
            edges=[Edge("a", "b", unhappy)],
            max_turns=3,
            model=MODEL,
        ),
        [
            "the condition of the edge 'a' -> 'b'; the edge always holds",
            "no edge leads on from 'b', which ends a run; 'a' goes on, until maxTurns",
        ],
    ),
}


@pytest.mark.parametrize("what", LOST)
def test_what_is_lost_is_said_and_the_rest_can_be_run(what: str) -> None:
    make, lost = LOST[what]
    exported = export_pattern(make())
    assert _said(exported) == list(lost)
    _back(exported).run(GOAL)


def test_a_function_leaves_a_place_to_be_filled() -> None:
    team = sequential(name="t", roster=[RosterEntry("a", block=count)], model=MODEL)
    prompt = _spec(export_pattern(team), "Agent", "a")["prompt"]
    assert prompt == (
        "REPLACE_ME: the function 'count' stood here.\n\nCount the words of the goal."
    )


def test_a_schema_that_cannot_be_written_is_said() -> None:
    judge = generator("j", "You judge.", output_schema=Unwritable)
    team = sequential(name="t", roster=[RosterEntry("a", block=judge)], model=MODEL)
    said = ["Unwritable cannot be written as a JSON Schema; it answers in words"]
    assert _said(export_pattern(team)) == said


def test_texts_that_yaml_cannot_hold_as_they_are_do_no_harm() -> None:
    roster = [RosterEntry("a", role=Mood.KIND), RosterEntry("b", role="half \ud83d of it")]
    agents = yaml.safe_load_all(export_pattern(sequential(name="t", roster=roster)).yaml)
    about = [each["spec"]["description"] for each in agents if each["kind"] == "Agent"]
    assert about == ["kind to all", "half ? of it"]


def test_a_flow_is_refused_with_what_could_be_exported() -> None:
    flow = Flow("all").step(_sequential())
    for given_flow in (flow, flow.compile()):
        with pytest.raises(DefinitionError, match="could be exported, each by itself: 'team'"):
            export_pattern(given_flow)
    assert isinstance(flow.compile().program, FlowProgram)
    with pytest.raises(DefinitionError, match="no pattern in it that could be exported"):
        export_pattern(Flow("none").step(str.upper))


@pytest.mark.parametrize("model", ["offline", "anthropic:claude-4"])
def test_a_model_of_another_provider_is_said(model: str) -> None:
    exported = export_pattern(sequential(name="t", roster=_roster("a b"), model=model))
    what = f"the model {model!r} is not one of OpenAI's that a Model could name"
    assert _said(exported) == [f"{what}; gpt-4o is named"]


def test_an_intent_is_the_model_that_it_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    team = sequential(name="t", roster=_roster("a"))
    notes = [str(each) for each in export_pattern(team).findings]
    assert "no model is configured for 'intent/chat'; gpt-4o is named" in notes[0]
    monkeypatch.setenv("FLOWCOMPOSE_MODEL", "openai:gpt-5")
    exported = export_pattern(team)
    assert _spec(exported, "Model", "default")["model"] == {"value": "gpt-5"}


def test_no_key_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = ChatOpenAI(
        model="gpt-4o",
        base_url=f"https://me:{KEY}@models.example/v1?key={KEY}",
        default_headers={"x-api-key": KEY},
    )
    exported = export_pattern(sequential(name="t", roster=_roster("a"), model=model))
    assert KEY not in exported.yaml + "".join(map(str, exported.findings))
    assert _said(exported) == [
        "a Model has no field for 'default_headers' of ChatOpenAI; left out",
        "the address of its model holds what may be a secret; left out",
    ]
    config = _spec(exported, "Model", "default")["config"]["openai"]
    assert config["baseUrl"] == {"value": "https://models.example/v1"}
    assert _spec(exported, "Secret", "models-example-token") == {"token": "REPLACE_ME"}


# --- any pattern

_NAMES = st.lists(
    st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True), min_size=1, max_size=4, unique=True
)
_ANY_TEXT = st.text(max_size=60)


@st.composite
def _expressed(draw: st.DrawFn, depth: int = 2, name: str = "team-0") -> Pattern[Any]:
    """A pattern of which nothing is lost; names of inner teams tell their place."""
    names = [f"{each}-{name}" for each in draw(_NAMES)]
    entries = [RosterEntry(each, draw(st.sampled_from(["", "the boss"])) or None) for each in names]
    if depth and draw(st.booleans()):
        inner = draw(_expressed(depth - 1, f"{name}-{depth}"))
        entries.append(RosterEntry(inner.name, block=inner, transcript="all"))
    shared: dict[str, Any] = {"name": name, "roster": entries, "model": MODEL}
    passes = draw(st.integers(1, 3))
    match draw(st.sampled_from(["sequential", "loops", "round_robin", "graph", "selector"])):
        case "sequential":
            return sequential(**shared)
        case "loops":
            return sequential(**shared, loops=True, max_turns=passes * len(entries))
        case "round_robin":
            return round_robin(**shared, max_rounds=passes, synthesizer=False)
        case "graph" if len(entries) > 1:
            known = [each.name for each in entries]
            ring = draw(st.booleans())
            edges = list(zip(known, [*known[1:], known[0]] if ring else known[1:], strict=False))
            return graph(**shared, edges=edges, max_turns=4 if ring else None, tools=[terminate])
        case _:
            return selector(**shared, max_turns=passes, allow_repeat=len(entries) == 1)


def _shape(pattern: Pattern[Any]) -> list[tuple[str, object, object]]:
    """Who is in a pattern, how long it goes on, and who may follow whom."""
    schedule = _plan(pattern).schedule
    names = [member.name for member in _plan(pattern).members]
    in_order = schedule.turns_per_round is not None
    after = None if in_order else {n: set(schedule.successors(n)) - {n, None} for n in names}
    return [(pattern.name, names, schedule.max_turns), ("after", after, None)]


@settings(max_examples=60, deadline=None)
@given(_expressed())
def test_what_is_expressed_comes_back(pattern: Pattern[Any]) -> None:
    exported = export_pattern(pattern)
    assert _said(exported) == []
    assert _shape(_back(exported)) == _shape(pattern)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(_ANY_TEXT.filter(str.strip), min_size=1, max_size=4, unique=True),
    _ANY_TEXT.filter(str.strip),
    _ANY_TEXT,
)
def test_any_names_and_texts_can_be_read_back(names: list[str], name: str, text: str) -> None:
    roster = [RosterEntry(each, role=text, description=text) for each in names]
    exported = export_pattern(sequential(name=name, roster=roster, instructions=text, model=MODEL))
    documents = [*yaml.safe_load_all(exported.yaml)]
    assert documents == [each.document for each in exported.documents]
    assert len(_plan(_back(exported)).members) == len(names)


# --- the command

MODULE = """
from flowcompose import Flow, RosterEntry, round_robin, sequential

panel = sequential(name="panel", roster=[RosterEntry("a"), RosterEntry("b")], model="openai:gpt-4o")
review = round_robin(name="review", roster=[RosterEntry("ä")], max_rounds=1, model="openai:gpt-4o")
flow = Flow("flow").step(panel)
"""


def _run(folder: Path, *arguments: str) -> Result:
    (folder / "mine.py").write_text(MODULE, encoding="utf-8")
    app = typer.Typer()
    app.command(help=HELP)(export)
    return CliRunner().invoke(app, [f"{folder}/mine.py:{arguments[0]}", *arguments[1:]])


def test_the_command_writes_documents_that_can_be_read(tmp_path: Path) -> None:
    ran = _run(tmp_path, "panel")
    assert ran.exit_code == 0
    assert [str(each) for each in load_text(ran.stdout).errors] == []
    assert ran.stderr == (
        "flowcompose: note: Secret 'openai-token': no key is written; put it in for REPLACE_ME\n"
    )


def test_what_is_lost_goes_to_standard_error(tmp_path: Path) -> None:
    ran = _run(tmp_path, "review")
    assert ran.exit_code == 0
    assert "flowcompose: lost: round_robin 'review': the synthesizer" in ran.stderr
    assert "lost" not in ran.stdout


def test_strict_writes_nothing_where_anything_is_lost(tmp_path: Path) -> None:
    ran = _run(tmp_path, "review", "--strict")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.endswith("flowcompose: --strict: 1 lost, nothing is written\n")
    assert _run(tmp_path, "panel", "--strict").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["flow"], "'panel'"),
        (["nobody"], "there is no 'nobody' in it"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    tmp_path: Path, arguments: list[str], problem: str
) -> None:
    ran = _run(tmp_path, *arguments)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert problem in ran.stderr


def test_a_document_is_no_object_of_python() -> None:
    app = typer.Typer()
    app.command()(export)
    ran = CliRunner().invoke(app, ["team.yaml"])
    assert ran.exit_code == 2
    assert "give one as module:object or file.py:object" in ran.stderr


def test_files_are_not_overwritten_unless_that_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    ran = _run(tmp_path, "panel", "--output", str(folder))
    names = ["agent-a.yaml", "agent-b.yaml", "model-default.yaml", "secret-openai-token.yaml"]
    assert sorted(each.name for each in folder.iterdir()) == [*names, "team-panel.yaml"]
    assert sorted(ran.stdout.split()) == sorted(str(each) for each in folder.iterdir())
    (folder / "team-panel.yaml").write_text("mine")
    again = _run(tmp_path, "panel", "--output", str(folder))
    assert again.exit_code == 2
    assert "already there" in again.stderr
    assert (folder / "team-panel.yaml").read_text() == "mine"
    assert _run(tmp_path, "panel", "--output", str(folder), "--force").exit_code == 0
    assert (folder / "team-panel.yaml").read_text() != "mine"


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    ran = _run(tmp_path, "panel", "--output", str(tmp_path / "taken"))
    assert ran.exit_code == 2
    assert "cannot write to" in ran.stderr
