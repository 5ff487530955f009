"""Http tools: what their requests hold, and what neither an argument nor a server can do."""

from __future__ import annotations

import gzip
import json
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool

from flowcompose.core.blocks import Block, as_block
from flowcompose.core.context import Context
from flowcompose.core.errors import DefinitionError
from flowcompose.core.terminate import Terminate
from flowcompose.core.toolbox import Toolbox
from flowcompose.core.tools import is_terminate
from flowcompose.runner.agents import http_call
from flowcompose.runner.agents.http_body import BodyTemplate, body_type
from flowcompose.runner.agents.inward import leads_inward
from flowcompose.runner.agents.tools import tools_for
from flowcompose.runner.manifest import Manifest, load_text
from flowcompose.runner.manifest.http_url import UrlTemplate
from tests.loopback import Answer, Loopback, Request


def document(kind: str, name: str, spec: dict[str, Any]) -> str:
    api = "v1" if kind in ("Secret", "ConfigMap") else "ark.mckinsey.com/v1alpha1"
    head = {"apiVersion": api, "kind": kind, "metadata": {"name": name}}
    return "---\n" + json.dumps({**head, **(spec if kind == "Secret" else {"spec": spec})}) + "\n"


def no_block(namespace: str, kind: str, name: str) -> Block:
    raise AssertionError((namespace, kind, name))


Ask = Callable[[str, str, str], Block]


def tools_of(entries: list[dict[str, Any]], *others: str, ask: Ask = no_block) -> list[BaseTool]:
    text = document("Agent", "writer", {"prompt": "You write.", "tools": entries})
    manifest = load_text("".join([text, *others]))
    assert isinstance(manifest, Manifest)
    agent = manifest.find("Agent", "writer")
    assert agent is not None
    return tools_for(manifest, agent, ask=ask)


