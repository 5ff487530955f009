"""`--checkpoint`, `flowcompose resume` and `flowcompose threads`."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from typer.testing import CliRunner, Result

from flowcompose import RosterEntry, round_robin
from flowcompose.runner.app import app
from flowcompose.runner.asked import Asked
from flowcompose.runner.threads.file import RunFile
from flowcompose.runner.threads.kept_run import KeptRun, Target
from flowcompose.runner.threads.runs import Runs
from flowcompose.runner.unusable import UnusableError
from tests.test_cli import LAUNCH, PATIENCE, environment, run_cli
from tests.test_run_python import _at_home  # noqa: F401 - a fixture # pyright: ignore[reportPrivateUsage, reportUnusedImport]

KEEP = ("--checkpoint", "sqlite:runs.db")
RUN = ("run", "review.py:panel", "--input", "x", *KEEP, "--thread", "t")
ALL = ["ann1", "bob2", "ann3", "bob4"]


def cli(*args: str) -> Result:
    return CliRunner().invoke(app, [*args])


def answer(*args: str) -> tuple[int, dict[str, Any]]:
    ended = cli(*args, "--json")
    return ended.exit_code, json.loads(ended.stdout)


def problems(*args: str) -> str:
    code, told = answer(*args)
    assert (code, told["ok"]) == (2, False)
    return " ".join(each["message"] for each in told["problems"])


def said(told: dict[str, Any]) -> list[str]:
    return [message["name"] for response in told["responses"] for message in response["raw"]]


def listed() -> list[dict[str, Any]]:
    code, told = answer("threads", *KEEP)
    assert code == 0
    return list(told["threads"])


def started(*args: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", LAUNCH, *args],
        env=environment(EFFECTS="effects", **env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_stop(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    assert "stopping\n" in iter(process.stderr.readline, "")


def left_at(turn: str, number: int, *args: str) -> int:
    """Begin a run, and send it a signal in the middle of a turn."""
    process = started(*(args or RUN), "--json", STOP_AT=turn)
    wait_for_stop(process)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    return process.returncode


# --- going on


@pytest.mark.parametrize("turn", ALL)
def test_a_killed_run_is_unfinished_and_goes_on_at_the_exact_turn(turn: str) -> None:
    assert left_at(turn, signal.SIGKILL) == -signal.SIGKILL
    done = ALL.index(turn)
    [before] = listed()
    assert (before["thread"], before["phase"], before["turns"]) == ("t", "unfinished", done)
    ended = run_cli("resume", *KEEP, "t", "--json", EFFECTS="effects")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["phase"], told["thread"]) == (0, "done", "t")
    assert said(told) == ["ann", "bob"] * 2
    assert Path("effects").read_text().split() == ALL
    [after] = listed()
    assert (after["phase"], after["turns"]) == ("done", 4)
    assert after["stop"]["reason"] == "max_rounds"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_canceled_and_goes_on(number: int) -> None:
    assert left_at("bob2", number) == 130
    assert [(each["phase"], each["turns"]) for each in listed()] == [("canceled", 1)]
    code, told = answer("resume", *KEEP, "t")
    assert (code, said(told)) == (0, ["ann", "bob"] * 2)


def test_a_resumed_run_is_shown_from_where_it_goes_on() -> None:
    left_at("ann3", signal.SIGKILL)
    ended = cli("resume", *KEEP, "t", "--events", "events.jsonl")
    assert "== round 2\nann: ann on x\nbob: bob on x\n" in ended.stdout
    assert "round 1" not in ended.stdout
    kinds = [json.loads(line)["type"] for line in Path("events.jsonl").read_text().splitlines()]
    assert kinds.count("TurnCompleted") == 2


def test_a_resumed_run_may_be_interrupted_again() -> None:
    left_at("bob2", signal.SIGTERM)
    assert left_at("bob4", signal.SIGTERM, "resume", *KEEP, "t") == 130
    assert [(each["phase"], each["turns"]) for each in listed()] == [("canceled", 3)]
    assert said(answer("resume", *KEEP, "t")[1]) == ["ann", "bob"] * 2


def test_a_run_that_was_killed_before_its_first_checkpoint_begins(tmp_path: Path) -> None:
    file = RunFile.named("sqlite:runs.db")
    with file.saver():
        pass
    target = Target("t", "panel", ("ann", "bob"), None)
    asked = Asked(paths=("review.py:panel",), input="x")
    Runs(file).begin("t", asked, [target], "")
    forget_process()
    assert said(answer("resume", *KEEP, "t")[1]) == ["ann", "bob"] * 2


def test_a_run_killed_at_the_start_of_a_used_thread_does_not_give_the_old_answer() -> None:
    assert answer(*RUN)[0] == 0
    [before] = sqlite3.connect("runs.db").execute("SELECT targets FROM flowcompose_runs").fetchall()
    with sqlite3.connect("runs.db") as db:
        last = db.execute("SELECT MAX(checkpoint_id) FROM checkpoints").fetchone()[0]
        target = {**json.loads(before[0])[0], "after": last}
        asked = Asked(paths=("review.py:panel",), input="another").kept()
        update = "UPDATE flowcompose_runs SET targets = ?, asked = ?, phase = 'running'"
        db.execute(update, (json.dumps([target]), json.dumps(asked)))
    forget_process()
    _, told = answer("resume", *KEEP, "t")
    assert told["responses"][0]["raw"][0]["content"] == "ann on another"


def forget_process() -> None:
    """Let the run be one of a process that is gone."""
    gone = {"host": "elsewhere", "pid": 1, "began": ""}
    with sqlite3.connect("runs.db") as db:
        db.execute("UPDATE flowcompose_runs SET process = ?", (json.dumps(gone),))


def test_a_run_goes_on_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left_at("bob2", signal.SIGKILL)
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    events = ("--events", "events.jsonl")
    code, told = answer("resume", "--checkpoint", "sqlite:../runs.db", "t", *events)
    assert (code, told["phase"]) == (0, "done")
    assert (other / "events.jsonl").exists()


def test_a_failed_run_goes_on_once_what_failed_is_mended(tmp_path: Path) -> None:
    text = (
        "from pathlib import Path\nfrom flowcompose import RosterEntry, sequential\n"
        "def well(turn):\n    return 'Fine.'\n"
        "def needs(turn):\n    return Path('needed').read_text()\n"
        "team = sequential(name='team', roster=["
        "RosterEntry(name='ann', block=well), RosterEntry(name='bob', block=needs)])\n"
    )
    (tmp_path / "failing.py").write_text(text)
    ended = cli("run", "failing.py:team", "--input", "x", *KEEP, "--thread", "t")
    assert ended.exit_code == 1
    assert f"to go on: flowcompose resume --checkpoint sqlite:{tmp_path}/runs.db t" in ended.stderr
    assert [each["phase"] for each in listed()] == ["error"]
    (tmp_path / "needed").write_text("Here.")
    assert answer("resume", *KEEP, "t")[1]["responses"][0]["content"] == "Here."


def test_of_a_finished_run_the_result_is_told_again_and_nothing_runs() -> None:
    first = answer(*RUN)
    assert answer("resume", *KEEP, "t") == first


# --- questions


ASKING = """
from langgraph.types import interrupt
from flowcompose import Flow
def ask(value):
    return f"{value}: {interrupt('Shall I?')}"
