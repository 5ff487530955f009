"""What callbacks, errors and the conversation of a team of documents hold: no secret."""

from __future__ import annotations

import json
import traceback
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from langchain_core.callbacks import BaseCallbackHandler

from flowcompose import MaxTurnsReached, MemberError
from flowcompose.core import events
from flowcompose.runner.agents.endpoint import Endpoint
from flowcompose.runner.agents.scrubbing import scrub, scrubbed
from flowcompose.runner.keys import known_keys
from flowcompose.runner.manifest import load_text
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams import team_pattern
from flowcompose.runner.teams.messages import cleaned
from tests.openai_server import HttpError, OpenAIServer, Reply, ToolCalls
from tests.test_ark_events import DOCUMENTS, SECRET, made


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


def test_the_error_that_a_caller_handles_stays_as_it_is() -> None:
    with OpenAIServer(lambda body: HttpError(400, f"no {SECRET}")) as server:
        handled = ValueError(SECRET)
        try:
            raise handled
        except ValueError:
            with pytest.raises(MemberError, match=r"no \*\*\*"):
                made(server).run("Go.")
    assert handled.args == (SECRET,)


def test_errors_of_the_system_and_groups_of_errors_hold_none() -> None:
    group = ExceptionGroup("both", [OSError(111, SECRET, SECRET), ValueError(SECRET)])
    with pytest.raises(ExceptionGroup) as raised, scrubbed(Redactor([SECRET])):
        raise group
    told = [text for each in raised.value.exceptions for text in (str(each), repr(each))]
    assert SECRET not in "".join(told)


def test_an_error_without_an_answer_holds_nothing_that_was_sent() -> None:
    sent = httpx.Request("POST", f"http://h/{SECRET}", headers={"authorization": SECRET})
    error = httpx.ConnectError("no", request=sent)
    scrub(error, Redactor([SECRET]))
    assert "authorization" not in error.request.headers
    assert SECRET not in str(error.request.url)
