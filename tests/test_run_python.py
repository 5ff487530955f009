"""`flowcompose run module:object`: patterns and flows of Python from a shell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from flowcompose.runner.app import app
from tests.test_cli import PATIENCE, Session, environment, run_cli, session

PANEL = """
import os, sys, time
from pathlib import Path
from flowcompose import Flow, RosterEntry, round_robin, sequential

class Speaker:
    def __init__(self, name):
        self.name = name
    def __call__(self, turn):
        if f"{self.name}{turn.turn}" == os.environ.get("STOP_AT"):
            print("stopping", flush=True)
            time.sleep(3600)
        with Path(os.environ.get("EFFECTS", os.devnull)).open("a") as file:
            file.write(f"{self.name}{turn.turn} ")
        return f"{self.name} on {turn.goal}"

panel = round_robin(
    name="panel",
    roster=[RosterEntry(name=name, block=Speaker(name)) for name in ("ann", "bob")],
    max_rounds=2,
    synthesizer=False,
)
shout = Flow("shout").step(str.upper)
not_one = 3

def make():
    return panel

def needs(name):
    return panel
"""


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in a folder of its own, and leave no trace of what was imported."""
    (tmp_path / "review.py").write_text(PANEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "FLOWCOMPOSE_", "LANGSMITH_", "LANGCHAIN_")):
            monkeypatch.delenv(name)
    yield
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(str(tmp_path)):
            del sys.modules[name]


def run(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["run", *args], input=stdin)


def answer(*args: str) -> tuple[int, dict[str, Any]]:
    """Run with `--json`, and read the one object on standard output."""
    ended = run(*args, "--json")
    return ended.exit_code, json.loads(ended.stdout)


def problem(*args: str) -> dict[str, Any]:
    """Give the only problem of what cannot be run."""
    code, told = answer(*args)
    assert (code, told["ok"], told["era"], told["documents"]) == (2, False, None, [])
    [found] = told["problems"]
    assert set(found) == {"severity", "file", "line", "path", "message"}
    return dict(found)


# --- what is run


def test_a_pattern_of_a_file_is_run_and_shown() -> None:
    ended = run("review.py:panel", "--input", "the draft")
    assert ended.exit_code == 0
    assert "== panel\n== round 1\nann: ann on the draft\nbob: bob on the draft\n" in ended.stdout
    assert ended.stdout.splitlines()[-1].startswith("== stopped: max_rounds (2 rounds); ")


def test_the_transcript_is_not_repeated_as_the_deliverable() -> None:
    assert run("review.py:panel", "--input", "x").stdout.count("ann on x") == 2


def test_json_is_one_object_of_this_form_and_nothing_else() -> None:
    ended = run("review.py:panel", "--input", "x", "--json")
    said = [f"{name} on x" for name in ("ann", "bob", "ann", "bob")]
    told = json.loads(ended.stdout)
    [response] = told.pop("responses")
    assert told == {
        "query": None,
        "phase": "done",
        "stop": {"reason": "max_rounds", "by": None, "detail": "2 rounds"},
        "tokenUsage": {"promptTokens": 0, "completionTokens": 0, "totalTokens": 0},
        "thread": None,
        "era": None,
    }
    assert response["target"] == {"type": "pattern", "name": "panel"}
    assert (response["phase"], "error" in response) == ("done", False)
    assert [message["content"] for message in response["raw"]] == said
    assert response["raw"][0] == {"role": "assistant", "content": "ann on x", "name": "ann"}


def test_a_module_on_the_path_and_a_function_that_makes_the_pattern_do_too() -> None:
    assert answer("review:make", "--input", "x")[1]["phase"] == "done"


def test_a_flow_is_compiled_and_its_value_is_the_content() -> None:
    _, told = answer("review.py:shout", "--input", "quiet")
    [response] = told["responses"]
    assert response["target"] == {"type": "flow", "name": "shout"}
    assert response["content"] == "QUIET"


def test_quiet_prints_the_answer_alone() -> None:
    ended = run("review.py:shout", "--input", "quiet", "--quiet")
    assert (ended.stdout, ended.stderr) == ("QUIET\n", "")


