"""Loading documents: what is read, from where, how safely, and for which era."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from flowcompose.core.errors import ManifestError
from flowcompose.runner.manifest import (
    AgentSpec,
    Document,
    Manifest,
    ModelSpec,
    QuerySpec,
    TargetSpec,
    TeamSpec,
    ToolSpec,
    fill,
    is_placeholder,
    json_schema,
    load,
    load_text,
    seconds,
)

ARK = "apiVersion: ark.mckinsey.com/v1alpha1"

AGENT = f"{ARK}\nkind: Agent\nmetadata: {{name: writer}}\nspec: {{prompt: You write.}}"
TEAM = f"""{ARK}
kind: Team
metadata: {{name: panel}}
spec: {{strategy: sequential, members: [{{name: writer, type: agent}}]}}"""
DEFAULT = f"""{ARK}
kind: Model
metadata: {{name: default}}
spec:
  type: openai
  model: {{value: gpt-4o}}
  config: {{openai: {{baseUrl: {{value: "https://x.example"}}, apiKey: {{value: key-123}}}}}}"""


def _errors(manifest: Manifest) -> list[str]:
    return [str(problem) for problem in manifest.errors]


def _warnings(manifest: Manifest) -> list[str]:
    return [str(problem) for problem in manifest.warnings]


def _only(manifest: Manifest) -> Document:
    (document,) = manifest.documents
    return document


def _names(manifest: Manifest) -> list[str]:
    return [document.name for document in manifest.documents]


def test_documents_of_one_file_are_loaded_in_order_with_their_lines() -> None:
    manifest = load_text(f"{AGENT}\n---\n{TEAM}\n---\n\n---\n{DEFAULT}", file="all.yaml")
    assert _errors(manifest) == _warnings(manifest) == []
    found = [(each.kind, each.name, each.place) for each in manifest.documents]
    assert found == [
        ("Agent", "writer", "all.yaml:1"),
        ("Team", "panel", "all.yaml:6"),
        ("Model", "default", "all.yaml:13"),
    ]
    assert all(each.ok and each.namespace == "default" for each in manifest.documents)


def test_a_folder_is_read_with_all_folders_in_it(tmp_path: Path) -> None:
    (tmp_path / "teams").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "teams" / "team.yml").write_text(TEAM)
    (tmp_path / "agent.yaml").write_text(AGENT)
    (tmp_path / "model.json").write_text(json.dumps({"kind": "Kustomization"}))
    (tmp_path / "notes.txt").write_text("{ no yaml")
    (tmp_path / ".git" / "hidden.yaml").write_text("{ no yaml")
    (tmp_path / "teams" / "back").symlink_to(tmp_path)
    manifest = load([tmp_path])
    assert _names(manifest) == ["writer", "panel"]
    assert _errors(manifest) == []
    assert manifest.documents[1].file == str(tmp_path / "teams" / "team.yml")
    assert manifest.notices == (
        f"{tmp_path / 'model.json'}: skipped, of other kinds: Kustomization",
    )


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(AGENT)
    assert _names(load([file, tmp_path, str(file)])) == ["writer"]


def test_a_list_of_documents_is_taken_apart() -> None:
    items = "".join(f"- {text}\n".replace("\n", "\n  ")[:-2] for text in (AGENT, TEAM))
    manifest = load_text(f"apiVersion: v1\nkind: List\nitems:\n{items}")
    assert [each.place for each in manifest.documents] == ["<text>:4", "<text>:8"]
    assert _errors(manifest) == []


def test_what_is_no_document_is_a_notice_in_a_folder_and_an_error_by_itself(
    tmp_path: Path,
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("a: 1\n")
    (tmp_path / "agent.yaml").write_text(AGENT)
    assert load([tmp_path]).notices[0].startswith(f"{file}:1: skipped, no document")
    kinds = "Team, Agent, Query, Model, Tool, Secret, ConfigMap"
    assert _errors(load([file])) == [f"{file}:1: kind: 'kind' is required: {kinds}"]


def test_other_kinds_are_skipped_with_a_notice() -> None:
    text = "kind: Role\napiVersion: rbac.authorization.k8s.io/v1\n---\nkind: Test\n---\nkind: Role"
    manifest = load_text(text)
    assert manifest.notices == ("<text>: skipped, of other kinds: Role, Test",)
    assert manifest.problems == ()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "cannot be read: No such file or directory"),
        (lambda path: path.write_text(""), "no document is in this file"),
        (lambda path: path.write_bytes(b"a: 1\nb: \xff"), "no UTF-8 text (byte 8)"),
        (lambda path: path.write_bytes(b"a: 1\n\0"), "no text: it holds NUL bytes"),
        (lambda path: path.write_text("a" * 5_300_000), "larger than 5 MB"),
        (lambda path: path.mkdir(), "no documents are in this folder (*.yaml, *.yml, *.json)"),
    ],
)
def test_what_cannot_be_read_is_a_problem(tmp_path: Path, make: Any, message: str) -> None:
    path = tmp_path / "x.yaml"
    make(path)
    manifest = load([path])
    assert [each.message for each in manifest.errors] == [message]
    assert manifest.errors[0].file == str(path)


def test_a_path_that_is_none_is_a_problem() -> None:
    assert "cannot be read" in _errors(load(["a\0b"]))[0]


def test_json_is_read_as_yaml_is(tmp_path: Path) -> None:
    agent = {
        "apiVersion": "ark.mckinsey.com/v1alpha1",
        "kind": "Agent",
        "metadata": {"name": "writer"},
        "spec": {"prompt": "smile \U0001f600 \\ud83d / \n", "modelRef": {"name": "x"}},
    }
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(agent, indent="\t"))
    spec = _only(load([file])).spec
    assert isinstance(spec, AgentSpec)
    assert spec.prompt == "smile \U0001f600 \\ud83d / \n"


def test_a_broken_document_does_not_hide_those_after_it() -> None:
    manifest = load_text(
        f"{AGENT}\n---\nkind: [Agent\n---\n{TEAM}\n---\n--- ]\na: 'b\n--- # last\n{DEFAULT}"
    )
    assert _names(manifest) == ["writer", "panel", "default"]
    assert [each.line for each in manifest.errors] == [7, 13]
    assert all("no YAML: " in each for each in _errors(manifest))
    assert manifest.documents[2].line == 16


# --- safety ---------------------------------------------------------------------------------


def test_tags_make_no_objects(tmp_path: Path) -> None:
    mark = tmp_path / "run"
    text = AGENT.replace("You write.", f"!!python/object/apply:os.system ['touch {mark}']")
    manifest = load_text(text)
    assert not mark.exists()
    tag = "the tag 'tag:yaml.org,2002:python/object/apply:os.system' is not read"
    assert tag in _errors(manifest)[0]


BOMB = "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 10)
)
TEXT_BOMB = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 80)}]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"a0: &a0 x\n{BOMB}", "aliases that expand to more than a document may hold"),
        (TEXT_BOMB, "aliases that expand to more than a document may hold"),
        (f"a: &a x\nb: [{', '.join(['*a'] * 101)}]", "more than 100 aliases in a document"),
        ("a: &a [*a]", "the alias *a stands in what it names"),
        ("[" * 1_000_000, "nested deeper than 100 levels"),
        ("? " * 100_000, "nested deeper than 100 levels"),
        (f"a: [{'x,' * 200_001}]", "a document of more than 200000 values"),
        ("a: *b", "the alias *b names nothing that stands before it"),
        ("a: 1\nb: 2\na: 3", "'a' stands twice, first on line 1"),
        ("1: a", "a key must be a string: put it in quotes"),
        ("yes: a", "a key must be a string: put it in quotes"),
        ("? [a]\n: b", "a key must be a string: put it in quotes"),
        ("<<: a", "`<<` merges mappings only"),
        ("a: !!binary aGVsbG8=", "is not read: documents hold plain values only"),
    ],
)
def test_what_would_do_harm_is_refused_at_once(text: str, message: str) -> None:
    started = time.process_time()
    manifest = load_text(text)
    assert time.process_time() - started < 5
    assert message in "\n".join(_errors(manifest))


def test_aliases_and_merges_that_harm_nothing_are_read() -> None:
    text = f"""{ARK}
