"""What is said of documents that are wrong, in which words, and where."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest

from flowcompose.core.errors import ManifestProblem
from flowcompose.runner.manifest import Compat, Manifest, load_text

ARK = "apiVersion: ark.mckinsey.com/v1alpha1"

ROUND: Final = "v0.1.31"
GRAPH: Final = "v0.1.50"
LOOPS: Final = "v0.1.67"


def _document(kind: str, name: str, spec: str) -> str:
    """A document whose spec begins on its fifth line."""
    lines = "\n  ".join(spec.strip().splitlines())
    return f"{ARK}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  {lines}\n"


ENDPOINT = "baseUrl: {value: 'https://x.example'}, apiKey: {value: key-123}"
DEFAULT = _document(
    "Model",
    "default",
    f"""
type: openai
model: {{value: gpt-4o}}
config: {{openai: {{{ENDPOINT}}}}}
""",
)
AGENTS = "---\n".join(_document("Agent", name, f"prompt: I am {name}.") for name in "abc")
BASE = f"{DEFAULT}---\n{AGENTS}"


def _load(text: str, compat: Compat = "auto") -> Manifest:
    """Load a document together with a model and the agents a, b and c, which are right."""
    return load_text(f"{text}---\n{BASE}", file="t.yaml", compat=compat)


def _said(problems: Iterable[ManifestProblem]) -> list[str]:
    return [str(problem).removeprefix("t.yaml:") for problem in problems]


def _team(spec: str) -> str:
    return _document("Team", "t", spec)


AB = "members: [{name: a, type: agent}, {name: b, type: agent}]"

TEAM_ERRORS: list[tuple[Compat, str, str]] = [
    (
        ROUND,
        f"strategy: swarm\n{AB}",
        "5: spec.strategy: unsupported strategy 'swarm': must be 'sequential', 'round-robin', "
        "'selector', or 'graph'",
    ),
    (
        LOOPS,
        f"strategy: swarm\n{AB}",
        "5: spec.strategy: unsupported strategy 'swarm': must be 'sequential', 'round-robin', or "
        "'selector'",
    ),
    (
        ROUND,
        "strategy: sequential\nmembers:\n- {name: a, type: agent}\n- {name: t, type: team}",
        "8: spec.members[1].name: team member 1: team 't' cannot reference itself",
    ),
    (
        ROUND,
        "strategy: sequential\nmembers:\n- name: t\n  type: agent",
        "7: spec.members[0].name: team member 0: team 't' cannot reference itself",
    ),
    (
        ROUND,
        "strategy: sequential\nmembers:\n- type: agent\n  name: nobody",
        "8: spec.members[0].name: team member 0 references agent: agent 'nobody' does not exist "
        "in namespace 'default'",
    ),
    (
        ROUND,
        "strategy: sequential\nmembers: [{name: a, type: team}]",
        "6: spec.members[0].name: team member 0 references team: team 'a' does not exist in "
        "namespace 'default'",
    ),
    (
        ROUND,
        "strategy: sequential\nmembers:\n- name: a\n  type: robot",
        "8: spec.members[0].type: team member 0 has invalid type 'robot': must be 'agent' or "
        "'team'",
    ),
    (
        ROUND,
        "strategy: sequential\nmembers: [{name: a, type: ''}]",
        "6: spec.members[0].type: team member 0 has invalid type '': must be 'agent' or 'team'",
    ),
    (
        ROUND,
        "strategy: sequential\nmembers: []",
        "6: spec.members: a team needs at least one member: it has none",
    ),
    (
        ROUND,
        "strategy: sequential\nmembers: [{name: '', type: agent}]",
        "6: spec.members[0].name: team member 0 has an empty name",
    ),
    (
        GRAPH,
        f"strategy: selector\nmaxTurns: 3\n{AB}",
        "4: spec.selector.agent: selector strategy requires selector.agent to be specified",
    ),
    (
        GRAPH,
        f"strategy: selector\nmaxTurns: 3\nselector: {{model: default}}\n{AB}",
        "7: spec.selector.agent: selector strategy requires selector.agent to be specified; "
        "selector.model is read under v0.1.31 only",
    ),
    (
        LOOPS,
        f"strategy: selector\nmaxTurns: 3\nselector:\n  agent: nobody\n{AB}",
        "8: spec.selector.agent: selector agent 'nobody' not found in namespace default",
    ),
    (
        ROUND,
        f"strategy: graph\nmaxTurns: 3\n{AB}",
        "4: spec.graph: graph strategy requires graph configuration",
    ),
    (
        ROUND,
        f"strategy: graph\nmaxTurns: 3\ngraph: {{edges: []}}\n{AB}",
        "7: spec.graph.edges: graph strategy requires at least one edge",
    ),
    (
        GRAPH,
        f"strategy: graph\nmaxTurns: 3\n{AB}\ngraph:\n  edges:\n  - {{from: x, to: b}}\n",
        "10: spec.graph.edges[0].from: graph edge 0: 'from' member 'x' not found in team members",
    ),
    (
        GRAPH,
        f"strategy: graph\nmaxTurns: 3\n{AB}\ngraph: {{edges: [{{from: a, to: x}}]}}",
        "8: spec.graph.edges[0].to: graph edge 0: 'to' member 'x' not found in team members",
    ),
    (
        GRAPH,
        f"strategy: graph\nmaxTurns: 3\n{AB}\ngraph:\n  edges:\n  - {{from: a, to: b}}\n"
        "  - {from: a, to: a}",
        "11: spec.graph.edges[1]: member 'a' has more than one outgoing edge",
    ),
    (
        GRAPH,
        f"strategy: selector\nmaxTurns: 3\nselector: {{agent: c}}\n{AB}\ngraph: {{edges: []}}",
        "9: spec.graph.edges: graph constraint requires at least one edge",
    ),
    (
        LOOPS,
        f"strategy: selector\nmaxTurns: 3\nselector: {{agent: c}}\n{AB}\n"
        "graph: {edges: [{from: x, to: a}]}",
        "9: spec.graph.edges[0].from: graph edge 0: 'from' member 'x' not found in team members",
    ),
    (
        LOOPS,
        f"strategy: sequential\nmaxTurns: 3\n{AB}",
        "6: spec.maxTurns: maxTurns can only be set when loops is enabled",
    ),
    (
        LOOPS,
        f"strategy: selector\nloops: true\nmaxTurns: 3\nselector: {{agent: c}}\n{AB}",
        "6: spec.loops: loops can only be used with the 'sequential' strategy",
    ),
    (
        ROUND,
        f"strategy: round-robin\nmaxTurns: 0\n{AB}",
        "6: spec.maxTurns: maxTurns must be at least 1, not 0",
    ),
    (
        ROUND,
        f"strategy: round-robin\nmaxTurns: -2\n{AB}",
        "6: spec.maxTurns: maxTurns must be at least 1, not -2",
    ),
]


@pytest.mark.parametrize(("compat", "spec", "message"), TEAM_ERRORS)
def test_what_is_wrong_with_a_team_is_said(compat: Compat, spec: str, message: str) -> None:
    manifest = _load(_team(spec), compat)
    assert _said(manifest.errors) == [message]
    assert not manifest.documents[0].ok
    assert all(document.ok for document in manifest.documents[1:])


CAP = "; it runs with a cap of 100 turns"

TEAM_WARNINGS: list[tuple[Compat, str, str]] = [
    (
        ROUND,
        f"strategy: round-robin\n{AB}",
        "4: spec.maxTurns: round-robin strategy requires maxTurns to prevent infinite execution"
        + CAP,
    ),
    (
        GRAPH,
        f"strategy: selector\nselector: {{agent: c}}\n{AB}",
        f"4: spec.maxTurns: selector strategy requires maxTurns to prevent infinite execution{CAP}",
    ),
    (
        ROUND,
        f"strategy: graph\n{AB}\ngraph: {{edges: [{{from: a, to: b}}]}}",
        f"4: spec.maxTurns: graph strategy requires maxTurns to prevent infinite execution{CAP}",
    ),
    (
        LOOPS,
        f"strategy: sequential\nloops: true\n{AB}",
        f"4: spec.maxTurns: maxTurns is required when loops is enabled{CAP}",
    ),
    (
        LOOPS,
        f"strategy: round-robin\nmaxTurns: 2\n{AB}",
        "5: spec.strategy: round-robin is no strategy any more: it runs as sequential, with loops "
        "and the same maxTurns",
    ),
    (
        LOOPS,
        f"strategy: round-robin\n{AB}",
        "5: spec.strategy: round-robin is no strategy any more: it runs as sequential, with one "
        "pass",
    ),
    (
        LOOPS,
        f"strategy: graph\nmaxTurns: 2\n{AB}\ngraph: {{edges: [{{from: a, to: x}}]}}",
        "5: spec.strategy: graph is no strategy any more: it runs as sequential, in the members' "
        "order",
    ),
    (
        ROUND,
        f"strategy: sequential\nmaxTurns: 2\n{AB}",
        "6: spec.maxTurns: maxTurns is ignored: in a sequential team each member speaks once",
    ),
    (
        ROUND,
        f"strategy: selector\nmaxTurns: 2\nselector: {{model: gpt}}\n{AB}",
        "7: spec.selector.model: selector model gpt not found in namespace default",
    ),
    (
        GRAPH,
        f"strategy: selector\nmaxTurns: 2\nselector: {{agent: c, model: gpt}}\n{AB}",
        "7: spec.selector.model: selector.model is ignored: the agent chooses, with its own model",
    ),
    (
        ROUND,
        f"strategy: selector\nmaxTurns: 2\n{AB}\ngraph: {{edges: [{{from: a, to: b}}]}}",
        "8: spec.graph: graph is ignored: a selector is not constrained under v0.1.31",
    ),
    (
        GRAPH,
        f"strategy: selector\nmaxTurns: 2\nselector: {{agent: c}}\n{AB}\n"
        "graph: {edges: [{from: c, to: a}, {from: a, to: b}]}",
        "9: spec.graph.edges[0].from: 'c' is no member: its edges say who may be chosen first",
    ),
    (
        LOOPS,
        f"strategy: selector\nmaxTurns: 2\nselector: {{agent: c}}\n{AB}\n"
        "graph: {edges: [{from: c, to: a}, {from: a, to: b}]}",
        "9: spec.graph.edges[0].from: graph edge 0: 'from' member 'c' not found in team members: "
        "it has no effect under v0.1.67",
    ),
    (
        GRAPH,
        f"strategy: selector\nmaxTurns: 2\n{AB}\nselector:\n  agent: c\n"
        "  selectorPrompt: '{{.Roles}} {{- .History -}} {{.Input}}'",
        "10: spec.selector.selectorPrompt: {{.Input}} is not filled in: a selector prompt has "
        "{{.Roles}}, {{.Participants}}, {{.History}}",
    ),
    (
        GRAPH,
        f"strategy: selector\nmaxTurns: 2\n{AB}\n"
        "selector: {agent: c, selectorPrompt: '{{if .Roles}}'}",
        "8: spec.selector.selectorPrompt: {{if .Roles}} is not filled in: a selector prompt has "
        "{{.Roles}}, {{.Participants}}, {{.History}}",
    ),
    (
        ROUND,
        f"strategy: graph\nmaxTurns: 3\ngraph: {{edges: [{{from: b, to: a}}]}}\n{AB}",
        "8: spec.members[1]: member 'b' is never reached: no edge leads to it from the start",
    ),
    (
        ROUND,
        "strategy: sequential\nmembers: [{name: a}]",
        "6: spec.members[0]: team member 0 'a' has no type: taken for an agent",
    ),
    (
        ROUND,
        f"strategy: sequential\ngraph: {{edges: [{{from: a, to: b}}]}}\n{AB}",
        "6: spec.graph: graph is ignored: the strategy is 'sequential'",
    ),
    (ROUND, f"strategy: sequential\nmaxTurn: 3\n{AB}", "6: spec.maxTurn: unknown field 'maxTurn'"),
    (
        ROUND,
        f"strategy: sequential\nmemory: {{enabled: true}}\n{AB}",
        "6: spec.memory: memory is ignored: nothing is kept between runs but checkpoints",
    ),
]


@pytest.mark.parametrize(("compat", "spec", "message"), TEAM_WARNINGS)
def test_what_a_team_runs_without_is_said(compat: Compat, spec: str, message: str) -> None:
    manifest = _load(_team(spec), compat)
    assert (_said(manifest.errors), _said(manifest.warnings)) == ([], [message])
    assert manifest.documents[0].ok


def test_agents_of_another_system_do_not_mix_with_ours() -> None:
    external = _document("Agent", "x", "prompt: X\nexecutionEngine: {name: langchain}")
    team = _team("strategy: sequential\nmembers: [{name: a, type: agent}, {name: x, type: agent}]")
    mixed = "6: spec.members[1]: mixed teams are not allowed: team contains both internal and "
    said = _said(_load(f"{team}---\n{external}", GRAPH).errors)
    assert said[0].startswith(mixed)
    assert _said(_load(f"{team}---\n{external}", LOOPS).errors) == []
    ignored = "executionEngine 'langchain' is ignored: it runs as all do"
    assert ignored in "".join(_said(_load(external).warnings))


def test_members_without_a_type_are_what_is_loaded_under_their_name() -> None:
    inner = _document("Team", "inner", f"strategy: sequential\n{AB}")
    manifest = _load(_team("strategy: sequential\nmembers: [{name: inner}]") + f"---\n{inner}")
    taken = "6: spec.members[0]: team member 0 'inner' has no type: taken for a team"
    assert (_said(manifest.errors), _said(manifest.warnings)) == ([], [taken])


def test_a_name_that_is_nearly_right_is_guessed() -> None:
    team = _team("strategy: sequential\nmembers: [{name: writr, type: agent}]")
    writer = _document("Agent", "writer", "prompt: I write.")
    (message,) = _said(_load(f"{team}---\n{writer}").errors)
    assert message.endswith("'writr' does not exist in namespace 'default': did you mean 'writer'?")


# --- what holds what ------------------------------------------------------------------------


def _holding(name: str, *members: str) -> str:
    listed = ", ".join(f"{{name: {member}, type: team}}" for member in members)
    return _document("Team", name, f"strategy: sequential\nmembers: [{listed}]")


def test_teams_that_contain_each_other_are_shown_as_a_circle() -> None:
    text = "---\n".join([_holding("x", "y"), _holding("y", "z"), _holding("z", "y", "x")])
    assert _said(_load(text).errors) == [
        "20: spec.members[0].name: teams contain each other: y -> z -> y",
        "20: spec.members[1].name: teams contain each other: x -> y -> z -> x",
    ]


def test_agents_that_ask_each_other_are_shown_as_a_circle() -> None:
    agent = _document("Agent", "x", "prompt: X\ntools: [{type: agent, name: ask}]")
    tool = _document("Tool", "ask", "type: team\nteam: {name: t}")
    team = _team("strategy: sequential\nmembers: [{name: x, type: agent}]")
    manifest = _load(f"{agent}---\n{tool}---\n{team}")
    assert not manifest.errors  # it is up to their models, and has an end
    circle = "spec.members[0].name: they may ask each other in a circle: x -> t -> x"
    assert circle in " ".join(_said(manifest.warnings))


def test_a_chooser_that_asks_its_own_team_is_shown_as_a_circle() -> None:
    tool = _document("Tool", "ask", "type: team\nteam: {name: t}")
    tool = tool.replace("name: ask}", "name: ask, labels: {group: g}}")
    chair = "tools: [{type: custom, labelSelector: {matchLabels: {group: g}}}]"
    team = _team(f"strategy: selector\nmaxTurns: 2\nselector: {{agent: x}}\n{AB}")
    text = f"{team}---\n{_document('Agent', 'x', chair)}---\n{tool}"
    manifest = _load(text)
    assert not manifest.errors
    circle = "14: spec.tools[0]: they may ask each other in a circle: t -> x -> t"
    assert circle in _said(manifest.warnings)


def test_teams_nest_only_so_deep_and_come_to_only_so_much() -> None:
    chain = [_holding(f"n{index}", f"n{index + 1}") for index in range(1500)]
    deep = load_text("---\n".join([*chain, _holding("n1500")]))
    assert [each.message for each in deep.errors if "deep" in each.message] == [
        "nested deeper than 50 levels"
    ]
    wide = [_holding(f"n{index}", *[f"n{index + 1}"] * 30) for index in range(4)]
    leaf = _document("Team", "n4", f"strategy: sequential\n{AB}")
    text = "---\n".join([*wide, leaf])
    too_many = "comes to more than 10000 members, those of its teams counted"
    assert too_many in "".join(_said(_load(text).errors))


def test_a_document_that_stands_twice_is_named_with_both_places() -> None:
    team = _team(f"strategy: sequential\n{AB}")
    assert _said(_load(f"{team}---\n{team}").errors) == [
        "10: metadata.name: Team 't' stands twice, first at t.yaml:1"
    ]
    other = team.replace("name: t}", "name: t, namespace: other}")
    assert _said(_load(f"{team}---\n{other}").errors) == []


# --- the other kinds ------------------------------------------------------------------------

HTTP = "type: http\nhttp:\n  url: https://example.com"

USER: Final = "{role: user, content: hi}"

ERRORS: list[tuple[str, str, str]] = [
    (
        "Agent",
        "tools:\n- type: built-in",
        "6: spec.tools[0]: tool[0]: built-in tools must specify a name",
    ),
    (
        "Agent",
        "tools:\n- type: built-in\n  name: fly",
        "7: spec.tools[0].name: tool[0]: unsupported built-in tool 'fly': supported built-in tools "
        "are: noop, terminate",
    ),
    (
        "Agent",
        "tools: [{type: magic, name: fly}]",
        "5: spec.tools[0].type: tool[0]: unsupported tool type 'magic': supported types are: "
        "built-in, custom, mcp, http, agent, team, builtin",
    ),
    (
        "Agent",
        "tools: [{type: custom}]",
        "5: spec.tools[0]: tool[0]: custom tools must specify a name",
    ),
    (
        "Agent",
        "tools: [{type: custom, name: fly}]",
        "5: spec.tools[0].name: tool[0]: tool 'fly' does not exist in namespace 'default'",
    ),
    (
        "Agent",
        "tools: [{description: Flies.}]",
        "5: spec.tools[0]: tool[0]: a type and a name must be given",
    ),
    (
        "Agent",
        "tools: [look-up]",
        "5: spec.tools[0]: must be a mapping, not a string ('look-up')",
    ),
    (
        "Agent",
        "model: gpt-4",
        "5: spec.model: model is no string any more: use modelRef: {name: gpt-4}",
    ),
    (
        "Agent",
        "model: shared/gpt-4",
        "5: spec.model: model is no string any more: use modelRef: {name: gpt-4, namespace: "
        "shared}",
    ),
    ("Agent", "systemPrompt: Hi", "5: spec.systemPrompt: systemPrompt is obsolete: use prompt"),
    (
        "Agent",
        "modelSelector: {default: x}",
        "5: spec.modelSelector: modelSelector is obsolete: use modelRef: {name: ...}",
    ),
    (
        "Agent",
        "parameters: [{name: '', value: x}]",
        "5: spec.parameters[0].name: parameter[0]: name cannot be empty",
    ),
    (
        "Agent",
        "parameters: [{name: p, value: x, valueFrom: {queryParameterRef: {name: q}}}]",
        "5: spec.parameters[0]: parameter[0] 'p': cannot specify both value and valueFrom",
    ),
    (
        "Agent",
        "parameters: [{name: p}]",
        "5: spec.parameters[0]: parameter[0] 'p': must specify either value or valueFrom",
    ),
    (
        "Query",
        "input: hi\ntarget: {type: agent, name: a}\nparameters: [{name: p, valueFrom: {}}]",
        "7: spec.parameters[0].valueFrom: parameter[0] 'p': valueFrom must specify exactly one "
        "source",
    ),
    (
        "Query",
        "input: ''\ntarget: {type: agent, name: a}",
        "5: spec.input: input must not be empty",
    ),
    (
        "Query",
        "input: [{role: robot, content: hi}]\ntarget: {type: agent, name: a}",
        "5: spec.input[0].role: message 0 has the role 'robot': allowed are system, developer, "
        "user, assistant, tool",
    ),
    (
        "Query",
        "input: [{role: user}]\ntarget: {type: agent, name: a}",
        "5: spec.input[0].content: message 0 must have a `content`: a text, or a list of parts",
    ),
    (
        "Query",
        "input: [{role: tool, content: x}, {role: user, content: x}]\n"
        "target: {type: agent, name: a}",
        "5: spec.input[0].tool_call_id: message 0 must have a `tool_call_id`: a tool answers "
        "a call",
    ),
    *(
        ("Query", f"input:\n- {message}\n- {USER}\ntarget: {{type: agent, name: a}}", f"6: {said}")
        for message, said in (
            (
                "{role: user, content: [5]}",
                "spec.input[0].content[0]: message 0 has a part that is no mapping with a `type`",
            ),
            (
                "{role: user, content: [{type: text}]}",
                "spec.input[0].content[0].text: message 0 has a part of the type 'text' without a "
                "`text`",
            ),
            (
                "{role: user, content: hi, name: 5}",
                "spec.input[0].name: message 0 must have a string as its `name`",
            ),
            (
                "{role: assistant, tool_calls: 5}",
                "spec.input[0].tool_calls: message 0 must have a list as its `tool_calls`",
            ),
            (
                "{role: assistant, tool_calls: [5]}",
                "spec.input[0].tool_calls[0]: message 0 has a tool call that is no mapping",
            ),
            (
                "{role: assistant, tool_calls: [{function: {name: f, arguments: '{}'}}]}",
                "spec.input[0].tool_calls[0].id: message 0 has a tool call without an `id`",
            ),
            (
                "{role: assistant, tool_calls: [{id: c}]}",
                "spec.input[0].tool_calls[0].function: message 0 has a tool call that is none of "
                "a `function`",
            ),
            (
                "{role: assistant, tool_calls: [{id: c, function: {arguments: '{}'}}]}",
                "spec.input[0].tool_calls[0].function.name: message 0 has a tool call whose "
                "function has no `name`",
            ),
            *(
                (
                    f"{{role: assistant, tool_calls: [{{id: c, function: {function}}}]}}",
                    "spec.input[0].tool_calls[0].function.arguments: message 0 has a tool call "
                    "whose `arguments` are no JSON object in a string",
                )
                for function in (
                    "{name: f}",
                    "{name: f, arguments: {}}",
                    "{name: f, arguments: '{bad'}",
                    "{name: f, arguments: '[1]'}",
                    "{name: f, arguments: '{\"n\": NaN}'}",
                )
            ),
        )
    ),
    *(
        ("Query", f"input: [{USER}, {last}]\ntarget: {{type: agent, name: a}}", f"5: {said}")
        for last, said in (
            (
                "{role: assistant, content: hi}",
                "spec.input[1]: its last message must be one of the user",
            ),
            (
                "{role: user, content: ''}",
                "spec.input[1]: its last message must not be empty",
            ),
            (
                "{role: user, content: [{type: image_url, image_url: {url: 'https://a/b.png'}}]}",
                "spec.input[1]: a team is asked a text: its last message must hold no other parts",
            ),
        )
    ),
    ("Query", "input: hi", "4: spec: at least one target or selector must be specified"),
    (
        "Query",
        "input: hi\ntargets: [{type: robot, name: a}]",
        "6: spec.targets[0].type: target[0]: unsupported type 'robot': supported types are: agent, "
        "team, model, tool",
    ),
    (
        "Query",
        "input: hi\ntargets:\n- {type: agent, name: a}\n- {type: agent, name: x}",
        "8: spec.targets[1].name: target[1] references agent: agent 'x' does not exist in "
        "namespace 'default'",
    ),
    (
        "Query",
        "input: hi\ntarget: {type: tool, name: x}",
        "6: spec.target.name: target references tool: tool 'x' does not exist in namespace "
        "'default'",
    ),
    (
        "Query",
        "input: hi\nselector: {matchLabels: {a: b}}",
        "6: spec.selector: selector fits none of the documents that are loaded",
    ),
    (
        "Query",
        "input: hi\nselector: {matchExpressions: [{key: a, operator: Is}]}",
        "6: spec.selector.matchExpressions[0].operator: unknown operator 'Is': must be In, NotIn, "
        "Exists, DoesNotExist",
    ),
    (
        "Query",
        "input: hi\ntimeout: soon\ntarget: {type: agent, name: a}",
        "6: spec.timeout: 'soon' is no length of time: write one such as '30s', '5m' or '1h30m'",
    ),
    (
        "Model",
        "type: azure\nmodel: {value: x}",
        "4: spec.config: azure configuration is required for azure model type",
    ),
    (
        "Model",
        "type: bard\nmodel: {value: x}",
        "5: spec.type: unsupported model type 'bard': must be 'completions', 'openai', 'azure', "
        "'bedrock', or 'anthropic'",
    ),
    (
        "Model",
        "provider: bard\nmodel: {value: x}",
        "5: spec.provider: unsupported provider 'bard': must be 'openai', 'azure', 'bedrock', or "
        "'anthropic'",
    ),
    (
        "Model",
        "model: {value: x}",
        "4: spec.provider: provider is required: 'openai', 'azure', 'bedrock', or 'anthropic'",
    ),
    (
        "Model",
        "type: openai\nmodel: {value: x}\nconfig: {openai: {apiKey: {value: k}}}",
        "7: spec.config.openai.baseUrl: 'baseUrl' is required",
    ),
    (
        "Model",
        "type: openai\nmodel: {value: x}\n"
        "config: {openai: {baseUrl: {value: ftp://x.example}, apiKey: {value: k}}}",
        "7: spec.config.openai.baseUrl.value: invalid URL format: it must begin with http:// or "
        "https://",
    ),
    (
        "Model",
        f"type: openai\nmodel: {{value: x}}\nconfig: {{openai: {{{ENDPOINT}, headers: "
        "[{name: '', value: {value: x}}]}}",
        "7: spec.config.openai.headers[0].name: headers[0]: name is required",
    ),
    (
        "Model",
        f"type: openai\nmodel: {{value: x}}\nconfig: {{openai: {{{ENDPOINT}, properties: "
        "{temperature: {value: hot}, top_p: {value: '1'}}}}",
        "7: spec.config.openai.properties.temperature: temperature must be a number, such as '0.5'",
    ),
    (
        "Model",
        f"type: openai\nmodel: {{value: x}}\nconfig: {{openai: {{{ENDPOINT}, properties: "
        "{max_tokens: {value: '1.5'}, seed: {value: '3'}}}}",
        "7: spec.config.openai.properties.max_tokens: max_tokens must be a whole number, such as "
        "'100'",
    ),
    (
        "Model",
        f"type: openai\nmodel: {{value: x}}\nconfig: {{openai: {{{ENDPOINT}, properties: "
        "{logprobs: {value: maybe}}}}",
        "7: spec.config.openai.properties.logprobs: logprobs must be 'true' or 'false'",
    ),
    ("Tool", "type: http", "4: spec.http: http spec is required for http type"),
    ("Tool", "type: http\nhttp: {}", "6: spec.http.url: URL is required for http tool"),
    *(
        (
            "Tool",
            f"type: http\nhttp: {{url: '{url}'}}",
            f"6: spec.http.url: invalid URL '{url.rpartition('@')[2]}': {problem}",
        )
        for url, problem in (
            ("file:///etc/passwd", "it must begin with http:// or https://"),
            ("https://", "it names no host"),
            ("http://{u}/y", "its server must not depend on an argument"),
            ("http://h{u}", "its server must not depend on an argument"),
            ("http://[::1", "it is no URL"),
            ("http://a b/", "it holds blanks or control characters"),
            ("http://h:99999/", "it is no URL"),
            (
                "http://user:password@h/",
                "it must hold no user or password: they belong in a key or a header",
            ),
        )
    ),
    (
        "Tool",
        f"{HTTP}\n  method: LOOK",
        "8: spec.http.method: invalid HTTP method 'LOOK': supported methods are GET, POST, PUT, "
        "DELETE, PATCH",
    ),
    (
        "Tool",
        f"{HTTP}\n  timeout: soon",
        "8: spec.http.timeout: 'soon' is no timeout of a tool: write a whole number with s, m or "
        "h: '30s'",
    ),
    *(
        (
            "Tool",
            f"{HTTP}\n  timeout: {timeout}",
            f"8: spec.http.timeout: '{timeout}' is no timeout of a tool: write a whole number with "
            "s, m or h: '30s'",
        )
        for timeout in ("1h30m", "500ms", "1.5s", "-1s", "9999999999999s")
    ),
    (
        "Tool",
        f"{HTTP}\ninputSchema: {{type: thing}}",
        "8: spec.inputSchema: invalid inputSchema: invalid schema type 'thing': must be one of "
        "object, array, string, number, integer, boolean, null",
    ),
    (
        "Tool",
        f"{HTTP}\ninputSchema: {{type: object, properties: {{q: {{type: 3}}}}}}",
        "8: spec.inputSchema: invalid inputSchema: invalid property 'q' schema: invalid schema "
        "type 3: must be one of object, array, string, number, integer, boolean, null",
    ),
    ("Tool", "type: mcp", "4: spec.mcp: MCP spec is required for mcp type"),
    (
        "Tool",
        "type: mcp\nmcp: {toolName: x}",
        "6: spec.mcp.mcpServerRef: MCP server name is required",
    ),
    (
        "Tool",
        "type: mcp\nmcp: {mcpServerRef: {name: x}}",
        "6: spec.mcp.toolName: MCP tool name is required",
    ),
    ("Tool", "type: agent", "4: spec.agent: agent field is required for agent type"),
    (
        "Tool",
        "type: team\nteam: {name: x}",
        "6: spec.team.name: references team: team 'x' does not exist in namespace 'default'",
    ),
    (
        "Tool",
        "type: builtin\nbuiltin: {name: fly}",
        "6: spec.builtin.name: unsupported builtin tool 'fly': supported builtin tools are: noop, "
        "terminate",
    ),
    (
        "Tool",
        "type: magic",
        "5: spec.type: unsupported tool type 'magic': must be 'http', 'mcp', 'agent', 'team', or "
        "'builtin'",
    ),
    ("Tool", "http: {url: 'https://example.com'}", "4: spec.type: 'type' is required"),
]


@pytest.mark.parametrize(("kind", "spec", "message"), ERRORS)
def test_what_is_wrong_with_a_document_is_said(kind: str, spec: str, message: str) -> None:
    assert _said(_load(_document(kind, "x", spec)).errors) == [message]


WARNINGS: list[tuple[str, str, str]] = [
    (
        "Query",
        "input: [{role: user, content: [{type: image_url, image_url: {url: x}}]}, "
        f"{USER}]\ntarget: {{type: agent, name: a}}",
        "5: spec.input[0].content[0]: message 0: a part of the type 'image_url' is not passed on, "
        "only text is",
    ),
    (
        "Query",
        "input: [{role: user, content: hi, tool_calls: 5}]\ntarget: {type: agent, name: a}",
        "5: spec.input[0].tool_calls: message 0: 'tool_calls' is not passed on with the role "
        "'user'",
    ),
    (
        "Agent",
        "tools: [{name: terminate_team}]",
        "5: spec.tools[0]: tool[0] 'terminate_team' has no type: taken for the terminate tool",
    ),
    (
        "Agent",
        "model: {name: gpt-4, type: openai}",
        "5: spec.model: model is not of the schema: use modelRef: {name: gpt-4}",
    ),
    (
        "Agent",
        "modelRef: {name: gpt}",
        "5: spec.modelRef.name: model gpt not found in namespace default",
    ),
    (
        "Agent",
        "tools: [{type: mcp, name: x}]",
        "5: spec.tools[0].name: tool[0]: MCP tools are not offered to the model here",
    ),
    (
        "Agent",
        "tools: [{type: custom, labelSelector: {matchLabels: {a: b}}}]",
        "5: spec.tools[0].labelSelector: labelSelector fits none of the tools that are loaded",
    ),
    (
        "Agent",
        "prompt: '{{.q}}'\nparameters: [{name: p, value: x}]",
        "5: spec.prompt: {{.q}} is no parameter: it becomes <no value>",
    ),
    (
        "Agent",
        "prompt: '{{if .p}}'\nparameters: [{name: p, value: x}]",
        "5: spec.prompt: {{if .p}} stays as it is: only {{.name}} is filled in",
    ),
    (
        "Agent",
        "parameters: [{name: p, valueFrom: {configMapKeyRef: {name: c, key: k}}}]",
        "5: spec.parameters[0].valueFrom.configMapKeyRef.name: parameter[0] 'p': configMap 'c' "
        "does not exist in namespace 'default'",
    ),
    (
        "Agent",
        "parameters: [{name: p, valueFrom: {serviceRef: {name: s}}}]",
        "5: spec.parameters[0].valueFrom.serviceRef: parameter[0] 'p': the service 's' of a "
        "cluster is not found here",
    ),
    (
        "Agent",
        "outputSchema: {type: thing}",
        "5: spec.outputSchema: outputSchema is ignored: invalid schema type 'thing': must be one "
        "of object, array, string, number, integer, boolean, null",
    ),
    (
        "Query",
        "input: hi\nteam: {name: t}\ntargets: [{type: agent, name: a}]\nttl: 1h",
        "8: spec.ttl: ttl is ignored: nothing is kept here",
    ),
    (
        "Query",
        "input: hi\ntargets: [{type: model, name: x}]",
        "6: spec.targets[0].name: target[0] references model: model 'x' does not exist in "
        "namespace 'default'",
    ),
    (
        "Model",
        "type: openai\nmodel: {value: x}\n"
        "config: {openai: {baseUrl: {value: ($azure.url)}, apiKey: {value: k}}}",
        "7: spec.config.openai.baseUrl.value: baseUrl is only a placeholder: give --base-url",
    ),
    (
        "Model",
        "type: openai\nmodel: {value: x}\n"
        "config: {openai: {baseUrl: {value: 'https://x'}, apiKey: {value: <your-key>}}}",
        "7: spec.config.openai.apiKey.value: apiKey is only a placeholder: give --api-key",
    ),
    (
        "Model",
        "type: openai\nmodel: {value: x}\nconfig: {openai: {baseUrl: {value: 'https://x'}, "
        "apiKey: {valueFrom: {secretKeyRef: {name: s, key: k}}}}}",
        "7: spec.config.openai.apiKey.valueFrom.secretKeyRef.name: secret 's' does not exist in "
        "namespace 'default'",
    ),
    (
        "Model",
        "provider: bedrock\nmodel: {value: x}\nconfig: {bedrock: {}}",
        "4: spec: bedrock models are not called here: give --base-url",
    ),
    (
        "Tool",
        "type: mcp\nmcp: {mcpServerRef: {name: s}, toolName: x}",
        "6: spec.mcp: MCP tools are not offered to the model here",
    ),
    (
        "Tool",
        "type: http\nhttp: {url: '($mock.url)/x'}",
        "6: spec.http.url: url is only a placeholder: put in where the tool is",
    ),
    (
        "Tool",
        f"{HTTP}\n  method: POST\n"
        "  body: '{{.x}} {{- .input.x -}} {{.input}} {{toJson .input}}'",
        "9: spec.http.body: {{toJson .input}} stays as it is: only {{.input.name}}, {{.input}} and "
        "{{.name}} are filled in",
    ),
]


@pytest.mark.parametrize(("kind", "spec", "message"), WARNINGS)
def test_what_a_document_runs_without_is_said(kind: str, spec: str, message: str) -> None:
    team = _team(f"strategy: sequential\n{AB}")
    manifest = _load(f"{_document(kind, 'x', spec)}---\n{team}")
    said = [each for each in _said(manifest.warnings) if "spec.team" not in each]
    assert (_said(manifest.errors), said) == ([], [message])


def test_a_scheme_may_be_written_in_capitals() -> None:
    assert (
        _load(_document("Tool", "x", "type: http\nhttp: {url: 'HTTP://host/{q}'}")).problems == ()
    )


def test_a_key_that_is_not_in_a_secret_is_said() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {other: x}\n"
    ref = "{name: p, valueFrom: {secretKeyRef: {name: s, key: k}}}"
    agent = _document("Agent", "x", f"parameters: [{ref}]")
    assert _said(_load(f"{agent}---\n{secret}").warnings) == [
        "5: spec.parameters[0].valueFrom.secretKeyRef.key: parameter[0] 'p': key 'k' not found in "
        "secret 's' in namespace 'default'"
    ]


@pytest.mark.parametrize(
    ("spec", "messages"),
    [
        ("agents: [{name: x}]\nworkflow: {type: sequential}", ["agents", "workflow"]),
        ("teams: [x]\nstrategy: sequential", ["teams"]),
    ],
)
def test_an_obsolete_team_is_told_what_to_use(spec: str, messages: list[str]) -> None:
    said = _said(_load(_team(spec)).errors)
    assert [each.split(" is obsolete: use ")[0].split(": ")[-1] for each in said] == messages
    assert "agents: use members" not in said


def test_an_obsolete_tool_is_told_what_to_use() -> None:
    said = _said(_load(_document("Tool", "x", "type: function\nfunction: {name: f}")).errors)
    assert "6: spec.function: function is obsolete: use type: http and http: {url: ...}" in said


# --- shapes ---------------------------------------------------------------------------------


def test_types_are_strict_and_all_problems_are_said_at_once() -> None:
    text = _team("""
