"""A process that is killed in the middle of any turn, and another that goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

STEPS = ["a1", "b1", "c1", "referee1", "a2", "b2", "c2", "referee2", "synthesizer2"]
SCRIPT = Path(__file__).with_name("crash_panel.py")


def start(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(folder / "runs.db"), str(folder / "effects")]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kill_at", STEPS)
def test_a_killed_run_resumes_in_another_process_with_no_turn_lost_or_repeated(
    tmp_path: Path, kill_at: str
) -> None:
    killed = start(tmp_path, "run", kill_at)
    assert killed.returncode == -signal.SIGKILL
    effects = tmp_path / "effects"
    before = effects.read_text().split() if effects.exists() else []
    assert before == STEPS[: STEPS.index(kill_at)]
    resumed = start(tmp_path, "resume")
    assert resumed.stderr == ""
    assert effects.read_text().split() == STEPS
    members = [step for step in STEPS if len(step) == 2]
    assert resumed.stdout.strip() == f"{members} ['referee1', 'referee2'] synthesizer2"


@pytest.mark.parametrize("step", range(1, 10))
def test_a_run_killed_while_it_saves_a_step_loses_and_repeats_none(
    tmp_path: Path, step: int
) -> None:
    assert start(tmp_path, "run", f"save{step}").returncode == -signal.SIGKILL
    resumed = start(tmp_path, "resume")
    assert resumed.stderr == ""
    members = [each for each in STEPS if len(each) == 2]
    assert resumed.stdout.strip() == f"{members} ['referee1', 'referee2'] synthesizer2"
    taken = (tmp_path / "effects").read_text().split()
    assert taken == STEPS