SECRET = document("Secret", "keys", {"stringData": {"token": "s3cret-token\n"}})
BY_SECRET = {"valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}}


def http_tool(url: str, *, schema: dict[str, Any] | None = None, **http: Any) -> BaseTool:
    spec: dict[str, Any] = {"type": "http", "description": "Looks.", "http": {"url": url, **http}}
    if schema is not None:
        spec["inputSchema"] = {"type": "object", "properties": schema}
    entry = {"type": "custom", "name": "look"}
    (made,) = tools_of([entry], document("Tool", "look", spec), SECRET)
    return made


def echo(request: Request) -> Answer:
    return Answer(200, f"{request.method} {request.path}".encode())


def failure_of(tool: BaseTool, arguments: dict[str, Any] | None = None) -> ToolException:
    with pytest.raises(ToolException) as raised:
        tool.invoke(arguments or {})
    return raised.value


# --- what is sent


def test_arguments_fill_path_and_query() -> None:
    with Loopback(echo) as server:
        tool = http_tool(f"{server.url}/of/{{id}}?q={{q}}&n={{n}}&x=1")
        said = tool.invoke({"id": "a b/ü", "q": "a b&c=d+é#?", "n": 5.0})
    assert said == "GET /of/a%20b%2F%C3%BC?q=a+b%26c%3Dd%2B%C3%A9%23%3F&n=5&x=1"


async def test_the_async_path_does_the_same() -> None:
    with Loopback(echo) as server:
        tool = http_tool(f"{server.url}/?q={{q}}")
        assert await tool.ainvoke({"q": "a"}) == tool.invoke({"q": "a"}) == "GET /?q=a"
    with pytest.raises(ToolException, match="look: .* was not reached"):
        await tool.ainvoke({"q": "a"})


def test_what_is_not_given_has_its_default_or_is_left_out() -> None:
    schema = {"q": {"type": "string"}, "n": {"type": "integer", "default": 5}, "m": {}}
    with Loopback(echo) as server:
        tool = http_tool(f"{server.url}/?q={{q}}&n={{n}}&m={{m}}", schema=schema)
        assert tool.invoke({"q": "a", "m": None}) == "GET /?q=a&n=5"


def test_braces_that_name_nothing_stay() -> None:
    filled = UrlTemplate('http://h/?f={"a":1}&q={q}').filled({"q": "a"})
    assert filled == 'http://h/?f={"a":1}&q=a'


def test_the_model_is_told_of_the_schema() -> None:
    schema = {"q": {"type": "string", "description": "What to look for"}}
    told = convert_to_openai_tool(http_tool("http://h/?q={q}", schema=schema))["function"]
    assert (told["name"], told["description"]) == ("look", "Looks.")
    assert told["parameters"]["properties"] == schema


def test_without_a_schema_the_url_says_what_is_asked() -> None:
    told = convert_to_openai_tool(http_tool("http://h/{id}?q={q}"))["function"]
    assert told["parameters"]["required"] == ["id", "q"]


@pytest.mark.parametrize("name", ["self", "config", "run_manager", "callbacks", "arguments"])
def test_an_argument_may_have_any_name(name: str) -> None:
    with Loopback(echo) as server:
        tool = http_tool(f"{server.url}/?q={{{name}}}", schema={name: {"type": "string"}})
        call = {"name": "look", "args": {name: "a"}, "id": "1", "type": "tool_call"}
        assert tool.invoke(call).text == "GET /?q=a"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH"])
def test_a_body_goes_with_methods_that_have_one(method: str) -> None:
    with Loopback(echo) as server:
        http_tool(f"{server.url}/", method=method, body='{"a": "{{.input.a}}"}').invoke({"a": "b"})
    (request,) = server.requests
    assert request.method == method
    assert request.body == (b"" if method in ("GET", "DELETE") else b'{"a": "b"}')


def test_the_body_is_sent_as_what_it_is() -> None:
    with Loopback(echo) as server:
        tool = http_tool(
            f"{server.url}/",
            method="POST",
            body='{"q": "{{.input.q}}", "key": "{{ .key }}"}',
            bodyParameters=[{"name": "key", **BY_SECRET}],
        )
        tool.invoke({"q": 'a "b"\n', "key": "mine"})
    (request,) = server.requests
    assert request.headers["content-type"] == "application/json"
    assert request.json() == {"q": 'a "b"\n', "key": "s3cret-token\n"}


def test_headers_are_sent_whole_and_framing_is_ours() -> None:
    headers = [
        {"name": "Authorization", "value": BY_SECRET},
        {"name": "X-Plain", "value": {"value": "plain"}},
        {"name": "Host", "value": {"value": "other.example"}},
        {"name": "Content-Length", "value": {"value": "999"}},
    ]
    with Loopback(echo) as server:
        http_tool(f"{server.url}/", headers=headers).invoke({})
    (request,) = server.requests
    assert request.headers["authorization"] == "s3cret-token"
    assert request.headers["x-plain"] == "plain"
    assert request.headers["host"] == server.host
    assert "content-length" not in request.headers


def test_nothing_is_taken_from_netrc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password hunter22")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with Loopback(echo) as server:
        http_tool(server.url).invoke({})
    assert "authorization" not in server.requests[0].headers


# --- bodies


def body(template: str, arguments: dict[str, Any], kind: str | None = None, **given: str) -> str:
    return BodyTemplate(template, body_type(template, kind), given).filled(arguments)


@pytest.mark.parametrize(
    ("template", "arguments", "meant"),
    [
        ('{"a": "{{.input.a}}"}', {"a": '", "admin": "1'}, {"a": '", "admin": "1'}),
        ('{"a": {{.input.a}}}', {"a": '1, "admin": true'}, {"a": '1, "admin": true'}),
        ('{"a": {{ .a }}, "b": {{.input.b}}}', {"a": 1, "b": [True]}, {"a": 1, "b": [True]}),
        ('{"a": "\\"{{.input.a}}"}', {"a": "x"}, {"a": '"x'}),
        ('{"a": "n {{.input.a.b}}"}', {"a": {"b": 2}}, {"a": "n 2"}),
        ('{"a": {{.input.a}}, "b": "{{.b}}"}', {}, {"a": None, "b": ""}),
        ('{"a": {{.input}}}', {"b": 1}, {"a": {"b": 1}}),
        ('{"a": "{{.input.a}}"}', {"a": "{{.key}}"}, {"a": "{{.key}}"}),
        ('{"a": {{.number}}, "b": {{.words}}}', {"number": 9}, {"a": 5, "b": "two words"}),
    ],
)
def test_an_argument_stays_in_its_place_in_json(
    template: str, arguments: dict[str, Any], meant: Any
) -> None:
    given = {"key": "s3cret", "number": "5", "words": "two words"}
    assert json.loads(body(template, arguments, **given)) == meant


def test_forms_and_xml_are_escaped_and_text_is_not() -> None:
    arguments = {"a": "x&b=<1>"}
    form = "application/x-www-form-urlencoded"
    assert body("a={{.input.a}}", arguments, form) == "a=x%26b%3D%3C1%3E"
    assert body("<a>{{.input.a}}</a>", arguments, "text/xml; charset=utf-8") == (
        "<a>x&amp;b=&lt;1&gt;</a>"
    )
    assert body("a: {{.input.a}}", arguments) == "a: x&b=<1>"


@given(st.text())
def test_any_text_is_one_value_in_json(text: str) -> None:
    assert json.loads(body('{"a": "{{.input.a}}", "b": 1}', {"a": text})) == {"a": text, "b": 1}


# --- where it goes


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://h/",
        "javascript:alert(1)",
        "//h/",
        "h/path",
        "http://",
        "http://{host}/",
        "http://h:{port}/",
        "http://{user}@h/",
        "http://h{path}",
        "http://u:hunter22@h/",
        "http://u:hunter22\u2100@h/",
        "http://u:hunter22]@h/",
        "http://[hunter22/",
        "http://u:hunter22/x@h/",
        "http://h:99999/",
        "http://h\n.example/",
    ],
)
def test_a_url_that_is_not_one_server_is_refused(url: str) -> None:
    with pytest.raises(DefinitionError, match="tool 'look' of agent 'writer'") as raised:
        http_tool(url)
    assert "hunter22" not in str(raised.value)


