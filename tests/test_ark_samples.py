"""Every published ARK document loads, or is refused for the right, named reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from flowcompose.runner.manifest import load
from tests.ark_documents import flowcompose_here
from tests.ark_samples import SAMPLES, VERSIONS, all_files, below, needs_samples, shown
from tests.chainsaw import read

pytestmark = needs_samples

KINDS = {"Team", "Agent", "Query", "Model", "Tool", "Secret", "ConfigMap"}


@dataclass(frozen=True)
class Unit:
    """Files that are loaded together, as their test or their folder means them."""

    name: str
    paths: tuple[Path, ...]
    """What is given: files, or one folder."""

    @property
    def files(self) -> set[Path]:
        return {file for path in self.paths for file in _files(path)}


def _files(path: Path) -> list[Path]:
    return below(shown(path)) if path.is_dir() else [path]


# --- what is loaded together


def _units() -> Iterator[Unit]:
    for version in VERSIONS:
        root = SAMPLES / version
        yield from _alone(below(f"{version}/docs-snippets"))
        yield from _alone(below(f"{version}/samples/teams"))
        yield from _alone(below(f"{version}/samples/tools"))
        yield from _alone(below(f"{version}/tests/admission-failures"))
        yield from _of_tests(root / "tests")
        yield from _of_walkthrough(root / "samples" / "walkthrough")


def _alone(files: Sequence[Path]) -> Iterator[Unit]:
    return (Unit(shown(file), (file,)) for file in files)


def _of_tests(tests: Path) -> Iterator[Unit]:
    for folder in sorted(tests.glob("*")):
        if folder.name != "admission-failures":
            yield Unit(shown(folder), (folder,))
        models = sorted(folder.glob("manifests/a01-model-*.yaml"))  # of which a test takes one
        others = [path for path in _files(folder) if "model" not in path.name]
        for model in models:
            yield Unit(f"{shown(folder)}, {model.name}", (model, *others))


def _of_walkthrough(root: Path) -> Iterator[Unit]:
    if not root.exists():
        return
    tool, agents = root / "tools" / "web-search-tool.yaml", root / "agents"
    gathered = root / "kustomization.yaml"
    named: list[str] = yaml.safe_load(gathered.read_text())["resources"]
    yield Unit(shown(root), (gathered, *(root / name for name in named)))
    yield Unit(shown(root / "tests"), (root / "tests" / "manifests",))
    for test in sorted((agents / "tests").glob("chainsaw-*.yaml")):
        yield Unit(shown(test), (test, *read(test).applied))
    team = root / "teams" / "tests" / "test-team.yaml"
    members = [agents / f"{name}-agent.yaml" for name in ("researcher", "analyst")]
    yield Unit(shown(team), (team, *members, tool))
    query = root / "tools" / "tests" / "queries" / "web-search-query.yaml"
    yield Unit(shown(query), (query, tool))


UNITS = list(_units())
each_unit = pytest.mark.parametrize("unit", UNITS, ids=[unit.name for unit in UNITS])


# --- what must be refused, and why


def _no_agent(*names: str) -> tuple[str, ...]:
    return tuple(rf"agent '{name}' (does not exist|not found)" for name in names)


def _no_tool(*names: str) -> tuple[str, ...]:
    return tuple(rf"tool '{name}' (does not exist|not found)" for name in names)


_OLD_MODEL = r"spec\.model: model is no string any more: use modelRef: \{name: .+\}"
_OLD_TOOL = r"spec\.tools\[0\]"
_OLD_AGENT = (_OLD_MODEL, _OLD_TOOL, r"systemPrompt is obsolete: use prompt")
_NO_MODEL_SELECTOR = r"modelSelector is obsolete: use modelRef"
_OLD_TEAM = (r"(agents|teams) is obsolete: use members", r"workflow is obsolete: use strategy")
_AS_SNIPPET = ("researcher", "analyst", "reviewer")
_SUPPORT = ("customer-support", "order-tracker", "escalation-handler")
_MCP = ("write-file", "create-directory", "list-directory", "get-file-info")

_NO_YAML = (r"no YAML: ",)

REFUSED: dict[str, tuple[str, ...]] = {
    # References to what stands in no document.
    "*/docs__content__reference__crds.mdx.02.yaml": _no_tool("get-coordinates", "get-forecast"),
    "*/docs__content__reference__crds.mdx.03.yaml": _no_agent("agent-seq"),
    "*/docs__content__reference__crds.mdx.04.yaml": _no_agent("weather"),
    "*/docs__content__reference__crds.mdx.05.yaml": _no_agent("assistant-agent"),
    "*/docs__content__reference__crds.mdx.06.yaml": _no_tool("mcp-read-file"),
    "*/docs__content__reference__crds.mdx.07.yaml": _no_agent("research-agent"),
    "v0.1.31/*__team-selector-strategy.mdx.01.yaml": _no_agent(*_AS_SNIPPET),
    "*/*__team-selector-strategy.mdx.01.yaml": _no_agent("coordinator", *_AS_SNIPPET),
    "v0.1.31/*__team-selector-strategy.mdx.02.yaml": (),
    "*/*__team-selector-strategy.mdx.02.yaml": _no_agent(
        "coordinator", "researcher", "analyzer", "writer"
    ),
    "*/*__team-strategies.mdx.0[12].yaml": _no_agent("agent1", "agent2"),
    "v0.1.31/*__team-strategies.mdx.03.yaml": _no_agent("researcher", "writer"),
    "*/*__team-strategies.mdx.03.yaml": _no_agent("coordinator", "researcher", "writer"),
    "*/*__team-strategies.mdx.04.yaml": _no_agent("researcher", "analyzer", "writer"),
    "v0.1.31/*__team-strategies.mdx.05.yaml": (),
    "*/*__team-strategies.mdx.05.yaml": _no_agent(
        "coordinator", "researcher", "analyzer", "writer"
    ),
    "*/docs__content__reference__resources__team.mdx.01.yaml": _no_agent(
        "planner", "researcher", "analyst", "writer"
    ),
    "*/templates__project__README.md.0[23].yaml": _no_agent("sample-agent"),
    "*/templates__project__README.md.05.yaml": _no_agent("sample-agent", "my-agent"),
    "v0.1.50/*__starting-new-project.mdx.02.yaml": _no_agent("customer-support"),
    "*/*__starting-new-project.mdx.04.yaml": _no_agent(*_SUPPORT),
    # In this version the tools of the file server were `custom`, and come with that server.
    "v0.1.31/samples/walkthrough": _no_tool(*(f"mcp-filesys-{each}" for each in _MCP)),
    # Pages of a shape that never was.
    "v0.1.57/*__relationships.mdx.01.yaml": (
        r"openai configuration is required for openai model",
        *_OLD_AGENT,
    ),
    "*/*__relationships.mdx.01.yaml": (
        r"openai configuration is required for openai model type",
        *_OLD_AGENT,
    ),
    "*/*__relationships.mdx.02.yaml": _OLD_TEAM,
    "*/*__relationships.mdx.03.yaml": (
        r"unsupported tool type 'function'",
        r"spec\.function: function is obsolete: use type: http",
        _OLD_MODEL,
        _OLD_TOOL,
    ),
    "v0.1.31/*__relationships.mdx.04.yaml": (_OLD_MODEL,),
    "v0.1.31/*__relationships.mdx.05.yaml": (_NO_MODEL_SELECTOR,),
    "v0.1.31/*__relationships.mdx.06.yaml": _OLD_TEAM,
    "v0.1.31/*__relationships.mdx.07.yaml": (_OLD_MODEL,),
    "*/*__relationships.mdx.04.yaml": (_NO_MODEL_SELECTOR,),
    "*/*__relationships.mdx.05.yaml": _OLD_TEAM,
    "*/*__relationships.mdx.06.yaml": (_OLD_MODEL,),
    # What is no YAML.
    "v0.1.50/*__starting-new-project.mdx.0[35].yaml": _NO_YAML,
    "v0.1.57/*__starting-new-project.mdx.0[23].yaml": _NO_YAML,
    # One of three models is meant, each named as the other.
    "v0.1.57/tests/agent-parameters": (r"Model.*test-model.*a01-model-azure\.yaml",) * 3,
    # Documents that were written to be refused.
    "*/invalid-team-invalid-strategy.yaml": (
        r"unsupported strategy 'invalid': must be 'sequential', 'round-robin', 'selector', or "
        r"'graph'",
        *_no_agent("test-agent"),
    ),
    "*/invalid-team-missing-members.yaml": (r"spec\.members: 'members' is required",),
    "*/invalid-team-self-reference.yaml": (
        r"team member 0: team 'invalid-team-self-reference' cannot reference itself",
    ),
    "*/invalid-team-graph-no-config.yaml": (
        r"graph strategy requires graph configuration",
        *_no_agent("agent1", "agent2"),
    ),
    "*/invalid-team-graph-no-edges.yaml": (
        r"graph strategy requires at least one edge",
        *_no_agent("agent1", "agent2"),
    ),
    "*/invalid-query-empty-input.yaml": (r"spec\.input\b.*empty", *_no_agent("test-agent")),
    "*/invalid-query-no-targets-or-selector.yaml": (
        r"(at least one )?target or selector must be specified",
    ),
    "*/invalid-model-missing-config.yaml": (r"azure configuration is required for azure model",),
    "*/invalid-model-invalid-type.yaml": (r"unsupported model type 'unsupported'",),
    "*/invalid-model-invalid-provider.yaml": (r"unsupported (model )?provider.*'?unsupported'?",),
    "*/invalid-agent-invalid-builtin-tool.yaml": (
        r"tool\[0\]: unsupported built-in tool 'invalid-builtin': supported built-in tools are: "
        r"noop, terminate",
    ),
    "*/invalid-agent-builtin-missing-name.yaml": (
        r"tool\[0\]: built-in tools must specify a name",
    ),
    "*/invalid-agent-old-format.yaml": (_OLD_MODEL,),
    "*/invalid-tool-fetcher-invalid-method.yaml": (r"invalid HTTP method 'INVALID'",),
    "*/invalid-tool-fetcher-invalid-url.yaml": (r"spec\.http\.url: invalid URL 'not-a-valid-url'",),
    "*/invalid-tool-missing-type.yaml": (r"spec\.type: 'type' is required",),
    "*/invalid-tool-mcp-missing-server.yaml": (r"MCP server name is required",),
}
"""Why a unit is refused: of each reason one part. The first pattern that fits holds."""


def _reasons(name: str) -> tuple[str, ...]:
    fitting = (reasons for pattern, reasons in REFUSED.items() if fnmatch(name, pattern))
    return next(fitting, ())


READABLE = [unit for unit in UNITS if _reasons(unit.name) != _NO_YAML]
each_readable_unit = pytest.mark.parametrize("unit", READABLE, ids=[unit.name for unit in READABLE])


@each_unit
def test_a_document_loads_or_is_refused_for_the_reasons_that_it_has(unit: Unit) -> None:
    told = [str(problem) for problem in load(unit.paths).errors]
    reasons = _reasons(unit.name)
    unexpected = [each for each in told if not any(re.search(r, each) for r in reasons)]
    missing = [reason for reason in reasons if not any(re.search(reason, each) for each in told)]
    assert (unexpected, missing) == ([], [])


def test_every_file_was_loaded_in_some_unit() -> None:
    assert set().union(*(unit.files for unit in UNITS)) == set(all_files())
    assert len(all_files()) == 433


def test_every_pattern_of_the_table_fits_a_unit() -> None:
    names = [unit.name for unit in UNITS]
    assert [each for each in REFUSED if not any(fnmatch(name, each) for name in names)] == []


@each_unit
def test_every_problem_says_where_it_stands(unit: Unit) -> None:
    files = {str(file): file for file in unit.files}
    for problem in load(unit.paths).problems:
        lines = files[problem.file].read_text().splitlines()
        assert problem.line is None or 1 <= problem.line <= len(lines), problem
        assert str(problem).startswith(f"{problem.file}:{problem.line}: "), problem
        assert problem.message


def test_problems_stand_in_the_order_of_files_and_lines() -> None:
    for unit in UNITS:
        places = [(each.file, each.line or 0) for each in load(unit.paths).problems]
        assert len(unit.paths) > 1 or places == sorted(places), unit.name


@each_unit
def test_validate_says_of_a_document_what_loading_says(unit: Unit) -> None:
    loaded = load(unit.paths)
    ran = flowcompose_here("validate", *unit.paths, "--json")
    printed = ran.json
    assert (ran.code, printed["ok"]) == ((2, False) if loaded.errors else (0, True))
    assert printed["era"] == loaded.era
    assert [(each["file"], each["line"], each["message"]) for each in printed["problems"]] == [
        (each.file, each.line, each.message) for each in loaded.problems
    ]
    assert [(each["kind"], each["name"]) for each in printed["documents"]] == [
        (each.kind, each.name) for each in loaded.documents
    ]


@each_readable_unit
def test_every_document_of_a_known_kind_is_in_what_was_loaded(unit: Unit) -> None:
    wanted = [(each["kind"], each["metadata"]["name"]) for each in _raw(unit, KINDS)]
    loaded = load(unit.paths)
    assert sorted((each.kind, each.name) for each in loaded.documents) == sorted(wanted)
    others = {each["kind"] for each in _raw(unit)} - KINDS
    told = " ".join(loaded.notices)
    assert [kind for kind in others if kind not in told] == []


@each_readable_unit
def test_the_era_is_that_of_the_newest_field(unit: Unit) -> None:
    assert load(unit.paths).era == max([_era(each) for each in _raw(unit, KINDS)] or ["v0.1.31"])


def _raw(unit: Unit, kinds: set[str] | None = None) -> list[dict[str, Any]]:
    """The documents as they stand, read without any code of ours."""
    texts = [file.read_text() for file in sorted(unit.files) if file.suffix == ".yaml"]
    found = [each for text in texts for each in yaml.safe_load_all(text) if each]
    return [each for each in found if "kind" in each and each["kind"] in (kinds or {each["kind"]})]


def _era(document: dict[str, Any]) -> str:
    spec: dict[str, Any] = document.get("spec") or {}
    selector: dict[str, Any] = spec.get("selector") or {}
    kind = document["kind"]
    if kind == "Team" and (
        "loops" in spec or {"enableTerminateTool", "terminatePrompt"} & {*selector}
    ):
        return "v0.1.67"
    chosen = kind == "Team" and spec.get("strategy") == "selector" and "graph" in spec
    new = (kind == "Query" and "target" in spec) or (kind == "Model" and "provider" in spec)
    return "v0.1.50" if chosen or new or (kind == "Team" and "agent" in selector) else "v0.1.31"


# --- what is said of documents that load


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("v0.1.31/docs-snippets/docs__content__reference__crds.mdx.01.yaml", "default-model-token"),
        ("v0.1.31/docs-snippets/templates__project__README.md.01.yaml", "azure-gpt4"),
        ("v0.1.31/docs-snippets/templates__project__README.md.05.yaml", "cap of 100 turns"),
        ("v0.1.50/docs-snippets/docs__content__reference__resources__team.mdx.01.yaml", "Input"),
        ("v0.1.31/samples/teams/multi-model-agents.yaml", "gemini"),
        ("v0.1.31/samples/walkthrough/teams/research-team.yaml", "maxTurns"),
        ("v0.1.50/samples/walkthrough/agents/creator-agent.yaml", "MCP tools are not offered"),
        ("v0.1.31/tests/team-graph", "baseUrl is only a placeholder"),
        ("v0.1.31/tests/team-graph/manifests/a07-team.yaml", "cap of 100 turns"),
    ],
)
def test_what_is_no_error_is_a_warning(name: str, reason: str) -> None:
    told = [str(each) for each in load([SAMPLES / name]).warnings]
    assert [each for each in told if re.search(reason, each)], told


def test_in_the_last_era_turns_of_a_plain_sequence_are_refused() -> None:
    file = SAMPLES / "v0.1.31" / "samples" / "walkthrough" / "teams" / "research-team.yaml"
    told = [each.message for each in load([file], compat="v0.1.67").errors]
    assert "maxTurns can only be set when loops is enabled" in " ".join(told)


def test_a_file_without_a_document_is_an_error_alone_and_a_notice_in_a_folder() -> None:
    folder = SAMPLES / "v0.1.67rc" / "tests" / "team-of-teams"
    alone = load([folder / "mock-llm-values.yaml"])
    assert [each.file for each in alone.errors] == [str(folder / "mock-llm-values.yaml")]
    assert any("mock-llm-values.yaml" in notice for notice in load([folder]).notices)
