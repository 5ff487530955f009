"""Every code block of README, docs and docstrings runs, and prints what it says it prints."""

from __future__ import annotations

import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

from flowcompose import configure_models

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [
    path
    for name in ("core", "patterns", "resources", "runner")
    for path in (ROOT / name).rglob("*.py")
]
SHELL = [
    'python3 -m venv .venv && .venv/bin/pip install -q ".[cli]" && .venv/bin/flowcompose demo',
    'python3 -m venv .venv && .venv/bin/pip install -q -e ".[dev]" && .venv/bin/pytest -n 2',
]
"""The commands of the README. `.ci/run` runs the second one, `.ci/wheel_smoke` the demo."""

EXAMPLES = list(find_examples(*PAGES, *sorted(MODULES)))
RUN = [each for each in EXAMPLES if each.prefix == "python"]


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] - a fixture
    """Blocks read as a user writes them: they name no model, the environment does."""
    for variable in ("OPENAI_API_KEY", "FLOWCOMPOSE_MODEL_CHAT", "FLOWCOMPOSE_MODEL_SYNTHESIZE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("FLOWCOMPOSE_MODEL", "offline")
    yield
    configure_models({})


def _where(example: CodeExample) -> str:
    return f"{example.path.relative_to(ROOT)}:{example.start_line}"


@pytest.mark.parametrize("example", RUN, ids=_where)
def test_a_python_block_runs_and_prints_what_it_says(
    example: CodeExample, eval_example: EvalExample
) -> None:
    eval_example.set_config(line_length=100)
    eval_example.run_print_check(example)


@pytest.mark.parametrize(
    "path", [path for path in MODULES if ">>>" in path.read_text()], ids=lambda path: path.name
)
def test_a_docstring_session_gives_what_it_shows(path: Path) -> None:
    dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    outcome = doctest.testmod(importlib.import_module(f"flowcompose.{dotted}"))
    assert outcome.attempted
    assert not outcome.failed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_fence_names_its_language(page: Path) -> None:
    languages = [fence for fence, _ in _fences(page)]
    assert set(languages) <= {"python", "sh", "text", "mermaid", "json"}


def test_every_shell_block_is_a_command_that_is_run() -> None:
    blocks = {page: [text for fence, text in _fences(page) if fence == "sh"] for page in PAGES}
    assert blocks.pop(ROOT / "README.md") == SHELL
    run = {page.name for page, found in blocks.items() if found}
    assert run <= {"ark.md", "command-line.md"}  # see tests/test_docs_commands.py
    assert "README.md" in (ROOT / ".ci" / "run").read_text()
    assert "flowcompose demo" in (ROOT / ".ci" / "wheel_smoke").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if not _found(page, link)] == []


def _fences(page: Path) -> list[tuple[str, str]]:
    """Give language and text of each fenced block; an unclosed fence is an error."""
    parts = re.split(r"^ *```(.*)$", page.read_text(), flags=re.MULTILINE)
    opened, texts, closed = parts[1::4], parts[2::4], parts[3::4]
    assert len(opened) == len(closed)
    assert not any(closed)
    return [(language, text.strip()) for language, text in zip(opened, texts, strict=True)]


def _found(page: Path, link: str) -> bool:
    file, _, anchor = link.partition("#")
    target = page.parent / file if file else page
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
