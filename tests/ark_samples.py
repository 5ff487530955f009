"""Where the published ARK documents are, and which of their tests can be replayed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

SAMPLES = Path(__file__).resolve().parents[2].joinpath("shared", "ark-samples").resolve()
"""Beside the project, never a part of it."""

VERSIONS = ("v0.1.31", "v0.1.50", "v0.1.57", "v0.1.67rc")

needs_samples = pytest.mark.skipif(
    not SAMPLES.is_dir(),
    reason="the ARK documents as published are no part of this project: "
    "put them into ../shared/ark-samples to run what they must do",
)


def shown(path: Path) -> str:
    """The short name of a sample: its path below the samples."""
    return path.relative_to(SAMPLES).as_posix()


def all_files() -> list[Path]:
    """Every file of every version, in order."""
    return [path for version in VERSIONS for path in below(version)]


def below(folder: str, ending: str = "") -> list[Path]:
    """The files somewhere below a folder of the samples, in order."""
    found = (SAMPLES / folder).rglob(f"*{ending}")
    return sorted(path for path in found if path.is_file())


def team_tests(*, mocked: bool) -> list[Path]:
    """The folders of chainsaw tests of teams, with or without replies of a model beside them."""
    return [folder for folder in _tests() if _is_mocked(folder) == mocked]


def agent_tests() -> list[Path]:
    """The chainsaw tests of the agents of the walkthrough."""
    return [path for path in all_files() if path.match("agents/tests/chainsaw-*-test.yaml")]


def _tests() -> Iterator[Path]:
    return (path.parent for path in all_files() if path.name == "chainsaw-test.yaml")


def _is_mocked(folder: Path) -> bool:
    return (folder / "mock-llm-values.yaml").exists()
