"""How the program ends once its answer is given."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_cli import LAUNCH, PATIENCE, environment, run_cli
from tests.test_run_python import PANEL, _at_home  # noqa: F401 - a fixture # pyright: ignore[reportPrivateUsage, reportUnusedImport]

RUN = ("run", "review.py:panel", "--input", "x")

SIGNALS = """
import atexit, os, sys, threading, time
NUMBER = int(os.environ["NUMBER"])
def kill(): os.kill(os.getpid(), NUMBER)
def hang():
    print("hanging", file=sys.stderr, flush=True)
    time.sleep(3600)
class Last:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=NUMBER): kill(pid, number)
"""
AT_EXIT = "atexit.register(kill)\n"
WHILE_MODULES_GO = "last = Last()\n"
HANGS_AT_EXIT = "atexit.register(hang)\n"
THREAD_HANGS = "threading.Thread(target=hang).start()\n"


def started(module: str, number: int, launch: str = LAUNCH) -> subprocess.Popen[str]:
    Path("review.py").write_text(f"{SIGNALS}{module}{PANEL}")
    return subprocess.Popen(
        [sys.executable, "-c", launch, *RUN, "--json"],
        env=environment(NUMBER=str(int(number))),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        written, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, json.loads(written)["phase"], errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", [AT_EXIT, WHILE_MODULES_GO])
def test_a_signal_after_the_answer_does_not_change_the_end(module: str, number: int) -> None:
    assert ended(started(module, number)) == (0, "done", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", [HANGS_AT_EXIT, THREAD_HANGS])
def test_a_signal_ends_what_hangs_after_the_answer(module: str, number: int) -> None:
    process = started(module, number)
    assert process.stdout is not None
    assert process.stderr is not None
    answer = process.stdout.readline()
    assert process.stderr.readline() == "hanging\n"
    process.send_signal(number)
    try:
        process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert (process.returncode, json.loads(answer)["phase"]) == (0, "done")


def test_a_signal_that_the_caller_ignores_is_ignored_to_the_end() -> None:
    ignores = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {LAUNCH}"
    module = f"{AT_EXIT}kill()\natexit.register(print, 'to the end', flush=True)\n"
    code, phase, _ = ended(started(module, signal.SIGTERM, ignores))
    assert (code, phase) == (0, "done")


# --- turns that took too long

TIMED = """
import atexit, sys, time
from flowcompose import Flow, RosterEntry, round_robin, sequential

def quick(turn): return "Quick."
async def aquick(turn): return "Quick."
def slow(turn): time.sleep(3600)

def timed(first):
    inner = Flow("inner").parallel({"left": slow, "right": slow}).step(lambda v: str(v), name="s")
    return round_robin(
        name="timed",
        roster=[RosterEntry(name="ann", block=first), RosterEntry(name="bob", block=inner)],
        max_rounds=1, synthesizer=False, turn_timeout=0.3, on_error="skip",
    )

sync, asyn = timed(quick), timed(aquick)
usual = sequential(name="usual", roster=[RosterEntry(name="ann", block=aquick)])
atexit.register(print, "at exit", file=sys.stderr)
"""


@pytest.mark.parametrize("name", ["sync", "asyn"])
def test_a_turn_that_was_given_up_does_not_keep_the_program(name: str) -> None:
    Path("timed.py").write_text(TIMED)
    kept = ("--checkpoint", "sqlite:runs.db")
    ended = run_cli("run", f"timed.py:{name}", "--input", "x", "--json", *kept)
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["phase"]) == (0, "done")
    assert [message["content"] for message in told["responses"][0]["raw"]] == ["Quick."]
    assert "Traceback" not in ended.stderr


def test_a_run_that_leaves_nothing_behind_ends_as_programs_do() -> None:
    Path("timed.py").write_text(TIMED)
    ended = run_cli("run", "timed.py:usual", "--input", "x", "--json")
    assert (ended.returncode, ended.stderr) == (0, "at exit\n")