kind: Agent
metadata: &m {{name: writer, labels: &l {{group: a}}}}
spec:
  <<: {{description: Writes., prompt: other}}
  prompt: You write.
---
{ARK}
kind: Agent
metadata: {{name: second, labels: {{group: b}}}}"""
    manifest = load_text(text)
    spec = manifest.documents[0].spec
    assert isinstance(spec, AgentSpec)
    assert (spec.prompt, spec.description) == ("You write.", "Writes.")
    assert manifest.documents[0].labels == {"group": "a"}


def test_dates_and_times_of_day_stay_texts() -> None:
    manifest = load_text(AGENT.replace("You write.", "2024-01-01").replace("writer", "12:30:45"))
    spec = _only(manifest).spec
    assert isinstance(spec, AgentSpec)
    assert (spec.prompt, _only(manifest).name) == ("2024-01-01", "12:30:45")


def test_a_problem_does_nothing_to_a_terminal() -> None:
    manifest = load_text(AGENT.replace("prompt", '"\\e[2J\\n"'))
    assert _warnings(manifest)[0] == (
        "<text>:4: spec[\"\\x1b[2J\\n\"]: unknown field '\\x1b[2J\\n'"
    )


# --- eras -----------------------------------------------------------------------------------


def _team(spec: str) -> str:
    head = f"{ARK}\nkind: Team\nmetadata: {{name: t}}"
    return f"{head}\nspec: {{members: [], strategy: selector, {spec}}}"


def _query(spec: str) -> str:
    return f"{ARK}\nkind: Query\nmetadata: {{name: q}}\nspec: {{input: a, {spec}}}"


@pytest.mark.parametrize(
    ("text", "era"),
    [
        (TEAM, "v0.1.31"),
        (DEFAULT, "v0.1.31"),
        (_team("selector: {model: gpt-4}"), "v0.1.31"),
        (_query("targets: [{type: team, name: t}]"), "v0.1.31"),
        (_team("selector: {agent: chair}"), "v0.1.50"),
        (_team("graph: {edges: []}"), "v0.1.50"),
        (_query("target: {type: team, name: t}"), "v0.1.50"),
        (DEFAULT.replace("type: openai", "provider: openai"), "v0.1.50"),
        (_team("loops: false"), "v0.1.67"),
        (_team("selector: {enableTerminateTool: false}"), "v0.1.67"),
        (_team("selector: {terminatePrompt: End.}"), "v0.1.67"),
    ],
)
def test_the_era_is_told_by_the_fields_and_the_newest_holds(text: str, era: str) -> None:
    assert load_text(f"{AGENT}\n---\n{text}").era == era
    newest = load_text(f"{text}\n---\n{_team('loops: true')}")
    assert newest.era == "v0.1.67"


def test_an_era_that_is_asked_for_holds() -> None:
    manifest = load_text(_team("loops: true"), compat="v0.1.50")
    assert manifest.era == "v0.1.50"
    ignored = "<text>:4: spec.loops: loops came with v0.1.67: ignored under v0.1.50"
    assert ignored in _warnings(manifest)


# --- shapes ---------------------------------------------------------------------------------


def test_a_team_is_read_whole() -> None:
    text = f"""{ARK}
