"""Who follows a team of documents from Python hears no secret, whatever models repeat."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from flowcompose import MaxTurnsReached, MemberError, RosterEntry, sequential
from flowcompose.core import events
from flowcompose.core.pattern import Pattern
from flowcompose.runner.agents.endpoint import Endpoint
from flowcompose.runner.agents.hushing import hushed, hushed_pieces
from flowcompose.runner.keys import known_keys
from flowcompose.runner.manifest import load_text
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams import team_pattern
from flowcompose.runner.teams.messages import cleaned
from tests.openai_server import HttpError, OpenAIServer, Reply, ToolCalls

SECRET = "s3cr3t-of-the-vault"

DOCUMENTS = f"""
apiVersion: v1
kind: Secret
metadata: {{name: vault}}
stringData: {{token: {SECRET}}}
---
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
    assert text_of(heard, "bob") == "It is ***, and so is ***."
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


# --- what callbacks, errors and the conversation hold


class Overheard(BaseCallbackHandler):
    """Keeps all that a tracer is told of answers and errors."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        self.told += [kwargs, repr(error), vars(error), _unfolded(error)]


def _unfolded(error: BaseException | None) -> list[str]:
    """All that an error came of, with the text of the answer."""
    response = getattr(error, "response", None)
    texts = [repr(error), str(getattr(response, "text", "")), str(getattr(response, "headers", ""))]
    return [] if error is None else [*texts, *_unfolded(error.__cause__ or error.__context__)]


@pytest.mark.parametrize("streams", [False, True])
def test_callbacks_are_told_of_errors_without_secrets(streams: bool) -> None:
    reply = HttpError(401, f"Bad key {SECRET}", headers={"x-said": SECRET})
    tracer = Overheard()
    with OpenAIServer(lambda body: reply, streams=streams) as server:
        with pytest.raises(MemberError) as failed:
            made(server).run("Go.", config={"callbacks": [tracer]})
    assert tracer.told
    assert "Bad key ***" in repr(tracer.told)
    assert SECRET not in repr(tracer.told)
    assert SECRET not in "".join(_unfolded(failed.value))
    assert SECRET not in "".join(traceback.format_exception(failed.value))


def test_an_error_holds_no_secret_in_what_it_came_of() -> None:
    def reply(body: dict[str, Any]) -> Reply:
        return ToolCalls([(f"tool-{SECRET}", {})])

    with OpenAIServer(reply) as server, pytest.raises(MemberError) as failed:
        made(server).run("Go.")
    found: BaseException | None = failed.value
    while found is not None:
        assert SECRET not in repr(found)
        found = found.__context__


def test_an_answer_of_another_library_in_an_outer_error_hides_no_failure() -> None:
    """Who asks a team what to make of an error has that error as the context of ours."""

    outer = OSError("Mine.")
    vars(outer)["response"] = SimpleNamespace(status_code=500, headers={}, request=None)
    with OpenAIServer(lambda body: HttpError(400, "Too long.")) as server:
        try:
            raise outer
        except OSError:
            with pytest.raises(MemberError, match=r"Too long\."):
                made(server).run("Go.")


def test_arguments_of_calls_stay_json_without_secrets() -> None:
    """A flag or a port may be a Secret, too."""
    documents = DOCUMENTS.replace("{token: ", '{flag: "true", port: "8080", token: ')
    given = {"input": f"Is {SECRET} right?", "deep": True, "port": 8080}

    def reply(body: dict[str, Any]) -> Reply:
        if body.get("tools") and body["messages"][-1]["role"] != "tool":
            return ToolCalls([("ask-bob", given)])
        return "Yes."

    with OpenAIServer(reply) as server:
        endpoint = Endpoint(base_url=server.base_url, api_key="key-of-the-test")
        team_pattern(load_text(documents), "t", endpoint).run("Go.")
        heard = server.requests[-1]["messages"]
    (call,) = [call for m in heard for call in m.get("tool_calls", ())]
    expected = {"input": "Is *** right?", "deep": True, "port": "***"}
    assert json.loads(call["function"]["arguments"]) == expected


def test_a_key_that_is_named_twice_does_not_hide_a_secret() -> None:
    written = f'{{"a": "{SECRET}", "a": "x"}}'
    call = {"id": "1", "type": "function", "function": {"name": "t", "arguments": written}}
    clean = cleaned({"role": "assistant", "tool_calls": [call]}, Redactor([SECRET]))
    assert SECRET not in str(clean)


def test_values_in_the_query_of_an_endpoint_are_secrets() -> None:
    known = known_keys(base_url="http://h/v1?key=qq-secret-1&b=%20two")
    assert Redactor(known).clean("bad key qq-secret-1") == "bad key ***"


SELECTOR = """
apiVersion: v1
kind: Secret
metadata: {name: names}
stringData: {a: alpha, b: beta-member-1}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {name: alpha}
spec: {prompt: You are alpha.}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {name: beta-member-1}
spec: {prompt: You are beta.}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Team
metadata: {name: t}
spec:
  strategy: selector
  maxTurns: 2
  selector: {model: default}
  members:
  - {name: alpha, type: agent}
  - {name: MEMBER, type: agent}
"""


@pytest.mark.parametrize(("member", "chosen"), [("beta-member-1", "fallback"), ("open", "exact")])
def test_a_member_whose_name_is_a_secret_is_chosen_if_it_is_clear_who_is_meant(
    member: str, chosen: str
) -> None:
    documents = SELECTOR.replace("MEMBER", member).replace("name: beta-member-1", f"name: {member}")

    def reply(body: dict[str, Any]) -> Reply:
        asked = str(body["messages"][0]["content"])
        return "Hello." if asked in ("You are alpha.", "You are beta.") else "alpha"

    with OpenAIServer(reply) as server:
        endpoint = Endpoint(base_url=server.base_url, api_key="key-of-the-test")
        pattern = team_pattern(load_text(documents), "t", endpoint)
        heard: list[events.Event] = []
        with pytest.raises(MaxTurnsReached):
            heard.extend(pattern.events("Go."))
    selected = [e.reason for e in heard if isinstance(e, events.SpeakerSelected)]
    assert chosen in selected