@pytest.mark.parametrize(
    "value",
    [
        "..",
        ".",
        "../admin",
        "a/../../admin",
        "..\\admin",
        "%2e%2e",
        "%2E%2e%2fadmin",
        "%252e%252e%252fadmin",
        "..;/admin",
        "..;a=b",
        "",
        None,
    ],
)
def test_an_argument_does_not_climb_on_the_server(value: Any) -> None:
    with Loopback(echo) as server:
        told = str(failure_of(http_tool(f"{server.url}/a/{{id}}/b"), {"id": value}))
    assert server.requests == []
    assert told.startswith("look: the argument 'id' ")


def test_dots_that_the_argument_completes_are_seen() -> None:
    with pytest.raises(ValueError, match="another place"):
        UrlTemplate("http://h/.{x}/a").filled({"x": "."})


@pytest.mark.parametrize(
    "value",
    [
        "@evil.example",
        "evil.example/",
        "//evil.example",
        "\\\\evil.example",
        "http://evil.example/",
        "#",
        "?a=b",
        "\r\nX-Injected: 1",
        "\x00",
        "a..b",
        "...",
        ":99",
    ],
)
def test_an_argument_does_not_change_the_server(value: str) -> None:
    with Loopback(echo) as server:
        http_tool(f"{server.url}/{{x}}/end?q={{x}}&z=1").invoke({"x": value})
    (request,) = server.requests
    assert request.path.count("/") == 2
    assert request.path.endswith("&z=1")
    assert request.headers["host"] == server.host
    assert "x-injected" not in request.headers


@given(st.text(min_size=1))
def test_no_argument_at_all_changes_the_server(text: str) -> None:
    template = UrlTemplate("http://h.example:8080/a/{x}/b?q={x}")
    try:
        filled = template.filled({"x": text})
    except ValueError:
        return
    path, _, query = filled.partition("?")
    assert path.startswith("http://h.example:8080/a/")
    assert (path.count("/"), query.count("&"), query.count("=")) == (5, 0, 1)
    assert filled.isascii()
    assert filled.isprintable()


