"""Every command line of the docs runs, in a folder as a reader would have it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = [DOCS / "ark.md", DOCS / "command-line.md"]
COMMAND = str(Path(sys.executable).parent / "flowcompose")

HEAD = "---\napiVersion: ark.mckinsey.com/v1alpha1\nkind: {}\nmetadata:\n  name: {}\nspec:\n"
AGENT = HEAD.format("Agent", "ann") + "  prompt: You are brief.\n"
TEAM = "  strategy: sequential\n  members:\n  - name: ann\n    type: agent\n"
QUERY = "  input: What do tides do?\n  targets:\n  - type: team\n    name: {}\n"


def documents(team: str, query: str) -> str:
    """A team of one, and a Query that asks it."""
    return (
        AGENT + HEAD.format("Team", team) + TEAM + HEAD.format("Query", query) + QUERY.format(team)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "teams").mkdir()
    (tmp_path / "teams" / "all.yaml").write_text(documents("research-team", "research-query"))
    (tmp_path / "team.yaml").write_text(documents("panel", "ask"))
    (tmp_path / "draft.md").write_text("Tides rise and fall.")
    (tmp_path / "review.py").write_text(
        "from flowcompose import round_robin\n"
        "panel = round_robin(name='panel', roster=[{'name': 'ann'}], max_rounds=1)\n"
    )
    return tmp_path


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def run(line: str, folder: Path) -> str:
    """Run a command line, which must go well, and give its output."""
    program, *arguments = shlex.split(line)
    assert program == "flowcompose"
    environment = {**os.environ, "FLOWCOMPOSE_MODEL": "offline"}
    done = subprocess.run(
        [COMMAND, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_line_runs(page: Path, folder: Path) -> None:
    lines = [line for block in blocks(page, "sh") for line in block.strip().splitlines()]
    assert lines
    for line in lines:
        assert run(line, folder).strip()


def test_the_documents_among_the_examples_are_valid_and_run(folder: Path) -> None:
    path = shlex.quote(str(DOCS.parent / "examples" / "launch_review.yaml"))
    assert "0 errors" in run(f"flowcompose validate {path}", folder)
    told = json.loads(run(f"flowcompose run {path} --model offline --json", folder))
    spoke = [message["name"] for message in told["responses"][0]["raw"]]
    assert spoke == ["engineer", "support", "lead"] * 2


def test_the_objects_that_are_shown_have_the_keys_of_real_ones(folder: Path) -> None:
    ran, refused = (json.loads(block) for block in blocks(DOCS / "command-line.md", "json"))
    real = json.loads(run("flowcompose run team.yaml --model offline --json", folder))
    assert shape(ran) == shape(real)
    (folder / "team.yaml").write_text(HEAD.format("Team", "panel") + TEAM)
    arguments = [COMMAND, "validate", "team.yaml", "--json"]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert shape(refused) == shape(json.loads(done.stdout))


def shape(value: Any) -> Any:
    """What keys an object has, and the objects in it; a list is as its first item."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    return [shape(each) for each in value[:1]] if isinstance(value, list) else None