def test_the_input_may_come_from_a_file_or_from_standard_input(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a file")
    assert answer("review.py:shout", "--input-file", "in.txt")[1]["responses"][0]["content"] == (
        "A FILE"
    )
    piped = run("review.py:shout", "--input-file", "-", "--quiet", stdin="a pipe")
    assert piped.stdout == "A PIPE\n"


def test_a_flow_with_an_input_schema_takes_json(tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(
        "from pydantic import BaseModel\nfrom flowcompose import Flow\n"
        "class Brief(BaseModel):\n    n: int\n"
        "flow = Flow('twice', input_schema=Brief).step(lambda brief: brief.n * 2, name='double')\n"
    )
    assert answer("typed.py:flow", "--input", '{"n": 21}')[1]["responses"][0]["content"] == "42"
    assert "takes JSON that fits Brief" in problem("typed.py:flow", "--input", "21x")["message"]
    assert "n" in problem("typed.py:flow", "--input", '{"n": "many"}')["message"]


def test_async_members_are_run_too_and_kept(tmp_path: Path) -> None:
    (tmp_path / "later.py").write_text(
        "import asyncio\nfrom flowcompose import RosterEntry, sequential\n"
        "async def speak(turn):\n    await asyncio.sleep(0)\n    return 'Hello.'\n"
        "team = sequential(name='team', roster=[RosterEntry(name='ann', block=speak)])\n"
    )
    kept = ("--checkpoint", "sqlite:runs.db", "--thread", "t")
    _, told = answer("later.py:team", "--input", "x", *kept)
    assert (told["phase"], told["responses"][0]["content"]) == ("done", "Hello.")
    ended = CliRunner().invoke(app, ["resume", "--checkpoint", "sqlite:runs.db", "t", "--json"])
    assert json.loads(ended.stdout)["responses"] == told["responses"]


def test_a_user_that_prints_does_not_spoil_the_object(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(
        "import os, subprocess, sys\nfrom flowcompose import Flow\nprint('at import')\n"
        "def loud(value):\n    print('in a step')\n    os.write(1, b'on the descriptor')\n"
        "    subprocess.run(['echo', 'in a program'], check=True)\n    return value\n"
        "flow = Flow('loud').step(loud)\n"
    )
    ended = run_cli("run", "loud.py:flow", "--input", "x", "--json")
    assert json.loads(ended.stdout)["phase"] == "done"
    assert ended.stdout.count("\n") == 1
    for said in ("at import", "in a step", "on the descriptor", "in a program"):
        assert said in ended.stderr


def test_events_are_written_one_object_to_a_line() -> None:
    answer("review.py:panel", "--input", "x", "--events", "events.jsonl")
    events = [json.loads(line) for line in Path("events.jsonl").read_text().splitlines()]
    assert (events[0]["type"], events[0]["pattern"]) == ("RunStarted", "panel")
    assert events[-1]["type"] == "RunCompleted"
    turns = [each for each in events if each["type"] == "TurnCompleted"]
    assert [each["contribution"]["agent_name"] for each in turns] == ["ann", "bob"] * 2
    assert [each["turn"] for each in turns] == [1, 2, 3, 4]


def test_a_key_of_the_environment_is_in_no_output_and_no_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
    ended = run("review.py:panel", "--input", "sk-secret-key", "--events", "e.jsonl", "--plain")
    written = ended.output + Path("e.jsonl").read_text()
    assert "sk-secret" not in written
    assert "ann on ***" in written


# --- what cannot be run


@pytest.mark.parametrize(
    ("path", "file", "said"),
    [
        ("review.py:nobody", "review.py", "there is no 'nobody' in it; it has review.py:panel"),
        ("review.py", "review.py", "name an object in it; it has review.py:panel (Pattern), "),
        ("review.py:not_one", "review.py", "'not_one' is an int, not a Pattern or Flow; it has"),
        ("review.py:Speaker", "review.py", "'Speaker' is a class, not a Pattern or Flow"),
        ("review.py:needs", "review.py", "cannot be called without arguments"),
        ("review:os", "review", "'os' is a module"),
        ("gone.py:panel", "gone.py", "no such file"),
    ],
)
def test_what_is_no_pattern_is_told_with_what_is_there(path: str, file: str, said: str) -> None:
    found = problem(path, "--input", "x")
    assert found["file"] == file
    assert said in found["message"]


def test_a_module_that_is_not_there_is_told() -> None:
    said = problem("no_such_module:panel", "--input", "x")["message"]
    assert said == (
        "module 'no_such_module' cannot be imported: ModuleNotFoundError: "
        "No module named 'no_such_module'"
    )


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("import os\nimport no_such_thing\n", 2, "ModuleNotFoundError: No module named"),
        ("x = 1\n\ndef broken(:\n", 3, "SyntaxError: "),
        ("def f():\n    return 1 / 0\n\nf()\n", 2, "ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3 (it ends the program"),
        (
            "from flowcompose import round_robin\npanel = round_robin(name='p', roster=[])\n",
            2,
            "DefinitionError: round_robin 'p': roster must contain at least 1 entry",
        ),
    ],
)
def test_a_file_that_fails_is_one_line_with_its_place(
    tmp_path: Path, text: str, line: int, said: str
) -> None:
    (tmp_path / "broken.py").write_text(text)
    ended = run("broken.py:panel", "--input", "x")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("\n") == 1
    found = problem("broken.py:panel", "--input", "x")
    assert (Path(found["file"]).name, found["line"]) == ("broken.py", line)
    assert said in found["message"]


def test_a_relative_import_says_to_name_the_module(tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text("from . import other\n")
    said = problem("part.py:panel", "--input", "x")["message"]
    assert said.endswith("name its module, not its file: package.module:object")


def test_paths_with_spaces_colons_and_foreign_names_are_found(tmp_path: Path) -> None:
    for name in ("my: flow.py", "json.py", "tests.py"):
        (tmp_path / name).write_text(PANEL)
        assert answer(f"{name}:shout", "--input", "x")[1]["phase"] == "done"
    assert json.loads("1") == 1  # the library's own is still there


def test_the_folder_of_a_file_is_searched_for_what_it_imports(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "in"
    folder.mkdir(parents=True)
    (folder / "part_of_it.py").write_text("NAME = 'deep'\n")
    (folder / "flow.py").write_text(
        "from flowcompose import Flow\nimport part_of_it\n"
        "flow = Flow(part_of_it.NAME).step(str.upper)\n"
    )
    _, told = answer("deep/in/flow.py:flow", "--input", "x")
    assert told["responses"][0]["target"]["name"] == "deep"


def test_all_arguments_that_do_not_fit_are_told_at_once() -> None:
    ended = run("review.py:panel", "--team", "a", "--base-url", "http://localhost")
    assert ended.exit_code == 2
    assert "--input TEXT" in ended.stderr
    assert "--team is for documents" in ended.stderr
    assert "--base-url: an object of Python names its own models" in ended.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--input", "a", "--input-file", "b"), "--input and --input-file exclude each other"),
        (("--input", "a", "--thread", "t"), "--thread needs --checkpoint"),
        (("--input", "a", "--checkpoint", "runs.db"), "--checkpoint must be sqlite:FILE"),
        (("--input", "a", "--checkpoint", "sqlite:no/runs.db"), "no such folder"),
        (("--input", "a", "--checkpoint", "sqlite:."), "is a folder"),
        (("--input", "a", "--bogus"), "No such option: --bogus"),
        (("--input", "a", "--timeout", "soon"), "--timeout"),
        (("--input", "a", "--events", "no/e.jsonl"), "--events: cannot write"),
        (("--input", "a", "other.yaml"), "is run alone"),
    ],
)
def test_wrong_use_is_told_in_json_too(args: tuple[str, ...], said: str) -> None:
    assert said in problem("review.py:panel", *args)["message"]


def test_no_path_at_all_is_wrong_use() -> None:
    assert "PATH" in problem()["message"]


def test_a_model_that_is_not_configured_is_no_run_that_failed(tmp_path: Path) -> None:
    (tmp_path / "asks.py").write_text(
        "from flowcompose import round_robin\n"
        "panel = round_robin(name='p', roster=[{'name': 'ann'}], synthesizer=False)\n"
    )
    assert "OPENAI_API_KEY" in problem("asks.py:panel", "--input", "x")["message"]


# --- failures


FAILING = """
from flowcompose import RosterEntry, sequential
def well(turn): return "Fine."
def badly(turn): raise ValueError("no good")
team = sequential(name="team", roster=[
    RosterEntry(name="ann", block=well), RosterEntry(name="bob", block=badly)])
"""


def test_a_failed_run_keeps_what_was_said(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    code, told = answer("failing.py:team", "--input", "x")
    assert (code, told["phase"], told["stop"]["reason"]) == (1, "error", "member_failed")
    [response] = told["responses"]
    assert [message["content"] for message in response["raw"]] == ["Fine."]
    assert "no good" in response["error"]
    shown = run("failing.py:team", "--input", "x")
    assert shown.exit_code == 1
    assert "ann: Fine.\n" in shown.stdout
    assert "== failed; 1 contribution so far" in shown.stdout
    assert (
        shown.stderr
        == "flowcompose: 'team': member 'bob' failed in round 1, turn 2: ValueError: no good\n"
    )


def test_a_timeout_leaves_the_run_and_keeps_what_was_said() -> None:
    ended = run_cli(
        *("run", "review.py:panel", "--input", "x", "--json", "--timeout", "1"), STOP_AT="bob2"
    )
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["phase"]) == (1, "error")
    assert told["responses"][0]["error"] == "pattern 'panel' timed out after 1 s (--timeout)"
    assert [m["name"] for m in told["responses"][0]["raw"]] == ["ann"]
    assert told["stop"] == {
        "reason": "cancelled",
        "by": "timeout",
        "detail": "pattern 'panel' timed out after 1 s (--timeout)",
    }


def test_an_error_of_our_own_is_an_object_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("flowcompose.runner.runs.run.open_source", broken)
    code, told = answer("review.py:panel", "--input", "x")
    assert (code, told["phase"], told["responses"]) == (1, "error", [])
    assert "RuntimeError: unforeseen" in told["stop"]["detail"]


# --- signals and pipes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_the_object_and_130(number: signal.Signals) -> None:
    process = started("--json")
    process.stderr.readline()  # type: ignore[union-attr] # "stopping"
    process.send_signal(number)
    written, _ = process.communicate(timeout=PATIENCE)
    told = json.loads(written)
    assert (process.returncode, told["phase"]) == (130, "canceled")
    assert told["stop"]["reason"] == "cancelled"
    assert [m["name"] for m in told["responses"][0]["raw"]] == ["ann"]


def test_a_signal_while_the_module_is_imported_gives_the_object_too(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\nprint('stopping', flush=True)\ntime.sleep(99)")
    process = started("--json", path="slow.py:panel")
    process.stderr.readline()  # type: ignore[union-attr] # "stopping"
    process.send_signal(signal.SIGTERM)
    written, _ = process.communicate(timeout=PATIENCE)
    told = json.loads(written)
    assert (process.returncode, told["phase"], told["responses"]) == (130, "canceled", [])


def started(*args: str, path: str = "review.py:panel") -> subprocess.Popen[str]:
    launch = (
        "import signal, sys; sys.argv[0] = 'flowcompose';"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from flowcompose.runner.entry import main; main()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", launch, "run", path, "--input", "x", *args],
        env=environment(STOP_AT="bob2"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_on_a_terminal_tells_how_to_go_on() -> None:
    args = ("review.py:panel", "--input", "x", "--checkpoint", "sqlite:runs.db", "--thread", "t 1")
    with session("run", *args, terminal=True, STOP_AT="bob2") as cli:
        cli.wait_for("stopping")
        assert cli.interrupt() == 130
    assert re_wrapped(cli).endswith(f"resume --checkpoint sqlite:{Path.cwd()}/runs.db 't 1'")
    assert "Traceback" not in cli.written


def re_wrapped(cli: Session) -> str:
    return cli.written.replace("\r\n", "\n").strip()


def test_a_reader_that_leaves_ends_the_run_quietly_and_it_can_be_gone_on_with() -> None:
    command = (
        f"{sys.executable} -c 'from flowcompose.runner.entry import main; main()'"
        " run review.py:panel --input x --checkpoint sqlite:runs.db --thread t | head -n 1"
    )
    ended = subprocess.run(
        ["bash", "-c", command], env=environment(), capture_output=True, text=True, timeout=PATIENCE
    )
    assert ended.stdout == "== panel\n"
    assert "Traceback" not in ended.stderr
    assert "BrokenPipe" not in ended.stderr


LATE = """
import gc, time
from flowcompose.runner.entry import main
from flowcompose.runner.unwritable import UnwritableError

told = UnwritableError.told

def late(self):
    time.sleep(1)
    return told(self)

gc.disable()
UnwritableError.told = late
main()
"""
"""The command line on a machine so slow that the run is left before the program is."""


def test_a_run_that_was_left_does_not_keep_the_program() -> None:
    Path("late.py").write_text(LATE)
    Path("slow.py").write_text(PANEL.replace("with Path(", "time.sleep(0.2)\n        with Path("))
    run_panel = " run slow.py:panel --input x --checkpoint sqlite:runs.db --thread t | head -n 1"
    ended = subprocess.run(
        ["bash", "-c", f"{sys.executable} late.py {run_panel}"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.stdout == "== panel\n"
    assert "resume --checkpoint" in ended.stderr


def test_what_pydantic_quotes_of_an_answer_is_not_shown() -> None:
    warns = "import warnings\nfor each in ('Pydantic serializer warnings:\\n quoted', 'mine'):\n"
    Path("warns.py").write_text(f"{warns}    warnings.warn(each)\n{PANEL}")
    ended = run_cli("run", "warns.py:shout", "--input", "x", "--quiet")
    assert ended.returncode == 0
    assert "mine" in ended.stderr
    assert "quoted" not in ended.stderr


def test_help_shows_examples_first() -> None:
    for command in ("run", "validate", "graph", "resume", "threads", "schema"):
        ended = CliRunner().invoke(app, [command, "--help"])
        assert ended.exit_code == 0
        assert ended.output.index("Examples:") < ended.output.index("Options:")
        assert f"\n    flowcompose {command}" in ended.output or command == "resume"


def test_shells_complete_commands() -> None:
    ended = run_cli(
        _FLOWCOMPOSE_COMPLETE="complete_bash", COMP_WORDS="flowcompose re", COMP_CWORD="1"
    )
    assert ended.stdout.split() == ["resume"]