@pytest.mark.parametrize("value", ["a\r\nX-Injected: 1", "a\nb", "a\x00b", "s3cret-ü"])
def test_a_header_holds_no_line_break(value: str) -> None:
    headers = [{"name": "X-Token", "value": {"value": value}}]
    with Loopback(echo) as server:
        told = str(failure_of(http_tool(server.url, headers=headers)))
    assert server.requests == []
    assert "the value of the header 'X-Token' holds line breaks" in told
    assert value not in told


def test_a_header_without_a_value_is_named() -> None:
    where = {"valueFrom": {"secretKeyRef": {"name": "keys", "key": "other"}}}
    told = str(failure_of(http_tool("http://h/", headers=[{"name": "X-Token", "value": where}])))
    assert told == "look: the header 'X-Token' has no value here"


# --- redirects


def redirect(location: str, status: int = 302) -> Callable[[Request], Answer]:
    return lambda _: Answer(status, headers={"location": location})


AUTHORIZED = [
    {"name": "Authorization", "value": BY_SECRET},
    {"name": "X-Custom", "value": {"value": "other-secret"}},
    {"name": "Accept", "value": {"value": "text/plain"}},
]


def test_a_redirect_on_the_same_server_keeps_the_headers() -> None:
    def answer(request: Request) -> Answer:
        return redirect("/there")(request) if request.path == "/" else echo(request)

    with Loopback(answer) as server:
        assert http_tool(server.url, headers=AUTHORIZED).invoke({}) == "GET /there"
    assert server.requests[1].headers["authorization"] == "s3cret-token"


def test_another_server_gets_no_header_that_could_be_a_secret() -> None:
    with Loopback(echo) as second, Loopback(redirect(f"{second.url}/x")) as first:
        assert http_tool(first.url, headers=AUTHORIZED).invoke({}) == "GET /x"
    (request,) = second.requests
    assert "secret" not in repr(request)
    assert request.headers["accept"] == "text/plain"
    assert request.headers["host"] == second.host


@pytest.mark.parametrize("status", [301, 302, 303])
def test_after_a_redirect_the_body_stays_behind(status: int) -> None:
    with Loopback(echo) as second, Loopback(redirect(second.url, status)) as first:
        http_tool(first.url, method="POST", body="s3cret").invoke({})
    assert [(each.method, each.body) for each in second.requests] == [("GET", b"")]


@pytest.mark.parametrize("status", [307, 308])
def test_a_body_is_not_taken_to_another_server(status: int) -> None:
    with Loopback(echo) as second, Loopback(redirect(second.url, status)) as first:
        told = str(failure_of(http_tool(first.url, method="POST", body="s3cret")))
    assert second.requests == []
    assert "would take the body there" in told


@pytest.mark.parametrize("status", [307, 308])
def test_on_the_same_server_the_body_comes_along(status: int) -> None:
    def answer(request: Request) -> Answer:
        return redirect("/there", status)(request) if request.path == "/" else echo(request)

    with Loopback(answer) as server:
        assert http_tool(server.url, method="POST", body="b").invoke({}) == "POST /there"
    assert server.requests[1].body == b"b"


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("https://127.0.0.1/", "a redirect from http to https is not followed"),
        ("file:///etc/passwd", "a redirect from http to file is not followed"),
        ("ftp://127.0.0.1/", "a redirect from http to ftp is not followed"),
        ("http://u:p@127.0.0.1/", "a redirect to a URL with credentials"),
    ],
)
def test_a_redirect_elsewhere_than_to_a_server_like_it_is_refused(location: str, told: str) -> None:
    with Loopback(redirect(location)) as server:
        assert told in str(failure_of(http_tool(server.url)))
    assert len(server.requests) == 1


