"""Which model answers for an agent, and which key goes where."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import tool
from openai import AuthenticationError
from pydantic import BaseModel

from flowcompose.core.errors import DefinitionError
from flowcompose.core.offline import OfflineModel
from flowcompose.core.structured import asking_for, read_answer
from flowcompose.runner.agents.endpoint import Endpoint, model_for
from flowcompose.runner.agents.output_schema import bind
from flowcompose.runner.manifest import Manifest, load_text
from tests.loopback import Answer, Loopback, Request
from tests.openai_server import OpenAIServer
from tests.openai_wire import ToolCalls, completion

AGENT = """
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {name: writer}
spec: {prompt: You write.%s}
"""

MODEL = """
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Model
metadata: {name: default}
spec:
  type: %(provider)s
  model: {value: their-model}
  config:
    %(provider)s:
      baseUrl: {value: "%(url)s"}
      apiKey: {valueFrom: {secretKeyRef: {name: keys, key: token}}}
%(more)s
"""

SECRET = """
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {token: "document-key\\n"}
"""

NOTHING = Endpoint()


def documents(
    url: str, provider: str = "openai", more: str = "", secret: str = SECRET, agent: str = ""
) -> Manifest:
    model = MODEL % {"provider": provider, "url": url, "more": more}
    return load_text(AGENT % agent + model + secret)


def model_of(
    manifest: Manifest, endpoint: Endpoint = NOTHING, ref: str | None = None
) -> BaseChatModel:
    return model_for(manifest, manifest.find("Agent", "writer"), endpoint, ref)


def complete(request: Request, said: Any = "Hello.") -> Answer:
    """Answer as a whole, whether or not a stream is asked for."""
    data = json.dumps(completion(said, request.json())).encode()
    return Answer(200, data, {"content-type": "application/json"})


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(complete) as running:
        yield running


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "environment-key")
    monkeypatch.setenv("OPENAI_ORG_ID", "environment-org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "environment-project")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Mine: environment-header")
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "environment-token")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "environment-azure")


# --- where it goes, and with which key


def test_a_document_names_its_server(server: Loopback) -> None:
    assert model_of(documents(f"{server.url}/v1")).invoke("Hi").text == "Hello."
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == "Bearer document-key"
    assert request.json()["model"] == "their-model"


@pytest.mark.parametrize("provider", ["openai", "azure"])
def test_nothing_of_the_environment_goes_to_a_documents_server(
    server: Loopback, provider: str
) -> None:
    model_of(documents(server.url, provider)).invoke("Hi")
    (request,) = server.requests
    assert "environment" not in repr(request)


@pytest.mark.parametrize("provider", ["openai", "azure"])
async def test_nor_does_it_on_the_async_path(server: Loopback, provider: str) -> None:
    await model_of(documents(server.url, provider)).ainvoke("Hi")
    (request,) = server.requests
    assert "environment" not in repr(request)


def test_azure_is_asked_as_azure_wants_it(server: Loopback) -> None:
    more = "      apiVersion: {value: 2024-10-21}"
    model_of(documents(f"{server.url}/", "azure", more)).invoke("Hi")
    (request,) = server.requests
    path = "/openai/deployments/their-model/chat/completions?api-version=2024-10-21"
    assert request.path == path
    assert request.headers["api-key"] == "document-key"
    assert "authorization" not in request.headers


def test_azure_without_a_version_gets_one(server: Loopback) -> None:
    model_of(documents(server.url, "azure")).invoke("Hi")
    assert server.requests[0].path.endswith("?api-version=2024-12-01-preview")


@pytest.mark.parametrize("provider", ["openai", "azure", "bedrock", "anthropic"])
def test_a_server_of_the_command_line_answers_for_every_provider(
    server: Loopback, provider: str
) -> None:
    manifest = documents("https://elsewhere.invalid", provider)
    model_of(manifest, Endpoint(base_url=f"{server.url}/v1")).invoke("Hi")
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer environment-key"
    assert request.json()["model"] == "their-model"


def test_a_documents_key_and_headers_stay_away_from_other_servers(server: Loopback) -> None:
    more = "      headers: [{name: X-Token, value: {value: document-header}}]"
    manifest = documents("https://elsewhere.invalid", more=more)
    model_of(manifest, Endpoint(base_url=server.url)).invoke("Hi")
    assert "document-" not in repr(server.requests[0])


def test_the_command_line_says_model_and_key(server: Loopback) -> None:
    endpoint = Endpoint(base_url=server.url, model="mine", api_key="my-key")
    model_of(documents("https://elsewhere.invalid"), endpoint).invoke("Hi")
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer my-key"
    assert request.json()["model"] == "mine"


def test_without_any_key_a_server_of_the_command_line_gets_a_word(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    model_of(load_text(AGENT % ""), Endpoint(base_url=server.url)).invoke("Hi")
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer unused"
    assert request.json()["model"] == "gpt-4o"


def test_model_and_key_override_those_of_a_document(server: Loopback) -> None:
    model_of(documents(server.url), Endpoint(model="mine", api_key="my-key")).invoke("Hi")
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer my-key"
    assert request.json()["model"] == "mine"


def test_without_a_document_the_own_endpoint_is_asked(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    model_of(load_text(AGENT % ""), Endpoint(model="mine")).invoke("Hi")
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer environment-key"
    assert request.json()["model"] == "mine"


def test_placeholders_fall_back_to_the_own_endpoint(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    model_of(documents("($azure.url)", "azure"), Endpoint(api_key="my-key")).invoke("Hi")
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer my-key"
    assert request.json()["model"] == "their-model"


def test_a_model_of_another_provider_is_not_asked_of_openai(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    model_of(documents(server.url, "anthropic"), Endpoint(api_key="my-key")).invoke("Hi")
    assert server.requests[0].json()["model"] == "gpt-4o"


def test_offline_needs_no_server() -> None:
    assert isinstance(model_of(load_text(AGENT % ""), Endpoint(model="offline")), OfflineModel)


def test_a_model_that_is_named_is_taken(server: Loopback) -> None:
    manifest = load_text(
        AGENT % ""
        + (MODEL % {"provider": "openai", "url": server.url, "more": ""}).replace(
            "name: default", "name: other"
        )
        + SECRET
    )
    model_of(manifest, ref="other").invoke("Hi")
    assert model_for(manifest, None, Endpoint(), "other") is model_of(manifest, ref="other")
    with pytest.raises(DefinitionError, match="no Model 'default' is among the documents"):
        model_of(manifest)


def test_a_model_in_the_agent_itself_is_a_name(server: Loopback) -> None:
    agent = AGENT.replace("%s", "\n  model: {name: gpt-4, type: openai}").replace(
        "spec: {prompt: You write.", "spec:\n  prompt: You write."
    )
    manifest = load_text(agent.replace("openai}}", "openai}"))
    assert manifest.errors == ()
    model_of(manifest, Endpoint(base_url=server.url)).invoke("Hi")
    assert server.requests[0].json()["model"] == "gpt-4"


# --- what is missing


def test_a_missing_model_says_what_to_give() -> None:
    with pytest.raises(DefinitionError) as raised:
        model_of(load_text(AGENT % ""))
    told = str(raised.value)
    assert "agent 'writer'" in told
    assert "no Model 'default' is among the documents (there is: none)" in told
    assert all(option in told for option in ("--base-url", "--model", "--api-key"))


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        (documents("($azure.url)"), "Model 'default': baseUrl: it has no value here"),
        (documents("file:///etc/passwd"), "baseUrl: it must begin with http:// or https://"),
        (documents("https://u:hunter22@h/v1"), "baseUrl: it must hold no user or password"),
        (documents("https://h", secret=""), "Model 'default': apiKey: it has no value here"),
        (documents("https://h", "bedrock"), "is of provider 'bedrock', which is not asked here"),
        (
            documents("https://h", more="      headers: [{name: X-A, value: {value: '<your>'}}]"),
            "Model 'default': header 'X-A': it has no value here",
        ),
        (
            documents(
                "https://h", more='      headers: [{name: X-A, value: {value: "s3cr\\net"}}]'
            ),
            "the value of the header 'X-A' holds line breaks",
        ),
    ],
)
def test_what_cannot_be_used_is_named_without_secrets(manifest: Manifest, told: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        model_of(manifest)
    assert told in str(raised.value)
    assert "hunter22" not in str(raised.value)
    assert "s3cr" not in str(raised.value)


def test_the_own_endpoint_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(DefinitionError, match="OPENAI_API_KEY is not set: give --api-key"):
        model_of(load_text(AGENT % ""), Endpoint(model="mine"))


def test_a_server_of_the_command_line_must_be_http() -> None:
    with pytest.raises(DefinitionError, match="--base-url: it must begin with http:// or https://"):
        model_of(load_text(AGENT % ""), Endpoint(base_url="ftp://h/"))


def test_a_key_with_a_line_break_is_refused_unquoted() -> None:
    with pytest.raises(DefinitionError, match="the key holds line breaks") as raised:
        model_of(load_text(AGENT % ""), Endpoint(base_url="http://h/", api_key="a\nhunter22"))
    assert "hunter22" not in str(raised.value)


# --- what is sent


def test_properties_are_sent_as_numbers_and_as_they_are_named(server: Loopback) -> None:
    more = """
      properties:
        temperature: {value: "0.2"}
        max_tokens: {value: "100"}
        seed: {value: "7"}
        top_k: {value: "40"}
        stream: {value: "true"}
        note: {value: words}
    """
    model_of(documents(server.url, more=more)).invoke("Hi")
    body = server.requests[0].json()
    sent = {key: body.get(key) for key in ("temperature", "max_tokens", "seed", "top_k", "note")}
    assert sent == {
        "temperature": 0.2,
        "max_tokens": 100,
        "seed": 7,
        "top_k": 40,
        "note": "words",
    }
    assert not body.get("stream")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("note", "[" * 100_000),
        ("note", "NaN"),
        ("note", "[1e999]"),
        ("reasoning_effort", "5"),
    ],
)
def test_a_property_that_only_looks_like_json_is_text(
    server: Loopback, name: str, text: str
) -> None:
    more = f"      properties: {{{name}: {{value: '{text}'}}}}"
    model_of(documents(server.url, more=more)).invoke("Hi")
    assert server.requests[0].json()[name] == text


def test_headers_go_to_the_documents_server(server: Loopback) -> None:
    more = (
        "      headers: [{name: X-Token, value: {value: s3cret}}, {name: Host, value: {value: h}}]"
    )
    model = model_of(documents(server.url, more=more))
    model.invoke("Hi")
    assert server.requests[0].headers["x-token"] == "s3cret"
    assert server.requests[0].headers["host"] == server.host
    assert "s3cret" not in repr(model)


def test_no_redirect_is_followed(server: Loopback) -> None:
    away = Answer(307, headers={"location": f"{server.url}/v1/chat/completions"})
    with Loopback(lambda _: away) as first, pytest.raises(Exception, match="307"):
        model_of(documents(first.url)).invoke("Hi")
    assert server.requests == []


def test_an_output_schema_is_sent_beside_tools(server: Loopback) -> None:
    @tool
    def look(query: str) -> str:
        """Look something up."""
        return query

    more = "      properties: {top_k: {value: '40'}}"
    model = model_of(documents(server.url, more=more))
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    bound = bind(model.bind_tools([look]), schema, "namespace-default-agent-" + "w" * 60)
    assert bound.invoke("Hi").text == "Hello."
    assert "".join(piece.text for piece in bound.stream("Hi")) == "Hello."
    for request in server.requests:
        asked = request.json()["response_format"]
        assert asked["type"] == "json_schema"
        assert asked["json_schema"]["schema"] == schema
        assert len(asked["json_schema"]["name"]) == 64
        assert "strict" not in asked["json_schema"]
        assert request.json()["top_k"] == 40
        assert request.json()["tools"][0]["function"]["name"] == "look"


def test_other_models_are_asked_in_their_own_way() -> None:
    bound: Any = bind(OfflineModel(), {"type": "object"}, "form")
    assert bound.kwargs["response_format"]["json_schema"]["name"] == "form"


# --- servers that do not stream


def streamed(model: BaseChatModel) -> AIMessageChunk:
    pieces = list(model.stream("Hi"))
    joined = pieces[0]
    for piece in pieces[1:]:
        joined += piece
    return joined


async def astreamed(model: BaseChatModel) -> AIMessageChunk:
    pieces = [piece async for piece in model.astream("Hi")]
    joined = pieces[0]
    for piece in pieces[1:]:
        joined += piece
    return joined


def in_a_loop(model: BaseChatModel) -> AIMessageChunk:
    return asyncio.run(astreamed(model))


WAYS = pytest.mark.parametrize("stream", [streamed, in_a_loop])
Stream = Callable[[BaseChatModel], AIMessageChunk]


@WAYS
@pytest.mark.parametrize("provider", ["openai", "azure"])
def test_a_server_that_does_not_stream_is_asked_once_more(
    server: Loopback, stream: Stream, provider: str
) -> None:
    model = model_of(documents(server.url, provider))
    first, second = stream(model), stream(model)
    assert (first.text, second.text) == ("Hello.", "Hello.")
    assert first.usage_metadata
    assert first.response_metadata["finish_reason"] == "stop"
    asked = [bool(request.json().get("stream")) for request in server.requests]
    assert asked == [True, False, False]


@WAYS
def test_tool_calls_survive_it(stream: Stream) -> None:
    calls = ToolCalls([("look", {"query": "a"})])
    with Loopback(lambda request: complete(request, calls)) as server:
        said = stream(model_of(documents(server.url)))
    assert [(call["name"], call["args"]) for call in said.tool_calls] == [("look", {"query": "a"})]
    assert all(call["id"] for call in said.tool_calls)


@WAYS
def test_a_server_that_streams_is_asked_once(stream: Stream) -> None:
    with OpenAIServer(["Hello, all of you."]) as server:
        said = stream(model_of(documents(server.base_url)))
    assert said.text == "Hello, all of you."
    assert len(server.requests) == 1


class Verdict(BaseModel):
    """What is decided."""

    approved: bool


def test_structured_answers_work_too() -> None:
    with Loopback(lambda request: complete(request, {"approved": True})) as server:
        asking = asking_for(Verdict, model_of(documents(server.url)))
        assert read_answer(asking.invoke("Hi"), Verdict) == Verdict(approved=True)


# --- loops


def test_a_model_is_used_in_one_loop_after_another(server: Loopback) -> None:
    model = model_of(documents(server.url))

    async def ask() -> list[str]:
        answers: list[AIMessage] = await asyncio.gather(*(model.ainvoke("Hi") for _ in range(3)))
        return [answer.text for answer in answers]

    assert [asyncio.run(ask()), asyncio.run(ask())] == [["Hello."] * 3] * 2
    assert model.invoke("Hi").text == "Hello."


# --- secrets


def refuse(request: Request) -> Answer:
    key = request.headers["authorization"].removeprefix("Bearer ")
    error = {"error": {"message": f"Incorrect API key provided: {key}.", "code": key}}
    return Answer(401, json.dumps(error).encode(), {"content-type": "application/json"})


@pytest.mark.parametrize("use", ["invoke", "stream", "ainvoke", "astream"])
def test_a_provider_that_quotes_the_key_is_not_quoted(use: str) -> None:
    def ask(model: BaseChatModel) -> None:
        match use:
            case "invoke":
                model.invoke("Hi")
            case "stream":
                streamed(model)
            case "ainvoke":
                asyncio.run(model.ainvoke("Hi"))
            case _:
                in_a_loop(model)

    with Loopback(refuse) as server, pytest.raises(AuthenticationError) as raised:
        ask(model_of(documents(server.url)))
    error = raised.value
    told = "".join(traceback.format_exception(error))
    assert "Incorrect API key provided: ***." in told
    assert "document-key" not in told + repr(error.body) + error.message


def test_no_repr_holds_a_key() -> None:
    manifest = documents("https://h.invalid")
    endpoint = Endpoint(api_key="my-key")
    shown = repr(endpoint) + repr(model_of(manifest)) + repr(model_of(manifest, endpoint))
    assert "my-key" not in shown
    assert "document-key" not in shown
