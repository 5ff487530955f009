"""A file for runs that cannot be written for a while, or no more."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from flowcompose.runner.app import app
from flowcompose.runner.threads import patience
from tests.test_cli import PATIENCE, run_cli
from tests.test_run_python import PANEL, _at_home  # noqa: F401 - a fixture # pyright: ignore[reportPrivateUsage, reportUnusedImport]
from tests.test_threads_command import RUN, answer, listed, said, started, wait_for_stop

KEEP = ("--checkpoint", "sqlite:runs.db")
BAD = """
import resource, sqlite3, threading
from flowcompose import RosterEntry, round_robin, sequential

def fine(turn): return "Fine."

def fills_the_disk(turn):
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
    return "Full."

def forbids_notes(turn):
    with sqlite3.connect("runs.db") as db:
        db.execute(
            "CREATE TRIGGER no BEFORE UPDATE ON flowcompose_runs"
            " BEGIN SELECT RAISE(ABORT, 'not today'); END"
        )
    return "Fine."

def locks_for_a_while(turn):
    db = sqlite3.connect("runs.db", isolation_level=None, check_same_thread=False)
    db.execute("BEGIN IMMEDIATE")
    threading.Timer(1, db.close).start()
    return "Fine."

async def later(turn): return locks_for_a_while(turn)

def team(block):
    roster = [RosterEntry(name="ann", block=fine), RosterEntry(name="bob", block=block)]
    return sequential(name="team", roster=roster)

full, silenced = team(fills_the_disk), team(forbids_notes)
locked, alocked = team(locks_for_a_while), team(later)
asks = round_robin(name="asks", roster=[{"name": "ann"}], max_rounds=1, synthesizer=False)
"""


@pytest.fixture(autouse=True)
def _bad(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BAD)


@contextmanager
def locked() -> Generator[None]:
    """Be another process that writes."""
    with closing(sqlite3.connect("runs.db", isolation_level=None, timeout=PATIENCE)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield


def run(name: str, *args: str) -> Result:
    return CliRunner().invoke(app, _command(name, *args))


def _command(name: str, *args: str) -> list[str]:
    return ["run", f"bad.py:{name}", "--input", "x", *KEEP, "--thread", "t", *args]


def ended(process: subprocess.Popen[str], within: float = PATIENCE) -> tuple[dict[str, Any], str]:
    try:
        written, errors = process.communicate(timeout=within)
    finally:
        process.kill()
    return json.loads(written), errors


# --- locked


def test_a_run_interrupted_while_its_file_is_locked_keeps_its_answer_and_goes_on() -> None:
    process = started(*RUN, "--json", STOP_AT="bob2")
    wait_for_stop(process)
    with locked():
        process.send_signal(signal.SIGINT)
        told, errors = ended(process)
    assert (process.returncode, told["phase"], said(told)) == (130, "canceled", ["ann"])
    assert "warning: --checkpoint sqlite:" in errors
    assert "database is locked" in errors
    assert "to go on: flowcompose resume" in errors
    assert [each["phase"] for each in listed()] == ["unfinished"]
    assert said(answer("resume", *KEEP, "t")[1]) == ["ann", "bob"] * 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_heard_by_a_run_that_waits_for_its_file(number: int) -> None:
    assert answer(*RUN)[0] == 0
    Path("review.py").write_text(f"print('stopping', flush=True)\n{PANEL}")
    with locked():
        process = started(*RUN, "--json")
        wait_for_stop(process)
        time.sleep(0.5)  # it waits by now; where it does not yet, it must hear it as well
        process.send_signal(number)
        told, _ = ended(process, patience.PATIENCE / 2)
    assert (process.returncode, told["phase"]) == (130, "canceled")
    assert [each["phase"] for each in listed()] == ["done"]


@pytest.mark.parametrize("name", ["locked", "alocked"])
def test_a_run_waits_for_another_process_that_writes(name: str) -> None:
    assert run(name, "--quiet").exit_code == 0
    assert [(each["phase"], each["turns"]) for each in listed()] == [("done", 2)]


# --- not to be written


def test_a_run_whose_disk_is_full_fails_with_what_was_said_and_goes_on() -> None:
    told = run_cli(*_command("full", "--json"))
    answered = json.loads(told.stdout)
    assert (told.returncode, answered["phase"], said(answered)[0]) == (1, "error", "ann")
    assert "to go on: flowcompose resume" in told.stderr
    again = Path("bad.py").read_text().replace("resource.setrlimit(", "print(")
    Path("bad.py").write_text(again)
    code, finished = answer("resume", *KEEP, "t")
    assert (code, said(finished)) == (0, ["ann", "bob"])


def test_notes_that_cannot_be_written_are_a_warning() -> None:
    told = run_cli(*_command("silenced", "--json"))
    assert (told.returncode, said(json.loads(told.stdout))) == (0, ["ann", "bob"])
    assert "warning: --checkpoint" in told.stderr
    assert "not today" in told.stderr
    with sqlite3.connect("runs.db") as db:
        db.execute("DROP TRIGGER no")
    assert said(answer("resume", *KEEP, "t")[1]) == ["ann", "bob"]


# --- refused


def test_a_run_refused_after_its_first_checkpoint_goes_on_once_that_is_mended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run("asks").exit_code == 2
    assert [each["phase"] for each in listed()] == ["error"]
    monkeypatch.setenv("FLOWCOMPOSE_MODEL", "offline")
    code, told = answer("resume", *KEEP, "t")
    assert (code, said(told)) == (0, ["ann"])