def test_redirects_end() -> None:
    with Loopback(redirect("/again")) as server:
        assert str(failure_of(http_tool(server.url))) == "look: more than 5 redirects"
    assert len(server.requests) == 6


def test_nobody_out_there_redirects_into_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async def inward(here: Any, there: Any) -> bool:
        return True

    monkeypatch.setattr(http_call, "leads_inward", inward)
    with Loopback(echo) as second, Loopback(redirect(second.url)) as first:
        assert "into this machine or its network" in str(failure_of(http_tool(first.url)))
    assert second.requests == []


@pytest.mark.parametrize(
    "inside",
    ["127.0.0.1", "localhost", "169.254.169.254", "10.0.0.1", "2130706433", "[::1]", "0.0.0.0"],
)
async def test_inside_is_what_its_addresses_say(inside: str) -> None:
    here, there = httpx.URL("http://8.8.8.8/"), httpx.URL(f"http://{inside}/")
    assert await leads_inward(here, there)
    assert not await leads_inward(there, there)
    assert not await leads_inward(there, here)
    assert not await leads_inward(here, httpx.URL("http://1.1.1.1/"))


# --- what comes back


def test_an_error_of_the_server_is_one_of_the_tool() -> None:
    with Loopback(lambda _: Answer(404, b"a long page", reason="Not Found")) as server:
        tool = http_tool(server.url)
        assert str(failure_of(tool)) == "look: HTTP error 404: Not Found"


def test_a_generator_hears_of_it_as_a_failed_call() -> None:
    call = {"name": "look", "args": {}, "id": "1", "type": "tool_call"}
    with Loopback(lambda _: Answer(500)) as server:
        toolbox = Toolbox([http_tool(server.url)])
        called = toolbox.call_all(AIMessage("", tool_calls=[call]), Context.outside())
    (answer,) = called.answers
    assert answer.status == "error"
    assert "look: HTTP error 500: Internal Server Error" in answer.text


def test_a_long_answer_is_cut_while_it_is_read() -> None:
    piece = b"x" * 100_000
    endless = Answer(200, pieces=[piece] * 400)
    with Loopback(lambda _: endless) as server:
        said = http_tool(server.url).invoke({})
    assert said == "x" * 1_000_000 + "\n[the answer is longer]"


@pytest.mark.parametrize("size", [10, 300_000_000])
def test_what_is_packed_is_unpacked_no_further(size: int) -> None:
    packed = gzip.compress(b"\0" * size, 1) if size > 100 else gzip.compress(b"x" * size)
    answer = Answer(200, packed, {"content-encoding": "gzip"})
    with Loopback(lambda _: answer) as server:
        said = http_tool(server.url).invoke({})
    assert len(said) == (10 if size == 10 else 1_000_000 + len("\n[the answer is longer]"))


@pytest.mark.parametrize("charset", ["", "; charset=latin-1", "; charset=zip", "; charset=nope"])
def test_any_answer_is_text(charset: str) -> None:
    kind = {"content-type": f"text/plain{charset}"}
    with Loopback(lambda _: Answer(200, "é".encode("latin-1"), kind)) as server:
        said = http_tool(server.url).invoke({})
    assert said == ("é" if "latin" in charset else "\ufffd")


@pytest.mark.parametrize(
    "answer",
    [Answer(hang=True), Answer(200, pieces=[b"."] * 100, pause=0.1)],
    ids=["silent", "slow"],
)
def test_the_timeout_is_for_all_of_it(answer: Answer) -> None:
    with Loopback(lambda _: answer) as server:
        tool = http_tool(server.url, timeout="1s")
        started = time.monotonic()
        assert str(failure_of(tool)) == "look: no answer within 1 s"
        assert time.monotonic() - started < 3


def test_a_timeout_of_zero_is_none() -> None:
    slow = Answer(200, pieces=[b"here"], pause=0.2)
    with Loopback(lambda _: slow) as server:
        assert http_tool(server.url, timeout="0s").invoke({}) == "here"


# --- secrets


