"""Whatever stands in a file, it is loaded or refused: there is never another exception."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowcompose.core.errors import ManifestError
from flowcompose.runner.agents.endpoint import Endpoint
from flowcompose.runner.manifest import ERAS, Manifest, load_text
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams.compiler import Compiler
from flowcompose.runner.teams.jobs import jobs_for, team_pattern

pytestmark = pytest.mark.filterwarnings("error")

SECRET = "hunter2-never-shown"

VALID = f"""
apiVersion: ark.mckinsey.com/v1alpha1
kind: Team
metadata: {{name: panel, labels: {{group: a}}}}
spec:
  strategy: selector
  description: They decide.
  maxTurns: 4
  selector:
    {{agent: chair, selectorPrompt: "{{{{.Roles}}}} {{{{.History}}}}", enableTerminateTool: true}}
  members:
    - {{name: writer, type: agent}}
    - {{name: chair, type: agent}}
    - {{name: inner, type: team}}
  graph:
    edges: [{{from: writer, to: chair}}, {{from: chair, to: writer}}, {{from: chair, to: inner}}]
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Team
metadata: {{name: inner, namespace: default}}
spec: {{strategy: sequential, loops: true, maxTurns: 2, members: [{{name: writer, type: agent}}]}}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {{name: writer}}
spec:
  prompt: "You write {{{{.style}}}}."
  description: Writes.
  modelRef: {{name: default}}
  parameters:
    - {{name: style, valueFrom: {{configMapKeyRef: {{name: styles, key: prose}}}}}}
    - {{name: tone, valueFrom: {{queryParameterRef: {{name: tone}}}}}}
  tools:
    - {{type: built-in, name: terminate}}
    - {{type: custom, name: look-up, description: Looks up.}}
    - {{type: agent, name: ask-chair}}
  outputSchema: {{type: object, properties: {{text: {{type: string}}}}, required: [text]}}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {{name: chair}}
spec:
  prompt: You chair.
  model: {{name: gpt-4, type: openai}}
  tools: [{{name: terminate_team}}]
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Query
metadata: {{name: question}}
spec:
  input: "Decide about {{{{.topic}}}}."
  parameters: [{{name: topic, value: cats}}]
  target: {{type: team, name: panel}}
  timeout: 1m30s
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Query
metadata: {{name: labelled}}
spec:
  input: [{{role: user, content: Hello}}]
  selector:
    matchLabels: {{group: a}}
    matchExpressions: [{{key: group, operator: In, values: [a, b]}}]
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Query
metadata: {{name: talk}}
spec:
  input:
    - {{role: system, content: Be brief.}}
    - {{role: user, name: me, content: [{{type: text, text: Look up}}, {{type: text, text: cats}}]}}
    - role: assistant
      content: null
      tool_calls:
        - {{id: c1, type: function, function: {{name: look-up, arguments: '{{"q": "cats"}}'}}}}
    - {{role: tool, tool_call_id: c1, content: none}}
    - {{role: user, content: [{{type: text, text: And dogs}}]}}
  targets: [{{type: team, name: inner}}]
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Model
metadata: {{name: default}}
spec:
  provider: openai
  model: {{value: gpt-4o}}
  config:
    openai:
      baseUrl: {{value: "https://example.com/v1"}}
      apiKey: {{valueFrom: {{secretKeyRef: {{name: keys, key: token}}}}}}
      properties: {{temperature: {{value: "0.5"}}}}
      headers: [{{name: X-Api-Key, value: {{value: {SECRET}}}}}]
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Tool
metadata: {{name: look-up}}
spec:
  type: http
  inputSchema: {{type: object, properties: {{q: {{type: string}}}}, required: [q]}}
  http:
    url: https://example.com/search?q={{q}}
    method: POST
    timeout: 10s
    body: '{{"q": "{{{{.input.q}}}}"}}'
    bodyParameters: [{{name: a, value: b}}]
    headers:
      - {{name: Authorization, value: {{valueFrom: {{secretKeyRef: {{name: keys, key: token}}}}}}}}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Tool
