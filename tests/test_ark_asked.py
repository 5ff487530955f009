"""Agents and teams that an agent asks through a Tool: who speaks, and what they hear."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from flowcompose.core import events
from flowcompose.core.pattern import Pattern
from flowcompose.runner.agents.endpoint import Endpoint
from flowcompose.runner.manifest import load_text
from flowcompose.runner.teams import team_pattern
from tests.openai_server import OpenAIServer, Reply, ToolCalls
from tests.test_ark_events import SECRET, VAULT

DOCUMENTS = f"""{VAULT}
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {{name: ann}}
spec:
  prompt: You are ann
  tools:
  - {{type: custom, name: ask-bob}}
  - {{type: custom, name: ask-pair}}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {{name: bob}}
spec: {{prompt: You are bob}}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {{name: cat}}
spec: {{prompt: You are cat}}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Team
metadata: {{name: pair}}
spec:
  strategy: sequential
  members: [{{name: cat, type: agent}}, {{name: bob, type: agent}}]
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Tool
metadata: {{name: ask-bob}}
spec: {{type: agent, agent: {{name: bob}}}}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Tool
metadata: {{name: ask-pair}}
spec: {{type: team, team: {{name: pair}}}}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Team
metadata: {{name: t}}
spec:
  strategy: sequential
  members: [{{name: cat, type: agent}}, {{name: ann, type: agent}}]
"""


def name_of(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"].split()[-1])


def asks_twice(body: dict[str, Any]) -> Reply:
    """Ann asks bob, then the pair; everybody else says a name."""
    if name_of(body) == "ann" and body["messages"][-1]["role"] != "tool":
        asked = {"input": f"Is {SECRET} right?"}
        return ToolCalls([("ask-bob", asked), ("ask-pair", {"input": "And this?"})])
    return f"I am {name_of(body)}"


def follow(pattern: Pattern[Any]) -> list[events.Event]:
    return list(pattern.events("Go."))


def afollow(pattern: Pattern[Any]) -> list[events.Event]:
    async def followed() -> list[events.Event]:
        return [event async for event in pattern.aevents("Go.")]

    return asyncio.run(followed())


@pytest.fixture(params=[follow, afollow])
def heard(request: pytest.FixtureRequest) -> tuple[list[events.Event], list[dict[str, Any]]]:
    following: Callable[[Pattern[Any]], list[events.Event]] = request.param
    with OpenAIServer(asks_twice) as server:
        endpoint = Endpoint(base_url=server.base_url, api_key="key-of-the-test")
        return following(team_pattern(load_text(DOCUMENTS), "t", endpoint)), server.requests


Heard = tuple[list[events.Event], list[dict[str, Any]]]


def test_who_is_asked_speaks_in_a_name_of_its_own_inside_of_who_asks(heard: Heard) -> None:
    tokens = [each for each in heard[0] if isinstance(each, events.Token)]
    speakers = dict.fromkeys((*each.path, each.agent_name) for each in tokens)
    assert list(speakers) == [("cat",), ("ann", "bob"), ("ann", "cat"), ("ann",)]
    turns = [each for each in heard[0] if isinstance(each, events.TurnCompleted)]
    assert [(*each.path, each.agent_name) for each in turns] == [
        *(("cat",), ("ann", "bob"), ("ann", "cat"), ("ann", "bob"), ("ann",)),
    ]


def test_who_is_asked_hears_nothing_but_the_question(heard: Heard) -> None:
    asked = [body["messages"] for body in heard[1]]
    assert [(each["role"], each["content"]) for each in asked[2]] == [
        ("system", "You are bob"),
        ("user", f"Is {SECRET} right?"),
    ]
    assert [(each["role"], each["content"]) for each in asked[3]] == [
        ("system", "You are cat"),
        ("user", "And this?"),
    ]


def test_what_the_asked_cost_is_counted_once(heard: Heard) -> None:
    done = next(each for each in heard[0] if isinstance(each, events.RunCompleted))
    turns = [each for each in heard[0] if isinstance(each, events.TurnCompleted)]
    at_top = [each.usage.total_tokens for each in turns if not each.path]
    inside = [each.usage.total_tokens for each in turns if each.path]
    assert done.result.usage.total_tokens == sum(at_top)
    assert 0 < sum(inside) < at_top[-1]


def test_a_secret_in_a_question_is_in_no_event_and_no_stream(heard: Heard) -> None:
    assert SECRET in str(heard[1])
    assert SECRET not in repr(heard[0])
    with OpenAIServer(asks_twice) as server:
        endpoint = Endpoint(base_url=server.base_url, api_key="key-of-the-test")
        team = team_pattern(load_text(DOCUMENTS), "t", endpoint)
        modes: Any = ["custom", "updates", "values", "tasks"]
        parts = list(team.stream({"goal": "Go."}, stream_mode=modes, subgraphs=True))
    assert SECRET not in repr(parts)