kind: Team
metadata: {{name: panel, namespace: demo}}
spec:
  strategy: selector
  maxTurns: 3
  selector: {{agent: chair, selectorPrompt: Who?, enableTerminateTool: true, terminatePrompt: End}}
  members: [{{name: a, type: agent}}, {{name: b}}]
  graph: {{edges: [{{from: a, to: b}}]}}
  description:
"""
    spec = _only(load_text(text)).spec
    assert isinstance(spec, TeamSpec)
    assert spec.selector is not None
    assert spec.graph is not None
    assert [(each.name, each.type) for each in spec.members] == [("a", "agent"), ("b", None)]
    assert [(each.source, each.target) for each in spec.graph.edges] == [("a", "b")]
    assert (spec.max_turns, spec.loops, spec.description) == (3, False, "")
    assert (spec.selector.enable_terminate_tool, spec.selector.terminate_prompt) == (True, "End")


@pytest.mark.parametrize(
    "spec",
    [
        "targets: [{type: team, name: panel}]",
        "target: {type: team, name: panel}",
        "team: {name: panel}",
        "selector: {matchLabels: {group: a}}",
        "selector: {matchExpressions: [{key: group, operator: Exists}]}",
        "target: {type: team, name: panel}, targets: [{type: team, name: panel}]",
    ],
)
def test_every_shape_of_a_query_names_its_targets(spec: str) -> None:
    labelled = TEAM.replace("name: panel", "name: panel, labels: {group: a}")
    manifest = load_text(f"{AGENT}\n---\n{labelled}\n---\n{_query(spec)}")
    assert _errors(manifest) == []
    query = manifest.of_kind("Query")[0]
    assert manifest.targets_of(query) == (TargetSpec(type="team", name="panel"),)


def test_an_input_may_be_messages() -> None:
    messages = "[{role: user, content: Hi}, {role: assistant, content: null}]"
    spec = _only(load_text(_query("timeout: 5m").replace("input: a", f"input: {messages}"))).spec
    assert isinstance(spec, QuerySpec)
    assert spec.input == [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None}]


@pytest.mark.parametrize(
    "types", ["type: openai", "provider: openai", "type: completions, provider: openai"]
)
def test_both_shapes_of_a_model_name_the_provider(types: str) -> None:
    lines = types.replace(", ", "\n  ")
    spec = _only(load_text(DEFAULT.replace("type: openai", lines))).spec
    assert isinstance(spec, ModelSpec)
    assert spec.provider == "openai"
    assert spec.endpoint is not None
    assert spec.endpoint.base_url is not None
    assert spec.endpoint.base_url.value == "https://x.example"


def test_a_tool_is_read_whole() -> None:
    text = f"""{ARK}