flow = Flow("asks").step(ask)
"""


@pytest.fixture
def asking(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "asking.py").write_text(ASKING)
    return ("run", "asking.py:flow", "--input", "Delete it", *KEEP, "--thread", "t")


def test_a_run_that_waits_for_an_answer_says_how_to_give_it(asking: tuple[str, ...]) -> None:
    ended = cli(*asking, "--json")
    told = json.loads(ended.stdout)
    assert (ended.exit_code, told["phase"], told["stop"]["reason"]) == (
        130,
        "canceled",
        "interrupted",
    )
    assert "the run waits for an answer: Shall I?\n" in ended.stderr
    assert ended.stderr.rstrip().endswith("runs.db t --answer TEXT")


def test_the_answer_is_given_with_resume(asking: tuple[str, ...]) -> None:
    cli(*asking)
    assert answer("resume", *KEEP, "t")[0] == 130  # it still waits
    code, told = answer("resume", *KEEP, "t", "--answer", "yes")
    assert (code, told["responses"][0]["content"]) == (0, "Delete it: yes")


def test_without_a_file_nobody_can_answer(asking: tuple[str, ...]) -> None:
    ended = cli("run", "asking.py:flow", "--input", "x")
    assert ended.exit_code == 130
    assert "--checkpoint" in ended.stderr


# --- threads that are there already


def test_an_unfinished_thread_is_not_begun_anew() -> None:
    left_at("bob2", signal.SIGKILL)
    told = problems(*RUN)
    assert "thread 't' holds a run that is not finished; go on with it: flowcompose resume" in told


def test_a_finished_thread_is_used_again() -> None:
    cli(*RUN)
    code, told = answer("run", "review.py:panel", "--input", "y", *KEEP, "--thread", "t")
    assert (code, len(said(told))) == (0, 4)
    assert [each["thread"] for each in listed()] == ["t"]


def test_without_a_name_each_run_has_a_thread_of_its_own() -> None:
    names = [answer("run", "review.py:panel", "--input", "x", *KEEP)[1]["thread"] for _ in "ab"]
    assert [each["thread"] for each in listed()] == names
    assert len(set(names)) == 2


def test_a_thread_at_which_a_process_works_is_left_to_it() -> None:
    process = started(*RUN, "--json", STOP_AT="bob2")
    wait_for_stop(process)
    try:
        assert [each["phase"] for each in listed()] == ["running"]
        for command in (("resume", *KEEP, "t"), RUN):
            assert f"process {process.pid} is at work on it" in problems(*command)
    finally:
        process.kill()
        process.communicate()


def test_of_two_processes_that_look_at_a_thread_at_once_one_gets_it() -> None:
    runs = Runs(RunFile.named("sqlite:runs.db"))
    asked = Asked(paths=("review.py:panel",))
    assert [runs.begin("t", asked, [], "", None) for _ in range(2)] == [True, False]
    runs.end("t", "error", None)
    known = runs.find("t")
    assert known is not None
    assert [runs.go_on(known) for _ in range(2)] == [True, False]
    assert runs.begin("t", asked, [], "", known) is False


def test_who_comes_second_is_told_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    left_at("bob2", signal.SIGKILL)
    looked = Runs.find

    def find_and_be_late(runs: Runs, thread: str) -> KeptRun | None:
        known = looked(runs, thread)
        assert known is not None
        assert runs.go_on(known)
        return known

    monkeypatch.setattr(Runs, "find", find_and_be_late)
    assert "another process has just begun with it" in problems("resume", *KEEP, "t")
    assert Path("effects").read_text().split() == ["ann1"]


def test_two_processes_share_a_file() -> None:
    both = [
        started("run", "review.py:panel", "--input", "x", *KEEP, "--thread", name, "--json")
        for name in ("a", "b", "c")
    ]
    codes = [(each.communicate(timeout=PATIENCE), each.returncode)[1] for each in both]
    assert codes == [0, 0, 0]
    assert {(each["thread"], each["phase"], each["turns"]) for each in listed()} == {
        (name, "done", 4) for name in ("a", "b", "c")
    }


def test_a_roster_that_lost_a_member_is_not_what_was_begun(tmp_path: Path) -> None:
    left_at("bob2", signal.SIGKILL)
    file = tmp_path / "review.py"
    file.write_text(file.read_text().replace('("ann", "bob")', '("ann", "eve")'))
    assert "bob of 'panel' is gone; run it anew" in problems("resume", *KEEP, "t")


def test_other_changes_are_told(tmp_path: Path) -> None:
    left_at("bob2", signal.SIGKILL)
    file = tmp_path / "review.py"
    file.write_text(file.read_text() + "\n# new\n")
    ended = cli("resume", *KEEP, "t", "--json")
    assert ended.exit_code == 0
    assert "warning: the files have changed since the run began" in ended.stderr


# --- the list


def test_the_list_is_a_table() -> None:
    cli(*RUN)
    head, line = cli("threads", *KEEP).stdout.splitlines()
    assert head.split() == ["THREAD", "STARTED", "UPDATED", "PHASE", "TURNS", "STOP", "WHAT"]
    assert line.split()[0] == "t"
    assert line.split()[-4:] == ["done", "4", "max_rounds", "review.py:panel"]
    assert line.index("done") == head.index("PHASE")


def test_what_a_program_wrote_is_listed_and_left_to_it() -> None:
    with SqliteSaver.from_conn_string("runs.db") as saver:
        panel = round_robin(
            name="p",
            roster=[RosterEntry(name="a", block=lambda turn: "Hi.")],
            max_rounds=1,
            synthesizer=False,
            checkpointer=saver,
        )
        panel.run("go", thread_id="mine")
    [found] = listed()
    assert (found["thread"], found["phase"], found["turns"]) == ("mine", "done", 1)
    assert found["stop"]["reason"] == "max_rounds"
    assert found["started"] is not None
    assert "was written by a program" in problems("resume", *KEEP, "mine")


def test_a_thread_that_is_not_there_is_told_with_those_that_are() -> None:
    cli(*RUN)
    assert "no thread 'u' in " in problems("resume", *KEEP, "u")
    assert "there are: 't'" in problems("resume", *KEEP, "u")


def test_a_file_that_cannot_be_made_is_told() -> None:
    Path("runs.db").symlink_to("missing/runs.db")
    assert "unable to open database file" in problems(*RUN)


@pytest.mark.parametrize("command", ["threads", "resume"])
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "no such file"),
        (b"", "keeps no runs"),
        (b"This is some text, and nothing else.\n" * 50, "file is not a database"),
        (b"SQLite format 3\0" + b"x" * 100, "not a database"),
    ],
)
def test_a_file_that_keeps_no_runs_is_told(
    command: str, content: bytes | None, problem: str
) -> None:
    if content is not None:
        Path("runs.db").write_bytes(content)
    rest = ("t",) if command == "resume" else ()
    ended = cli(command, *KEEP, *rest)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert problem in ended.stderr
    assert "Traceback" not in ended.stderr
    assert (Path("runs.db").read_bytes() if content is not None else None) == content


def test_the_database_of_another_program_is_left_as_it_is() -> None:
    with sqlite3.connect("runs.db") as db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")
    assert "keeps no runs" in problems("threads", *KEEP)
    tables = sqlite3.connect("runs.db").execute("SELECT name FROM sqlite_master").fetchall()
    assert tables == [("bookmarks",)]


def test_a_run_into_what_is_no_database_is_told() -> None:
    Path("runs.db").write_text("some text, and nothing else\n" * 50)
    assert "file is not a database" in problems(*RUN)


def test_the_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flowcompose.runner.threads.saver", None)
    assert "pip install 'flowcompose[sqlite]'" in problems(*RUN)


# --- what is kept


def test_no_key_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://me:hidden-word@localhost/v1?token=hidden-token"
    asked = Asked(
        paths=("a.yaml",), team="t", input="my sk-secret-key", api_key="sk-secret-key", base_url=url
    )
    kept = json.dumps(asked.kept())
    assert "secret" not in kept
    assert "hidden" not in kept
    again = Asked.read(json.loads(kept))
    options = {"model": None, "timeout": None}
    with pytest.raises(UnusableError, match="held a secret, which is not kept: give --base-url"):
        again.again(**options, base_url=None, api_key="k")
    with pytest.raises(UnusableError, match="--api-key of the run is not kept"):
        again.again(**options, base_url=url, api_key=None)
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    assert again.again(**options, base_url=url, api_key=None).base_url == url


def test_paths_are_kept_as_they_are_found_from_anywhere() -> None:
    kept = Asked(paths=("a.yaml", "/b.yaml")).kept()["paths"]
    assert kept == [os.path.abspath("a.yaml"), "/b.yaml"]
    assert Asked(paths=("x.py:f",)).kept()["paths"] == [f"{os.path.abspath('x.py')}:f"]
    assert Asked(paths=("pack.mod:f",)).kept()["paths"] == ["pack.mod:f"]


def test_the_environment_key_is_not_in_the_file() -> None:
    run_cli(*RUN, OPENAI_API_KEY="sk-very-secret", OPENAI_BASE_URL="http://localhost:1")
    written = b"".join(path.read_bytes() for path in Path().glob("runs.db*"))
    assert b"sk-very-secret" not in written


def test_an_answer_that_nobody_waits_for_is_told() -> None:
    left_at("bob2", signal.SIGKILL)
    assert "waits for no answer" in problems("resume", *KEEP, "t", "--answer", "yes")


def test_events_of_a_resumed_run_are_added_to_those_before() -> None:
    kept = ("--events", "events.jsonl")
    process = started(*RUN, "--json", *kept, STOP_AT="bob2")
    wait_for_stop(process)
    until = time.monotonic() + PATIENCE  # the next turn may begin before the last one is written
    while turns_in(Path("events.jsonl")) != [1] and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    process.communicate(timeout=PATIENCE)
    cli("resume", *KEEP, "t", *kept)
    assert turns_in(Path("events.jsonl")) == [1, 2, 3, 4]


def turns_in(file: Path) -> list[int]:
    """The turns that are done, of a file that may be written just now."""
    lines = [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    events = map(json.loads, lines)
    return [each["turn"] for each in events if each["type"] == "TurnCompleted"]
