"""Mistakes in a definition: all of them at once, each with its value and what is allowed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from flowcompose import (
    DefinitionError,
    Pattern,
    RosterEntry,
    TurnInput,
    capability,
    create_round_robin_contributions,
    generator,
    round_robin,
)
from flowcompose.core.testing import ScriptedModel
from flowcompose.patterns.round_robin import (
    create_referee,
    create_roster_agent,
    create_synthesize,
)


def build(**options: Any) -> Pattern[Any]:
    make: Callable[..., Pattern[Any]] = round_robin  # the options vary
    return make(**{"name": "p", "roster": [{"name": "a"}], **options})


class Review(BaseModel):
    verdict: str


async def asynchronous(value: Any) -> str:
    return ""


def takes_three(one: Any, two: Any, three: Any) -> str:
    return ""


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"name": ""}, "name must be a non-empty string, got ''"),
        ({"name": None}, "name must be a non-empty string, got None"),
        ({"roster": []}, "roster must contain at least 1 entry, got []"),
        ({"roster": "abc"}, "roster must be a list of RosterEntry, got 'abc'"),
        ({"roster": None}, "roster must be a list of RosterEntry, got None"),
        (
            {"roster": [7]},
            "roster entry 1 must be a RosterEntry, a mapping with its keys, or a pattern or",
        ),
        (
            {"roster": [{"role": "x"}]},
            "every roster entry needs a non-empty name, entry 1 has None",
        ),
        (
            {"roster": [{"name": "  "}]},
            "every roster entry needs a non-empty name, entry 1 has '  '",
        ),
        ({"roster": [{"name": 3}]}, "every roster entry needs a non-empty name, entry 1 has 3"),
        (
            {"roster": [{"name": "a", "rol": "x"}]},
            "roster entry 1: unknown key 'rol'; allowed are name, role, block, description",
        ),
        (
            {"roster": [{"name": "a", "role": 1}]},
            "roster entry 1: role must be a string or None, got 1",
        ),
        (
            {"roster": [{"name": "a"}, {"name": "b"}, {"name": "a"}]},
            "duplicate roster name 'a' (entries 1, 3)",
        ),
        (
            {"roster": [{"name": "a", "block": 5}]},
            "roster entry 'a': 5 is no block; a block is a function",
        ),
        (
            {"roster": [{"name": "a", "block": takes_three}]},
            "roster entry 'a': takes_three(one: 'Any', two: 'Any', three: 'Any')",
        ),
        (
            {"roster": [{"name": "a", "block": lambda: ""}]},
            "must take one argument (the value) or two (and ctx)",
        ),
        ({"max_rounds": 0}, "max_rounds must be > 0 and a whole number, got 0"),
        ({"max_rounds": -2}, "max_rounds must be > 0 and a whole number, got -2"),
        ({"max_rounds": True}, "max_rounds must be > 0 and a whole number, got True"),
        ({"max_rounds": 2.5}, "max_rounds must be > 0 and a whole number, got 2.5"),
        ({"max_rounds": "3"}, "max_rounds must be > 0 and a whole number, got '3'"),
        ({"max_rounds": None}, "max_rounds must be > 0 and a whole number, got None"),
        (
            {"synthesizer": False, "output_schema": Review},
            "cannot set output_schema when synthesizer is False, got <class",
        ),
        ({"synthesizer": True}, "synthesizer: True is no block"),
        (
            {"output_schema": dict},
            "output_schema must be a pydantic model class, got <class 'dict'>",
        ),
        (
            {"output_schema": Review(verdict="x")},
            "output_schema must be a pydantic model class, got Review(",
        ),
        ({"referee": False}, "referee: False is no block"),
        ({"referee": "strict"}, "referee: 'strict' is no block"),
        (
            {"terminate_when": True},
            "terminate_when must be a condition or a function (ctx) -> bool, got True",
        ),
        ({"terminate_when": lambda: True}, "which takes other arguments"),
        (
            {"instructions": 7},
            "instructions must be a string, a function (input) or (input, ctx), or a list of these",
        ),
        ({"instructions": asynchronous}, "instructions must be a plain function, got the async"),
        ({"context": [1]}, "context must be a string"),
        (
            {"model": 7},
            "model must be a chat model object, 'provider:name', 'intent/name' or 'offline', got 7",
        ),
        ({"model": " "}, "model must be a chat model object"),
        ({"model": None}, "model must be a chat model object"),
        ({"uses": ["x"]}, "uses must hold capabilities made by capability(...), got 'x'"),
        (
            {"tools": [7]},
            "a tool is a LangChain tool or a function with a docstring, or a block, got 7",
        ),
        ({"tools": [lambda: 1]}, "tools:"),
        ({"tools": None}, "tools must be a list"),
        ({"uses": None}, "uses must be a list"),
        (
            {"contributions": {}},
            "contributions must be made by create_round_robin_contributions(), or None, got {}",
        ),
        ({"accessor_key": ""}, "accessor_key must be a non-empty string, got ''"),
        ({"accessor_key": 3}, "accessor_key must be a non-empty string, got 3"),
        ({"accessor_key": None}, "accessor_key must be a non-empty string, got None"),
        (
            {"accessor_key": "stop"},
            "accessor_key must be none of the pattern's own keys, got 'stop'",
        ),
        (
            {"accessor_key": "__pregel_tasks"},
            "accessor_key must not begin with '__' or hold ':', got",
        ),
        ({"accessor_key": "branch:to:a"}, "accessor_key must not begin with '__' or hold ':', got"),
        ({"synthesizer_visibility": None}, "synthesizer_visibility must be a Visibility(client="),
        ({"collection_id": 3}, "collection_id must be a string or None, got 3"),
        (
            {"synthesizer_visibility": "all"},
            "synthesizer_visibility must be a Visibility(client=..., history=...), got 'all'",
        ),
        ({"on_error": "ignore"}, "on_error must be one of 'raise', 'skip', 'stop', got 'ignore'"),
        ({"on_limit": "stop"}, "on_limit must be one of 'result', 'raise', got 'stop'"),
        ({"ask": "never"}, "ask must be one of 'round', 'turn', got 'never'"),
        ({"ask": None}, "ask must be one of 'round', 'turn', got None"),
        ({"turn_timeout": 0}, "turn_timeout must be seconds > 0 or None, got 0"),
        ({"turn_timeout": True}, "turn_timeout must be seconds > 0 or None, got True"),
        ({"turn_timeout": "5"}, "turn_timeout must be seconds > 0 or None, got '5'"),
        ({"turn_timeout": float("nan")}, "turn_timeout must be seconds > 0 or None, got nan"),
        ({"retry": 3}, "retry must be a Retry(...) or None, got 3"),
        (
            {"checkpointer": "memory"},
            "checkpointer must be a LangGraph checkpointer or None, got 'memory'",
        ),
        ({"store": "memory"}, "store must be a LangGraph store or None, got 'memory'"),
    ],
)
def test_a_mistake_is_told_with_its_value_and_what_is_allowed(
    options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        build(**options)
    assert problem in str(caught.value)
    assert str(caught.value).startswith(f"round_robin {options.get('name', 'p')!r}: ")


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(DefinitionError) as caught:
        build(
            roster=[{"name": "a"}, {"name": "a"}, {"name": ""}, {"name": "b", "block": 1}],
            max_rounds=0,
            on_error="ignore",
            model=7,
            synthesizer=False,
            output_schema=Review,
        )
    assert len(caught.value.problems) == 7
    assert "7 problems\n  - " in str(caught.value)


def test_a_definition_error_is_a_value_error_and_can_be_pickled() -> None:
    with pytest.raises(ValueError, match="roster must contain") as caught:
        build(roster=[])
    again: Any = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.problems) == (str(caught.value), caught.value.problems)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue] - a DefinitionError


def test_a_misspelt_argument_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="max_round"):
        build(max_round=3)


@pytest.mark.parametrize("name", ["x" * 300, "a/b", "näme", "1", "a b"])
def test_unusual_names_are_accepted(name: str) -> None:
    roster = [RosterEntry(name=name, block=lambda turn: "x")]
    assert build(name=name, roster=roster, synthesizer=False, max_rounds=1).run("go").turns == 1


@pytest.mark.parametrize("goal", [7, None, ["x"], {"question": "x"}, {"goal": 7}, {"messages": []}])
def test_a_goal_that_is_none_is_refused_before_anything_runs(goal: Any) -> None:
    spoke: list[str] = []

    def speak(turn: TurnInput) -> str:
        spoke.append(turn.agent_name)
        return "x"

    pattern = build(roster=[RosterEntry(name="a", block=speak)], synthesizer=False)
    with pytest.raises(DefinitionError, match="goal"):
        pattern.run(goal)
    assert spoke == []


def test_an_empty_goal_is_a_goal() -> None:
    roster = [RosterEntry(name="a", block=lambda turn: f"<{turn.goal}>")]
    result = build(roster=roster, synthesizer=False, max_rounds=1).run("")
    assert result.contributions[0].text == "<>"


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: generator("g", **options),
        lambda **options: create_referee(**options),
        lambda **options: create_synthesize(**options),
        lambda **options: create_roster_agent(agent_name="a", **options),
        lambda **options: capability("c", **{k: v for k, v in options.items() if k != "uses"}),
    ],
)
def test_block_factories_list_their_mistakes_too(make: Callable[..., Any]) -> None:
    with pytest.raises(DefinitionError) as caught:
        make(model=7, tools=[3], context=5)
    assert len(caught.value.problems) == 3


def test_the_same_resource_may_serve_two_patterns() -> None:
    shared = create_round_robin_contributions()
    for name in ("x", "y"):
        roster = [RosterEntry(name="a", block=lambda turn: str(len(turn.contributions)))]
        pattern = build(
            name=name, roster=roster, contributions=shared, max_rounds=1, synthesizer=False
        )
        assert pattern.run("go").contributions[0].text == "0"


def test_a_roster_may_be_a_tuple() -> None:
    model = ScriptedModel(by_agent={"a": ["x"], "synthesizer": ["y"]})
    assert build(roster=({"name": "a"},), model=model, max_rounds=1).run("go").output == "y"