def test_an_answer_that_repeats_a_secret_is_cleaned() -> None:
    def repeat(request: Request) -> Answer:
        return Answer(200, json.dumps(dict(request.headers)).encode())

    headers = [{"name": "Authorization", "value": BY_SECRET}]
    with Loopback(repeat) as server:
        said = http_tool(server.url, headers=headers).invoke({})
    assert "s3cret" not in said
    assert '"authorization": "***"' in said


def test_a_secret_that_is_cut_does_not_show_its_beginning() -> None:
    text = b"x" * (1_000_000 - 6) + b"s3cret-token" + b"x" * 10
    with Loopback(lambda _: Answer(200, text)) as server:
        said = http_tool(server.url).invoke({})
    assert "s3" not in said


@pytest.mark.parametrize("answer", [Answer(401, reason="s3cret-token is bad"), Answer(hang=True)])
def test_no_error_holds_a_secret(answer: Answer) -> None:
    headers = [{"name": "X-Token", "value": BY_SECRET}]
    with Loopback(lambda _: answer) as server:
        error = failure_of(http_tool(server.url, headers=headers, timeout="1s"))
    assert (error.__cause__, error.__context__) == (None, None)
    assert "s3cret" not in "".join(traceback.format_exception(error))


def test_no_repr_holds_a_secret() -> None:
    headers = [{"name": "X-Token", "value": BY_SECRET}]
    given = [{"name": "k", **BY_SECRET}]
    tool = http_tool(
        "http://h/", headers=headers, method="POST", body="{{.k}}", bodyParameters=given
    )
    assert "s3cret" not in repr(tool) + str(tool) + str(tool.model_dump())


# --- other tools


def test_terminate_ends_a_team_under_its_name() -> None:
    entries = [{"name": "terminate_team", "description": "Call this to conclude"}]
    (made,) = tools_of(entries)
    assert is_terminate(made)
    assert (made.name, made.description) == ("terminate_team", "Call this to conclude")


@pytest.mark.parametrize("name", ["noop", "terminate"])
def test_built_in_tools_are_there(name: str) -> None:
    (made,) = tools_of([{"type": "built-in", "name": name}])
    assert made.name == name
    assert isinstance(made, Terminate) == (name == "terminate")


def test_a_tool_document_may_be_a_built_in_one() -> None:
    spec = {"type": "builtin", "description": "Ends.", "builtin": {"name": "terminate"}}
    (made,) = tools_of([{"type": "custom", "name": "finish"}], document("Tool", "finish", spec))
    assert is_terminate(made)
    assert (made.name, made.description) == ("finish", "Ends.")


def test_tools_of_mcp_servers_are_left_out() -> None:
    spec = {"type": "mcp", "mcp": {"mcpServerRef": {"name": "s"}, "toolName": "t"}}
    other = document("Tool", "far", spec)
    assert tools_of([{"type": "custom", "name": "far"}, {"type": "mcp", "name": "x"}], other) == []


def test_a_tool_that_is_nowhere_is_named() -> None:
    with pytest.raises(DefinitionError, match="no Tool 'nowhere' is among the documents"):
        tools_of([{"type": "custom", "name": "nowhere"}])


def test_tools_are_found_by_their_labels() -> None:
    labelled = document("Tool", "look", {"type": "http", "http": {"url": "http://h/"}})
    labelled = labelled.replace('"name": "look"', '"name": "look", "labels": {"a": "b"}')
    other = document("Tool", "other", {"type": "http", "http": {"url": "http://h/"}})
    entry = {"type": "custom", "labelSelector": {"matchLabels": {"a": "b"}}}
    assert [each.name for each in tools_of([entry], labelled, other)] == ["look"]


def test_labels_find_tools_where_names_find_them() -> None:
    tool = document("Tool", "look", {"type": "http", "http": {"url": "http://h/"}})
    tool = tool.replace('"name": "look"', '"name": "look", "labels": {"a": "b"}, "namespace": "c"')
    entries = ({"name": "look"}, {"labelSelector": {"matchLabels": {"a": "b"}}})
    for entry in entries:
        assert [each.name for each in tools_of([{"type": "custom", **entry}], tool)] == ["look"]


