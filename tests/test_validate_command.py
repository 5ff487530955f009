"""`flowcompose validate`, `graph` and `schema`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from flowcompose.runner.app import app
from tests.test_run_command import AGENTS, MODEL, QUERY, TEAM, write
from tests.test_run_python import (
    PANEL,
    _at_home,  # noqa: F401 - a fixture # pyright: ignore[reportPrivateUsage, reportUnusedImport]
)

OUTER = TEAM.replace("name: pair", "name: board").replace(
    "[{name: ann, type: agent}", "[{name: pair, type: team}"
)


DEFAULT = MODEL.replace("URL", "http://localhost/v1")


def cli(*args: str) -> Result:
    return CliRunner().invoke(app, [*args])


def answer(*args: str) -> tuple[int, dict[str, Any]]:
    ended = cli(*args, "--json")
    return ended.exit_code, json.loads(ended.stdout)


# --- validate


def test_good_documents_are_ok() -> None:
    write(AGENTS, TEAM, QUERY, DEFAULT)
    code, told = answer("validate", "docs")
    assert code == 0
    assert told == {
        "ok": True,
        "era": "v0.1.31",
        "documents": [
            {"file": "docs/all.yaml", "kind": kind, "name": name, "ok": True}
            for kind, name in (
                *(("Agent", "ann"), ("Agent", "bob"), ("Team", "pair"), ("Query", "ask")),
                *(("Model", "default"), ("Secret", "keys")),
            )
        ],
        "problems": [],
    }


def test_every_problem_is_told_with_its_place_and_at_once() -> None:
    write(AGENTS, TEAM.replace("name: bob", "name: eve"), QUERY.replace("pair", "pear"), DEFAULT)
    code, told = answer("validate", "docs")
    assert (code, told["ok"]) == (2, False)
    assert len(told["problems"]) == 2
    assert [each["ok"] for each in told["documents"]] == [True, True, False, False, True, True]
    text = Path("docs/all.yaml").read_text().splitlines()
    for problem, name in zip(told["problems"], ("eve", "pear"), strict=True):
        assert set(problem) == {"severity", "file", "line", "path", "message"}
        assert name in problem["message"]
        assert name in text[problem["line"] - 1]
    shown = cli("validate", "docs")
    assert (shown.exit_code, shown.stderr) == (2, "")
    first, _, last = shown.stdout.splitlines()
    assert first.startswith(f"docs/all.yaml:{told['problems'][0]['line']}: error: spec.members[1]")
    assert last == "6 documents, 2 errors, 0 warnings, v0.1.31"


def test_the_number_of_a_line_that_is_a_secret_is_told() -> None:
    pin = "\napiVersion: v1\nkind: Secret\nmetadata: {name: pin}\nstringData: {pin: 'LINE'}\n"
    write("\n" * 1000 + AGENTS, pin)
    line = answer("validate", "docs")[1]["problems"][0]["line"]
    write("\n" * 1000 + AGENTS, pin.replace("LINE", str(line)))
    assert answer("validate", "docs")[1]["problems"][0]["line"] == line > 1000


def test_strict_takes_warnings_for_errors() -> None:
    write(AGENTS, TEAM + "  colour: red\n", QUERY, DEFAULT)
    assert answer("validate", "docs")[0] == 0
    code, told = answer("validate", "docs", "--strict")
    assert (code, told["ok"]) == (2, False)
    assert [each["severity"] for each in told["problems"]] == ["error"]
    assert {each["kind"] for each in told["documents"] if not each["ok"]} == {"Team"}


OF_SECRET = "{name: p, valueFrom: {secretKeyRef: {name: s, key: k}}}"
NO_MODEL = "no model specified for agent and no 'default' model found in namespace 'default'"


@pytest.mark.parametrize(
    ("agent", "query", "message"),
    [
        ("{}", "", NO_MODEL),
        ("{modelRef: {name: m}}", "", "model m not found in namespace default"),
        (f"{{modelRef: {{name: m}}, parameters: [{OF_SECRET}]}}", "", "secret 's' does not exist"),
        (
            f"{{parameters: [{OF_SECRET.replace('secretKeyRef', 'configMapKeyRef')}]}}",
            "",
            "configMap 's' does not exist",
        ),
        ("{parameters: [{name: p, valueFrom: {serviceRef: {name: s}}}]}", "", "of a cluster"),
        ("{executionEngine: {name: e}}", "", "executionEngine 'e' is ignored"),
        ("{tools: [{type: mcp, name: x}]}", "", "MCP tools are not offered"),
        ("{}", "ttl: 1h", "ttl is ignored"),
        ("{}", "memory: {name: m}", "memory is ignored"),
        ("{}", "targets: [{type: model, name: m}]", "model 'm' does not exist"),
    ],
)
def test_what_may_be_elsewhere_or_in_a_cluster_stays_a_warning_if_strict(
    agent: str, query: str, message: str
) -> None:
    api = "\napiVersion: ark.mckinsey.com/v1alpha1\nkind: "
    write(
        f"{api}Agent\nmetadata: {{name: ann}}\nspec: {agent}\n",
        f"{api}Query\nmetadata: {{name: q}}\nspec:\n  input: hi\n  {query}\n"
        + ("" if "targets" in query else "  targets: [{type: agent, name: ann}]\n"),
    )
    code, told = answer("validate", "docs", "--strict")
    assert (code, told["ok"]) == (0, True)
    assert all(each["ok"] for each in told["documents"])
    assert {each["severity"] for each in told["problems"]} == {"warning"}
    assert any(message in each["message"] for each in told["problems"])


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("{colour: red}", "unknown field 'colour'"),
        ("{prompt: '{{.x}}', parameters: [{name: p, value: v}]}", "{{.x}} is no parameter"),
        (
            "{tools: [{type: custom, name: send, approval: {}, functions: [{name: f}]}]}",
            "functions",
        ),
    ],
)
def test_what_is_wrong_wherever_it_runs_is_an_error_if_strict(agent: str, message: str) -> None:
    api = "\napiVersion: ark.mckinsey.com/v1alpha1\nkind: "
    tool = "spec: {type: http, http: {url: 'https://h'}}"
    write(
        f"{api}Agent\nmetadata: {{name: ann}}\nspec: {agent}\n",
        f"{api}Tool\nmetadata: {{name: send}}\n{tool}\n",
    )
    assert answer("validate", "docs")[0] == 0
    code, told = answer("validate", "docs", "--strict")
    errors = [each["message"] for each in told["problems"] if each["severity"] == "error"]
    assert (code, len(errors)) == (2, 1)
    assert message in errors[0]


def test_compat_says_whose_behaviour_holds() -> None:
    write(AGENTS, TEAM, QUERY, DEFAULT)
    assert answer("validate", "docs", "--compat", "v0.1.67")[1]["era"] == "v0.1.67"
    code, told = answer("validate", "docs", "--compat", "v9")
    assert (code, told["ok"]) == (2, False)


def test_a_path_that_is_not_there_is_a_problem() -> None:
    code, told = answer("validate", "nowhere.yaml")
    assert (code, told["problems"][0]["file"]) == (2, "nowhere.yaml")


def test_a_pattern_of_python_is_validated_by_its_definition() -> None:
    code, told = answer("validate", "review.py:panel")
    assert (code, told["ok"], told["era"], told["problems"]) == (0, True, None, [])
    assert told["documents"] == [
        {"file": "review.py:panel", "kind": "Pattern", "name": "panel", "ok": True}
    ]
    code, told = answer("validate", "review.py:nobody")
    assert (code, told["documents"][0]["ok"]) == (2, False)


def test_a_model_that_is_not_configured_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "asks.py").write_text(
        "from flowcompose import Flow, round_robin\n"
        "panel = round_robin(name='p', roster=[{'name': 'ann'}], synthesizer=False)\n"
    )
    code, told = answer("validate", "asks.py:panel")
    assert (code, [each["severity"] for each in told["problems"]]) == (0, ["warning"])
    assert answer("validate", "asks.py:panel", "--strict")[0] == 2


# --- graph


def test_a_pattern_is_drawn() -> None:
    ended = cli("graph", "review.py:panel")
    assert ended.exit_code == 0
    assert "graph TD;" in ended.stdout
    assert "ann(ann)" in ended.stdout


def test_what_a_module_prints_is_no_part_of_the_drawing(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(PANEL + "\nprint('hello')\n")
    assert "hello" not in cli("graph", "loud.py:panel").stdout


def test_what_the_only_query_asks_is_drawn() -> None:
    write(AGENTS, TEAM, OUTER, QUERY)
    assert "bob(bob)" in cli("graph", "docs").stdout
    assert "subgraph pair" not in cli("graph", "docs").stdout


def test_without_a_query_it_is_the_team_that_is_in_no_other() -> None:
    write(AGENTS, TEAM, OUTER)
    assert "subgraph pair" in cli("graph", "docs").stdout
    assert "subgraph pair" not in cli("graph", "docs", "--team", "pair").stdout


@pytest.mark.parametrize("documents", [(AGENTS,), (AGENTS, TEAM, TEAM.replace("pair", "duo"))])
def test_where_there_is_a_choice_it_is_named(documents: tuple[str, ...]) -> None:
    write(*documents)
    ended = cli("graph", "docs")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "say what to draw: --team NAME; there is: " in ended.stderr
    assert "ann" in ended.stderr


# --- schema


def test_the_schema_describes_every_kind() -> None:
    schema = json.loads(cli("schema").stdout)
    kinds = {each["title"] for each in schema["oneOf"]}
    assert kinds == {"Team", "Agent", "Query", "Model", "Tool", "Secret", "ConfigMap"}
