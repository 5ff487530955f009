"""Commands whose streams are closed or full, and signals that come before they begin."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from flowcompose.core.results import Stop
from flowcompose.runner.runs.telling import told_of_failure
from flowcompose.runner.signals import CANCELED
from tests.test_cli import LAUNCH, PATIENCE, environment
from tests.test_run_python import _at_home  # noqa: F401 - a fixture # pyright: ignore[reportPrivateUsage, reportUnusedImport]

RUN = "run review.py:shout --input x"


def in_shell(
    command: str, redirected: str, launch: str = LAUNCH
) -> subprocess.CompletedProcess[str]:
    """Run a command line in a shell that closes or leads away some of its streams."""
    script = f'"$0" -c "$1" {command} {redirected}'
    return subprocess.run(
        ["bash", "-c", script, sys.executable, launch],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize(
    ("redirected", "why"),
    [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")],
)
@pytest.mark.parametrize(
    "command", [RUN, f"{RUN} --json", f"{RUN} --quiet", "validate review.py:shout", "--help"]
)
def test_an_output_that_cannot_be_written_is_one_sentence(
    command: str, redirected: str, why: str
) -> None:
    ended = in_shell(command, redirected)
    said = f"flowcompose: cannot write to standard output: {why}\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", said)


def test_a_run_whose_output_is_full_can_be_gone_on_with() -> None:
    ended = in_shell(f"{RUN} --checkpoint sqlite:runs.db --thread t", ">/dev/full")
    assert ended.returncode == 1
    assert "to go on: flowcompose resume --checkpoint" in ended.stderr
    done = in_shell("resume --checkpoint sqlite:runs.db t --quiet", "")
    assert (done.returncode, done.stdout) == (0, "X\n")


@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full"])
def test_what_cannot_be_told_does_not_stand_in_the_output(redirected: str) -> None:
    kept = "--checkpoint sqlite:runs.db --json"
    ended = in_shell(f"{RUN} {kept}", redirected)
    assert (ended.returncode, json.loads(ended.stdout)["phase"], ended.stderr) == (0, "done", "")
    assert in_shell("run gone.py:x --input x", redirected).stdout == ""


def test_a_closed_standard_input_is_unusable() -> None:
    ended = in_shell("run review.py:shout --input-file -", "<&-")
    said = "flowcompose: --input-file: standard input is closed\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", said)


SIGNALED = """
import os, sys
class Finder:
    def find_spec(self, name, *more):
        if name == "{module}":
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["typer", "flowcompose.core.pattern"])
def test_a_signal_before_the_command_begins_is_130_without_a_traceback(
    module: str, number: signal.Signals
) -> None:
    launch = SIGNALED.format(module=module, number=int(number)) + LAUNCH
    plain = in_shell(RUN, "", launch)
    assert (plain.returncode, plain.stdout, plain.stderr) == (130, "", "")
    told = in_shell(f"{RUN} --json", "", launch)
    assert (told.returncode, told.stdout, told.stderr) == (130, f"{CANCELED}\n", "")


def test_what_is_told_then_is_what_is_told_of_a_command_that_was_canceled() -> None:
    told = told_of_failure("canceled", Stop(reason="cancelled"), query=None)
    assert json.dumps(told.report) == CANCELED


def test_the_console_script_hears_signals_before_it_loads_the_library() -> None:
    code = "import sys, flowcompose.runner.entry; print('langgraph' in sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert ended.stdout == "False\n"