kind: Tool
metadata: {{name: search}}
spec:
  type: http
  inputSchema: {{type: object, properties: {{q: {{type: string, default: null}}}}}}
  http:
    url: "https://example.com/{{q}}"
    headers: [{{name: Accept, value: {{value: text/plain}}}}]
"""
    spec = _only(load_text(text)).spec
    assert isinstance(spec, ToolSpec)
    assert spec.http is not None
    assert (spec.http.method, spec.http.timeout) == ("GET", "30s")
    assert spec.input_schema == {
        "type": "object",
        "properties": {"q": {"type": "string", "default": None}},
    }


# --- values and templates -------------------------------------------------------------------

DECODED, PADDED = (
    base64.b64encode(each).decode() for each in (b"decoded-secret", b"padded-secret\n")
)

STORED = f"""apiVersion: v1
kind: Secret
metadata: {{name: keys}}
data: {{token: {DECODED}, padded: {PADDED}}}
stringData: {{plain: plain-secret, held: ($azure.token)}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: config}}
data: {{style: brief}}
"""

PARAMETERS = f"""{ARK}
kind: Agent
metadata: {{name: writer}}
spec:
  prompt: "{{{{.direct}}}}"
  parameters:
    - {{name: direct, value: here}}
    - {{name: secret, valueFrom: {{secretKeyRef: {{name: keys, key: token}}}}}}
    - {{name: config, valueFrom: {{configMapKeyRef: {{name: config, key: style}}}}}}
    - {{name: given, valueFrom: {{queryParameterRef: {{name: tone}}}}}}
    - {{name: nowhere, valueFrom: {{configMapKeyRef: {{name: config, key: none}}}}}}
    - {{name: held, valueFrom: {{secretKeyRef: {{name: keys, key: held}}}}}}
"""


def test_values_come_from_where_they_stand() -> None:
    manifest = load_text(f"{STORED}---\n{PARAMETERS}")
    spec = manifest.of_kind("Agent")[0].spec
    assert isinstance(spec, AgentSpec)
    values = [manifest.value(each, {"tone": "calm"}) for each in spec.parameters]
    assert values == ["here", "decoded-secret", "brief", "calm", None, None]
    named = manifest.parameters_of(spec.parameters, {"tone": "calm"})
    assert named["config"] == "brief"
    assert "nowhere" not in named


def test_secrets_are_known_wherever_they_stand_and_shown_nowhere() -> None:
    tool = f"""{ARK}
kind: Tool
metadata: {{name: t}}
spec:
  type: http
  http:
    url: https://example.com
    headers:
      - {{name: Authorization, value: {{value: Bearer abc}}}}
      - {{name: X-Api-Key, value: {{valueFrom: {{configMapKeyRef: {{name: config, key: style}}}}}}}}
      - {{name: Accept, value: {{value: text/plain}}}}