strategy: 5
maxTurns: three
loops: maybe
description: [x]
members:
- name: true
  type: agent
- a
- type: agent
selector: x
graph: {edges: {from: a}}
""")
    assert _said(_load(text).errors) == [
        "5: spec.strategy: must be a string, not a number (5): put it in quotes",
        "6: spec.maxTurns: must be a whole number, not a string ('three')",
        "7: spec.loops: must be true or false, not a string ('maybe')",
        "8: spec.description: must be a string, not a list",
        "10: spec.members[0].name: must be a string, not a boolean (true): put it in quotes",
        "12: spec.members[1]: must be a mapping, not a string ('a')",
        "13: spec.members[2].name: 'name' is required",
        "14: spec.selector: must be a mapping, not a string ('x')",
        "15: spec.graph.edges: must be a list, not a mapping",
    ]


def test_what_does_not_fit_does_not_hide_what_is_wrong_with_the_rest() -> None:
    text = _team("strategy: round-robin\nmaxTurns: three\nmembers: [{name: x, type: agent}]")
    query = _document("Query", "q", "input: 3\ntarget: {type: team, name: nobody}")
    assert _said(_load(f"{text}---\n{query}").errors) == [
        "6: spec.maxTurns: must be a whole number, not a string ('three')",
        "7: spec.members[0].name: team member 0 references agent: agent 'x' does not exist in "
        "namespace 'default'",
        "13: spec.input: must be a text, or a list of messages",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{ARK}\nkind: Team", "1: metadata: 'metadata' is required: a mapping with a name"),
        (f"{ARK}\nkind: Team\nmetadata: {{}}", "3: metadata.name: 'name' is required: a string"),
        (
            f"{ARK}\nkind: Team\nmetadata: {{name: 3}}",
            "3: metadata.name: must be a string, not a number (3): put it in quotes",
        ),
        (
            f"{ARK}\nkind: Team\nmetadata: {{name: t, labels: {{a: 1}}}}",
            "3: metadata.labels.a: must be a string, not a number (1): put it in quotes",
        ),
        ("kind: Team", "1: apiVersion: 'apiVersion' is required: ark.mckinsey.com/v1alpha1"),
        (
            "apiVersion: ark.mckinsey.com/v2\nkind: Team",
            "1: apiVersion: 'ark.mckinsey.com/v2' is not known: write ark.mckinsey.com/v1alpha1",
        ),
        (f"{ARK}\nkind: Team", "1: spec: 'spec' is required"),
        (f"{ARK}\nkind: Team\nspec: [a]", "3: spec: must be a mapping, not a list"),
        (f"{ARK}\nkind: team", "2: kind: the kind 'team' is written 'Team'"),
        ("- a", "1: kind: a document must be a mapping, not a list"),
        ("hello", "1: kind: a document must be a mapping, not a string ('hello')"),
    ],
)
def test_a_document_must_say_what_it_is(text: str, message: str) -> None:
    assert message in _said(load_text(text, file="t.yaml").errors)


def test_a_field_without_a_value_is_a_field_that_is_not_there() -> None:
    text = _team(f"strategy: sequential\nmaxTurns:\nselector: null\n{AB}")
    assert _load(text).problems == ()


def test_what_a_cluster_adds_to_a_document_is_no_problem() -> None:
    text = _team(f"strategy: sequential\n{AB}").replace(
        "{name: t}", "{name: t, uid: x, generation: 3, annotations: {a/b.c: d}}"
    )
    assert _load(f"{text}status: {{phase: done}}\n").problems == ()
    unknown = "7: extra: unknown field 'extra'"
    assert _said(_load(f"{text}extra: 1\n").warnings) == [unknown]


# --- namespaces


def _in(namespace: str, document: str) -> str:
    return document.replace("metadata: {", f"metadata: {{namespace: {namespace}, ")


def test_a_document_of_the_only_other_namespace_is_taken_and_named() -> None:
    member = _in("n1", _document("Agent", "far", "prompt: x"))
    team = _team("strategy: sequential\nmembers: [{name: far, type: agent}]")
    manifest = load_text(f"{team}---\n{member}---\n{BASE}", file="t.yaml")
    assert manifest.errors == ()
    assert _said(manifest.warnings) == [
        "6: spec.members[0].name: Agent 'far' is taken from namespace 'n1': this document has none "
        "of its own"
    ]


def test_documents_of_several_other_namespaces_are_a_choice_that_nobody_makes() -> None:
    far = _document("Agent", "far", "prompt: x")
    team = _team("strategy: sequential\nmembers: [{name: far, type: agent}]")
    text = f"{team}---\n{_in('n1', far)}---\n{_in('n2', far)}---\n{BASE}"
    assert _said(load_text(text, file="t.yaml").errors) == [
        "6: spec.members[0].name: team member 0 references agent: agent 'far' does not exist in "
        "namespace 'default', but in 'n1' and 'n2'"
    ]


def test_a_document_of_a_namespace_finds_its_own_and_those_without() -> None:
    far = _document("Agent", "far", "prompt: x")
    team = _in(
        "n2",
        _team("strategy: sequential\nmembers: [{name: far, type: agent}, {name: a, type: agent}]"),
    )
    text = f"{team}---\n{_in('n1', far)}---\n{BASE}"
    assert _said(load_text(text, file="t.yaml").errors) == [
        "6: spec.members[0].name: team member 0 references agent: agent 'far' does not exist in "
        "namespace 'n2', but in 'n1'"
    ]


def test_a_model_of_several_other_namespaces_is_a_choice_too() -> None:
    agent = _document("Agent", "x", "prompt: x")
    text = f"{agent}---\n{_in('n1', DEFAULT)}---\n{_in('n2', DEFAULT)}"
    assert _said(load_text(text, file="t.yaml").errors) == [
        "4: spec.modelRef: model 'default' is in 'n1' and 'n2': name the namespace"
    ]
