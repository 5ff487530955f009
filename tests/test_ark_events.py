"""Who follows a team of documents from Python hears no secret, whatever models repeat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from flowcompose import RosterEntry, sequential
from flowcompose.core import events
from flowcompose.core.pattern import Pattern
from flowcompose.runner.agents.endpoint import Endpoint
from flowcompose.runner.agents.hushing import hushed, hushed_pieces
from flowcompose.runner.manifest import load_text
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams import team_pattern
from tests.openai_server import OpenAIServer, Reply, ToolCalls

SECRET = "s3cr3t-of-the-vault"

VAULT = f"""
apiVersion: v1
kind: Secret
metadata: {{name: vault}}
stringData: {{token: {SECRET}}}
---
"""

DOCUMENTS = f"""{VAULT}
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {{name: ann}}
spec:
  prompt: Ask bob.
  tools:
  - {{type: custom, name: ask-bob}}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Tool
metadata: {{name: ask-bob}}
spec: {{type: agent, agent: {{name: bob}}}}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {{name: bob}}
spec: {{prompt: Answer.}}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Team
metadata: {{name: t}}
spec:
  strategy: sequential
  members:
  - {{name: ann, type: agent}}
  - {{name: bob, type: agent}}
"""


def repeats(body: dict[str, Any]) -> Reply:
    """Ann asks bob with the secret, and both say it."""
    if body.get("tools") and body["messages"][-1]["role"] != "tool":
        name = body["tools"][0]["function"]["name"]
        return ToolCalls([(name, {"input": f"Is {SECRET} right?"})])
    return f"It is {SECRET}, and so is {SECRET}."


def follow(pattern: Pattern[Any]) -> list[events.Event]:
    return list(pattern.events("Go."))


def afollow(pattern: Pattern[Any]) -> list[events.Event]:
    async def followed() -> list[events.Event]:
        return [event async for event in pattern.aevents("Go.")]

    return asyncio.run(followed())


def stream(pattern: Pattern[Any]) -> list[Any]:
    modes: Any = ["messages", "custom", "updates", "values"]
    return list(pattern.stream({"goal": "Go."}, stream_mode=modes, subgraphs=True))


def text_of(heard: list[events.Event], who: str) -> str:
    """What was heard of a member, token by token."""
    tokens = (e for e in heard if isinstance(e, events.Token) and e.agent_name == who)
    return "".join(each.text for each in tokens)


def made(server: OpenAIServer) -> Pattern[Any]:
    endpoint = Endpoint(base_url=server.base_url, api_key="key-of-the-test")
    return team_pattern(load_text(DOCUMENTS), "t", endpoint)


@pytest.mark.parametrize("following", [follow, afollow])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("streams", [False, True])
def test_events_hold_no_secret(
    following: Callable[[Pattern[Any]], list[events.Event]],
    nested: bool,
    streams: bool,
) -> None:
    with OpenAIServer(repeats, streams=streams) as server:
        team = made(server)
        outer = sequential(name="outer", roster=[RosterEntry("t", block=team)])
        heard = following(outer if nested else team)
        sent = str(server.requests)
    assert SECRET in sent  # the tool was called with it
    assert SECRET not in repr(heard)
    assert text_of(heard, "bob") == 2 * "It is ***, and so is ***."  # asked, and as a member
    called = [e for e in heard if isinstance(e, events.ToolCalled)]
    assert [e.args for e in called] == [{"input": "Is *** right?"}]
    returned = [e for e in heard if isinstance(e, events.ToolReturned)]
    assert [e.text for e in returned] == ["It is ***, and so is ***."]


def test_the_streams_of_the_engine_hold_none_in_texts() -> None:
    with OpenAIServer(repeats) as server:
        heard = stream(made(server))
    spoken = [part[0].text for _, mode, part in heard if mode == "messages"]
    assert "***" in "".join(spoken)
    assert SECRET not in "".join(spoken)
    rest = [part for _, mode, part in heard if mode != "messages"]
    assert SECRET not in repr(rest)


@pytest.mark.parametrize("streams", [False, True])
def test_what_only_begins_like_a_secret_is_heard(streams: bool) -> None:
    with OpenAIServer(lambda body: "It begins with s3cr3t-of-", streams=streams) as server:
        heard = follow(made(server))
    assert text_of(heard, "bob") == "It begins with s3cr3t-of-"


def test_answers_in_parts_hold_none_either() -> None:
    parts: list[str | dict[Any, Any]] = [
        {"type": "text", "text": f"It is {SECRET}."},
        {"type": "image", "url": "https://h/x"},
        SECRET,
    ]
    piece = ChatGenerationChunk(message=AIMessageChunk(content=parts))
    whole = ChatResult(generations=[ChatGeneration(message=AIMessage(content=parts))])
    redactor = Redactor([SECRET])
    (heard,) = hushed_pieces(iter([piece]), redactor)
    expected = [{"type": "text", "text": "It is ***."}, parts[1], "***"]
    assert heard.message.content == expected
    assert hushed(whole, redactor).generations[0].message.content == expected


def test_an_answer_that_breaks_off_is_heard_to_its_end() -> None:
    pieces = [ChatGenerationChunk(message=AIMessageChunk(content=each)) for each in ("a ", "s3c")]
    heard = hushed_pieces(iter(pieces), Redactor([SECRET]))
    assert "".join(str(each.message.content) for each in heard) == "a s3c"