metadata: {{name: ask-chair}}
spec: {{type: agent, agent: {{name: chair}}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: keys}}
stringData: {{token: {SECRET}}}
data: {{other: aHVudGVyMi1uZXZlci1zaG93bg==}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: styles}}
data: {{prose: plainly}}
"""

DOCUMENTS: list[Any] = list(yaml.safe_load_all(VALID))

ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.just(10**40),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.sampled_from(
        [
            "",
            "agent",
            "team",
            "panel",
            "inner",
            "writer",
            "graph",
            "round-robin",
            "{{.x}}",
            "a|b:c",
            "__end__",
            "selector",
            "\x1b[2J",
            "assistant",
            "image_url",
            "{bad",
            "[1]",
        ]
    ),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2),
)

Holder = tuple[Any, Any]
"""A mapping or list, and a key of it."""


def _places(value: Any) -> list[Holder]:
    inner: list[Holder] = []
    if isinstance(value, dict):
        keys: list[Any] = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    else:
        return inner
    for key in keys:
        inner += [(value, key), *_places(value[key])]
    return inner


def _drop(place: Holder, _odd: Any) -> None:
    del place[0][place[1]]


def _put(place: Holder, odd: Any) -> None:
    place[0][place[1]] = odd


def _double(place: Holder, _odd: Any) -> None:
    holder, key = place
    if isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    else:
        holder[f"{key}2"] = copy.deepcopy(holder[key])


def _wrap(place: Holder, _odd: Any) -> None:
    place[0][place[1]] = [place[0][place[1]]]


def _as_text(place: Holder, _odd: Any) -> None:
    place[0][place[1]] = str(place[0][place[1]])


def _copy_in(place: Holder, _odd: Any) -> None:
    place[0][place[1]] = copy.deepcopy(DOCUMENTS[0]["spec"])


MUTATIONS: list[Callable[[Holder, Any], None]] = [
    _drop,
    _put,
    _double,
    _wrap,
    _as_text,
    _copy_in,
]


def _hold(manifest: Manifest) -> None:
    """A manifest came of it, all its problems can be said, and errors are of one kind."""
    assert isinstance(manifest, Manifest)
    assert manifest.era in ERAS
    for problem in (*manifest.problems, *manifest.notices):
        assert str(problem).isprintable()
    for document in manifest.documents:
        manifest.targets_of(document)
    assert all(len(secret) >= 4 for secret in manifest.secrets)
    if manifest.errors:
        with pytest.raises(ManifestError):
            manifest.raise_if_errors()
    else:
        manifest.raise_if_errors()
        _compile(manifest)


def _compile(manifest: Manifest) -> None:
    """What was not refused becomes patterns, with the tools of every agent."""
    endpoint = Endpoint(base_url="http://127.0.0.1:9/v1")
    for kind in ("Team", "Agent"):
        for name in {each.name for each in manifest.of_kind(kind)}:
            team_pattern(manifest, name, endpoint)
    for query in manifest.of_kind("Query"):
        for job in jobs_for(manifest, query=query.name, endpoint=endpoint):
            assert job.goal
    compiler = Compiler(manifest, endpoint, Redactor(manifest.secrets))
    for agent in manifest.of_kind("Agent"):
        assert compiler.agent(agent.name, agent.namespace).toolbox.tools is not None


def test_the_documents_that_are_mutated_are_valid() -> None:
    manifest = load_text(VALID)
    assert [str(problem) for problem in manifest.errors] == []
    assert manifest.era == "v0.1.67"
    assert manifest.secrets == {SECRET}


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_mutation_of_a_node_is_loaded_or_refused(data: st.DataObject) -> None:
    documents = copy.deepcopy(DOCUMENTS)
    for _ in range(data.draw(st.integers(1, 4))):
        places = _places(documents)
        place = places[data.draw(st.integers(0, len(places) - 1))]
        data.draw(st.sampled_from(MUTATIONS))(place, data.draw(ODD))
        if not documents:
            return
    as_json = data.draw(st.booleans())
    text = (
        "\n---\n".join(json.dumps(each) for each in documents)
        if as_json
        else yaml.safe_dump_all(documents)
    )
    manifest = load_text(text, compat=data.draw(st.sampled_from(["auto", *ERAS])))
    _hold(manifest)
    assert SECRET not in f"{manifest.problems} {manifest.notices} {manifest.documents}"


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_mutation_of_messages_is_loaded_or_refused(data: st.DataObject) -> None:
    documents = copy.deepcopy(DOCUMENTS)
    talk = next(each for each in documents if each["metadata"]["name"] == "talk")
    for _ in range(data.draw(st.integers(1, 3))):
        places = _places(talk["spec"]["input"])
        place = places[data.draw(st.integers(0, len(places) - 1))]
        data.draw(st.sampled_from(MUTATIONS))(place, data.draw(ODD))
    _hold(load_text(yaml.safe_dump_all(documents)))


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_any_mutation_of_the_text_is_loaded_or_refused(data: st.DataObject) -> None:
    text = VALID
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 30))
        piece = data.draw(
            st.one_of(
                st.text(max_size=5),
                st.sampled_from(
                    ["&a ", "*a", "<<: *a", "!!x ", "- ", "? ", ": ", "\n---\n", "|", "\0"]
                ),
            )
        )
        text = text[:start] + piece + text[end:]
    _hold(load_text(text))


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(), st.text(alphabet="{}[]:-,&*!|>'\"%@` \n\tab<?#.~0")))
def test_any_text_is_loaded_or_refused(text: str) -> None:
    _hold(load_text(text))