"""
    manifest = load_text(f"{STORED}---\n{DEFAULT}\n---\n{tool}")
    assert manifest.secrets == {
        "decoded-secret",
        "padded-secret\n",
        "padded-secret",
        "plain-secret",
        "key-123",
        "Bearer abc",
        "brief",
    }
    shown = f"{manifest!r} {manifest.documents!r} {manifest.problems!r}"
    assert not [secret for secret in manifest.secrets - {"brief"} if secret in shown]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (DEFAULT.replace("value: key-123", "value: 123456789"), "apiKey.value: must be a string"),
        (DEFAULT.replace("{value: key-123}", "key-123"), "apiKey: must be a mapping"),
        (STORED.replace("plain-secret", "123456789"), "stringData.plain: must be a string"),
        (STORED.replace("{plain: plain-secret", "key-123 #"), "stringData: must be a mapping"),
        (STORED.replace("token: ", "token: key-123!"), "data.token: no base64"),
        (STORED.replace("plain-secret", "*key-123"), "stringData.plain: an alias names nothing"),
        (STORED.replace("plain-secret", "!key-123 x"), "stringData.plain: a tag is not read"),
    ],
)
def test_a_problem_quotes_no_secret(text: str, problem: str) -> None:
    said = "\n".join(_errors(load_text(text)))
    assert problem in said
    assert "123" not in said


def test_a_template_is_filled_plainly_and_once() -> None:
    values = {"a": "{{.b}}", "b": "B"}
    assert fill("{{.a}} {{ .b }} {{.c}} {{if .a}}{{a}}", values) == (
        "{{.b}} B <no value> {{if .a}}{{a}}"
    )


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "($azure.url)", "(base64_encode($azure.token))", "<your-key>", "${API_KEY}"),
        *("REPLACE_ME", "replace-with-your-key", "YOUR_API_KEY", "xxxx", "{{ .Values.key }}"),
    ],
)
def test_a_placeholder_is_known(text: str) -> None:
    assert is_placeholder(text)


@pytest.mark.parametrize(
    "text", ["sk-1", "$ecret1", "https://a.example/($x)", "a <b> c", "gpt-4o", "x", "$"]
)
def test_a_value_is_no_placeholder(text: str) -> None:
    assert not is_placeholder(text)


@pytest.mark.parametrize(
    ("text", "length"),
    [("5m", 300), ("30s", 30), ("1h30m", 5400), ("500ms", 0.5), ("1.5h", 5400), ("10", 10)],
)
def test_a_length_of_time_is_read(text: str, length: float) -> None:
    assert seconds(text) == length


@pytest.mark.parametrize("text", ["", "5 m", "-5m", "m", "5d", "5m3", "\u0665m"])
def test_what_is_no_length_of_time_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="is no length of time: write one such as '30s'"):
        seconds(text)


def test_a_name_is_looked_for_in_its_namespace_first() -> None:
    in_demo = AGENT.replace("name: writer", "name: writer, namespace: demo")
    manifest = load_text(f"{AGENT}\n---\n{in_demo}")
    found = manifest.find("Agent", "writer", "demo")
    assert found is manifest.documents[1]
    assert manifest.find("Agent", "writer") is manifest.documents[0]
    assert manifest.find("Agent", "writer", "other") is manifest.documents[0]
    assert manifest.find("Agent", "nobody") is None


# --- the manifest ---------------------------------------------------------------------------


def test_all_problems_are_raised_at_once_as_one_error() -> None:
    manifest = load_text(f"{TEAM}\n---\n{TEAM}", file="t.yaml")
    with pytest.raises(ManifestError) as caught:
        manifest.raise_if_errors()
    assert caught.value.found == manifest.errors
    assert (caught.value.file, caught.value.line) == ("t.yaml", 4)
    assert len(caught.value.problems) == 3


def test_strictness_makes_errors_of_warnings() -> None:
    load_text(AGENT).raise_if_errors(strict=True)  # its model may come from elsewhere
    manifest = load_text(AGENT.replace("You write.", "You write., colour: red"))
    manifest.raise_if_errors()
    with pytest.raises(ManifestError, match="unknown field 'colour'"):
        manifest.raise_if_errors(strict=True)


def test_the_line_of_a_field_or_of_what_it_would_be_in_is_known() -> None:
    document = _only(load_text(f"# first\n{PARAMETERS}"))
    assert document.line_of("spec.parameters[2].valueFrom.configMapKeyRef.key") == 10
    assert document.line_of("spec.parameters[9]") == 7
    assert document.line_of("spec.nowhere.at.all") == 5
    assert document.line_of('metadata["a.b"]') == 4


def test_the_schema_describes_every_kind_and_every_field() -> None:
    schema = json_schema()
    assert [each["title"] for each in schema["oneOf"]] == [
        *("Team", "Agent", "Query", "Model", "Tool", "Secret", "ConfigMap")
    ]
    undescribed = [
        (name, field)
        for name, definition in schema["$defs"].items()
        for field, content in definition.get("properties", {}).items()
        if "description" not in content
    ]
    assert undescribed == []
    assert "from" in schema["$defs"]["EdgeSpec"]["properties"]
    json.dumps(schema)


def _many(kind: str, spec: str, count: int, *, same: bool = False) -> str:
    names = ("a" if same else f"a{index}" for index in range(count))
    return "".join(
        f"{ARK}\nkind: {kind}\nmetadata: {{name: {n}}}\nspec: {spec}\n---\n" for n in names
    )


_BY_LABEL = "matchLabels: {a: b}"
_TEAM_OF_SAME = "{strategy: sequential, members: [" + "{name: a, type: agent}, " * 2000 + "]}"


@pytest.mark.parametrize(
    "text",
    [
        _many("Agent", f"{{parameters: [{{name: x, value: y}}], prompt: '{'{{' * 500_000}'}}", 1),
        _many("Tool", "{type: http, http: {url: 'http://h/'}}", 4000)
        + _many("Query", f"{{input: x, selector: {{{_BY_LABEL}}}}}", 4000),
        _many("Agent", "{}", 10_000, same=True) + _many("Team", _TEAM_OF_SAME, 1),
    ],
    ids=["braces", "labels", "same names"],
)
def test_what_is_long_takes_no_longer_than_its_length(text: str) -> None:
    started = time.process_time()
    load_text(text)
    assert time.process_time() - started < 6  # some took minutes


def test_a_thousand_documents_are_loaded_at_once(tmp_path: Path) -> None:
    for index in range(500):
        agent = AGENT.replace("writer", f"writer-{index}")
        team = TEAM.replace("writer", f"writer-{index}").replace("panel", f"panel-{index}")
        (tmp_path / f"{index}.yaml").write_text(f"{agent}\n---\n{team}")
    started = time.process_time()
    manifest = load([tmp_path])
    assert time.process_time() - started < 3  # it takes about a fifth of a second
    assert len(manifest.documents) == 1000
    assert manifest.errors == ()


def test_without_pyyaml_the_line_that_installs_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "yaml.py").write_text("raise ModuleNotFoundError('No module named yaml')")
    code = "import flowcompose.runner.manifest"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert "documents need PyYAML: pip install 'flowcompose[cli]'" in run.stderr


def test_a_file_holds_only_so_many_documents() -> None:
    manifest = load_text("---\n" * 10_002)
    assert [str(each) for each in manifest.errors if "more than" in str(each)] == [
        "<text>:10001: more than 10000 documents: the rest is not read"
    ]


def test_many_entries_that_mean_the_same_tools_take_no_time() -> None:
    selector = "{type: custom, labelSelector: {matchLabels: {a: b}}}"
    head = "apiVersion: ark.mckinsey.com/v1alpha1\nkind:"
    tools = "---\n".join(
        f"{head} Tool\nmetadata: {{name: t{number}, labels: {{a: b}}}}\n"
        "spec: {type: agent, agent: {name: x}}\n"
        for number in range(2000)
    )
    entries = ", ".join([selector] * 3000)
    agent = f"{head} Agent\nmetadata: {{name: x}}\nspec:\n  prompt: x\n  tools: [{entries}]\n"
    begun = time.perf_counter()
    load_text(f"{tools}---\n{agent}")
    assert time.perf_counter() - begun < 3