def test_a_schema_may_leave_its_fields_empty() -> None:
    schema = {"type": "object", "properties": None, "required": None}
    spec = {"type": "http", "inputSchema": schema, "http": {"url": "http://h/"}}
    partial = {"name": "look", "parameters": [{"name": "city", "value": "Rome"}]}
    (made,) = tools_of(
        [{"type": "custom", "name": "rome", "partial": partial}], document("Tool", "look", spec)
    )
    assert made.args == {}


def test_the_entry_of_an_agent_describes_first() -> None:
    spec = {"type": "http", "description": "Looks.", "http": {"url": "http://h/"}}
    entry = {"type": "custom", "name": "look", "description": "Looks far."}
    (made,) = tools_of([entry], document("Tool", "look", spec))
    assert made.description == "Looks far."


def test_arguments_that_are_set_are_not_the_models() -> None:
    with Loopback(echo) as server:
        url = f"{server.url}/{{city}}?q={{q}}"
        spec = {"type": "http", "description": "Looks.", "http": {"url": url}}
        partial = {"name": "look", "parameters": [{"name": "city", "value": "Rome"}]}
        entry = {"type": "custom", "name": "rome", "partial": partial}
        (made,) = tools_of([entry], document("Tool", "look", spec))
        assert made.invoke({"q": "a", "city": "Paris"}) == "GET /Rome?q=a"
    assert list(made.args) == ["q"]
    assert made.name == "rome"


ANSWER = {"text": "All is well.", "messages": []}


@pytest.mark.parametrize("kind", ["agent", "team"])
def test_an_agent_or_a_team_is_asked(kind: str) -> None:
    asked: list[Any] = []

    def ask(namespace: str, kind: str, name: str) -> Block:
        asked.append((namespace, kind, name))
        return as_block(answer)

    def answer(value: Any) -> Any:
        asked.append(value)
        return ANSWER

    spec = {"type": kind, kind: {"name": "other"}}
    tool = document("Tool", "consult", spec)
    (made,) = tools_of([{"type": "custom", "name": "consult"}], tool, ask=ask)
    assert asked == []
    assert list(made.args) == ["input"]
    assert made.invoke({"input": "How is it?"}) == "All is well."
    assert asked == [("default", kind, "other"), "How is it?"]


def test_a_tool_asks_those_of_its_own_namespace() -> None:
    asked: list[tuple[str, ...]] = []

    def ask(*names: str) -> Block:
        asked.append(names)
        return as_block(lambda value: ANSWER)

    tool = document("Tool", "consult", {"type": "agent", "agent": {"name": "other"}})
    tool = tool.replace('"name": "consult"', '"name": "consult", "namespace": "far"')
    (made,) = tools_of([{"type": "custom", "name": "consult"}], tool, ask=ask)
    made.invoke({"input": "How is it?"})
    assert asked == [("far", "agent", "other")]


async def test_it_is_asked_on_the_async_path_too() -> None:
    async def block(value: Any) -> Any:
        return {"messages": [AIMessage(f"{value}!"), AIMessage("")]}

    (made,) = tools_of([{"type": "agent", "name": "other"}], ask=lambda *_: as_block(block))
    assert await made.ainvoke({"input": "So"}) == "So!"


def test_the_description_of_an_agent_is_that_of_the_tool() -> None:
    other = document("Agent", "other", {"prompt": "x", "description": "Knows all."})
    (made,) = tools_of([{"type": "agent", "name": "other"}], other)
    assert (made.name, made.description) == ("other", "Knows all.")


def test_agents_that_ask_themselves_come_to_an_end() -> None:
    made: list[BaseTool] = []

    def ask(namespace: str, kind: str, name: str) -> Block:
        return as_block(lambda value: made[0].invoke({"input": value}))

    made += tools_of([{"type": "agent", "name": "writer"}], ask=ask)
    with pytest.raises(ToolException, match="more than 10 deep"):
        made[0].invoke({"input": "again"})
