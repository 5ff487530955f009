"""Commands at the edges: steps that end the program, texts that are none, runs that are refused."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typer.testing import CliRunner, Result

from flowcompose.runner.app import app
from flowcompose.runner.texts import is_whole, whole
from tests.test_run_python import _at_home  # noqa: F401 - a fixture # pyright: ignore[reportPrivateUsage, reportUnusedImport]

KEEP = ("--checkpoint", "sqlite:runs.db")
ODD = """
import sys
from flowcompose import Flow, RosterEntry, sequential
from langgraph.types import interrupt

print("at import")
def fine(turn): return "Fine."
def leaves(turn): sys.exit(0)
def closes(turn): raise GeneratorExit
def breaks(turn): raise KeyboardInterrupt
def half(turn): return "half \\ud83d here"
def left(value): return interrupt("left?")
def right(value): return interrupt({"right": 1})

def team(block):
    roster = [RosterEntry(name="ann", block=fine), RosterEntry(name="bob", block=block)]
    return sequential(name="team", roster=roster)

leaving, closing, breaking = team(leaves), team(closes), team(breaks)
asks = Flow("asks").step(left)
both = Flow("both").parallel({"left": left, "right": right})
silent = Flow("silent").step(lambda value: "", name="nothing")
broken = Flow("broken").step(lambda value: "half \\ud83d here", name="half")
"""


@pytest.fixture(autouse=True)
def _odd(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(ODD)


def cli(*args: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, [*args], input=stdin)


def run(name: str, *args: str) -> Result:
    return cli("run", f"odd.py:{name}", "--input", "x", *args)


def answer(*args: str) -> tuple[int, dict[str, Any]]:
    ended = cli(*args, "--json")
    return ended.exit_code, json.loads(ended.stdout)


def kept() -> dict[str, Any]:
    [listed] = answer("threads", *KEEP)[1]["threads"]
    return dict(listed)


# --- steps that end the program


@pytest.mark.parametrize(
    ("name", "raised"),
    [("leaving", "SystemExit: 0"), ("closing", "GeneratorExit"), ("breaking", "KeyboardInterrupt")],
)
def test_a_member_that_ends_the_program_is_a_run_that_failed(name: str, raised: str) -> None:
    ended = run(name, "--json", *KEEP, "--thread", "t")
    told = json.loads(ended.stdout)
    assert (ended.exit_code, told["phase"], told["stop"]["reason"]) == (1, "error", "failed")
    [response] = told["responses"]
    assert response["error"].endswith(raised)
    assert [each["content"] for each in response["raw"]] == ["Fine."]
    assert "to go on: flowcompose resume --checkpoint" in ended.stderr
    assert (kept()["phase"], kept()["stop"]["reason"]) == ("error", "failed")


# --- texts that are none


def test_half_a_character_is_replaced_and_whole_ones_stay() -> None:
    assert whole("a\ud83db \U0001f600 \udcff") == "a\ufffdb \U0001f600 \ufffd"
    assert whole("\ud83d\ude00") == "\U0001f600"
    assert (is_whole("\U0001f600"), is_whole("\udcff")) == (True, False)


def test_what_cannot_be_encoded_is_replaced_in_output_and_events() -> None:
    code, told = answer("run", "odd.py:broken", "--input", "x", "--events", "e.jsonl")
    assert (code, told["responses"][0]["content"]) == (0, "half \ufffd here")
    *_, last = [json.loads(line) for line in Path("e.jsonl").read_text("utf-8").splitlines()]
    assert last["result"]["output"] == "half \ufffd here"
    assert run("broken", "--quiet").stdout == "at import\nhalf \ufffd here\n"
    assert "half \ufffd here" in run("broken", "--plain").stdout


@pytest.mark.parametrize("option", ["--input", "--thread", "--model"])
def test_an_option_that_is_no_text_is_unusable(option: str) -> None:
    code, told = answer("run", "odd.py:silent", "--input", "x", *KEEP, option, "bad \udcff")
    assert (code, told["problems"][0]["message"]) == (2, f"{option}: it is no UTF-8 text")


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (b"bad \xff", "standard input is no UTF-8 text (byte 4)"),
        (b" \n", "standard input is empty"),
        (b"a\0b", "standard input is no text: it holds NUL bytes"),
    ],
)
def test_standard_input_is_refused_as_a_file_is(stdin: bytes, said: str) -> None:
    ended = cli("run", "odd.py:silent", "--input-file", "-", stdin=stdin)
    assert (ended.exit_code, ended.stderr) == (2, f"flowcompose: --input-file: {said}\n")


def test_a_closed_standard_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from flowcompose.runner import texts

    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(texts.TextError, match="standard input is closed"):
        texts.read_standard_input()


# --- runs that are refused


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("silent", ("resume", *KEEP, "t", "--answer", "o"), "waits for no answer"),
        ("asks", ("resume", *KEEP, "t", "--answer", "a", "--answer", "b"), "for 1 answer (left?)"),
        ("both", ("resume", *KEEP, "t", "--answer", "a"), "for 2 answers (left?, {'right': 1})"),
        ("silent", ("resume", *KEEP, "t", "--events", "no/e"), "--events: cannot write"),
        (
            "silent",
            ("run", "odd.py:silent", "--input", "y", *KEEP, "--thread", "t", "--events", "no/e"),
            "--events: cannot write",
        ),
    ],
)
def test_what_is_refused_leaves_the_kept_run_as_it_was(
    name: str, args: tuple[str, ...], said: str
) -> None:
    run(name, *KEEP, "--thread", "t")
    before = rows()
    code, told = answer(*args)
    assert code == 2
    assert said in told["problems"][0]["message"]
    assert rows() == before


def test_a_run_that_is_refused_is_not_kept() -> None:
    assert run("silent", *KEEP, "--thread", "t", "--events", "no/e").exit_code == 2
    assert answer("threads", *KEEP)[1]["threads"] == []
    assert run("silent", *KEEP, "--thread", "t").exit_code == 0


def rows() -> list[Any]:
    with sqlite3.connect("runs.db") as db:
        return db.execute("SELECT * FROM flowcompose_runs").fetchall()


# --- questions


def test_each_question_is_told_and_answered() -> None:
    ended = run("both", "--json", *KEEP, "--thread", "t")
    [response] = json.loads(ended.stdout)["responses"]
    assert (ended.exit_code, response["interrupts"]) == (130, ["left?", {"right": 1}])
    assert "waits for an answer: left?\n" in ended.stderr
    assert 'waits for an answer: {"right": 1}\n' in ended.stderr
    assert ended.stderr.endswith(" t --answer TEXT --answer TEXT\n")
    code, told = answer("resume", *KEEP, "t", "--answer", "one", "--answer", "two")
    assert (code, json.loads(told["responses"][0]["content"])) == (
        0,
        {"left": "one", "right": "two"},
    )
    assert "interrupts" not in told["responses"][0]


# --- prints at import, and nothing to print


def test_what_a_module_prints_does_not_stand_in_documents_or_problems(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(
        "from flowcompose import generator, sequential\nprint('at import')\n"
        "team = sequential(name='team', roster=[{'name': 'ann'}])\n"
    )
    exported = cli("export", "noisy.py:team")
    assert exported.stdout.startswith("apiVersion:")
    validated = cli("validate", "odd.py:silent")
    assert validated.stdout == "1 document, 0 errors, 0 warnings\n"
    assert "at import" in exported.stderr
    assert "at import" in validated.stderr


def test_quiet_prints_nothing_where_there_is_no_answer() -> None:
    assert run("leaving", "--quiet").stdout == "at import\n"
    assert run("silent", "--quiet").stdout == "at import\n"


# --- files of others


@pytest.mark.parametrize(
    "tables",
    [
        ["CREATE TABLE flowcompose_runs (id INTEGER)"],
        ["CREATE TABLE checkpoints (id INTEGER)"],
        ["CREATE TABLE checkpoints (thread_id TEXT)"],
        ["CREATE TABLE writes (id INTEGER)", "CREATE TABLE checkpoints (thread_id TEXT)"],
    ],
)
def test_tables_of_another_program_are_told(tables: list[str]) -> None:
    with sqlite3.connect("runs.db") as db:
        for table in tables:
            db.execute(table)
        if "checkpoints" in tables[-1]:
            db.execute("INSERT INTO checkpoints VALUES (1)")
    started = ("run", "odd.py:silent", "--input", "x", *KEEP, "--thread", "1")
    for args in (started, ("resume", *KEEP, "1"), ("threads", *KEEP)):
        code, told = answer(*args)
        assert code == 2, args
        assert told["problems"][0]["message"]


@pytest.mark.parametrize("column", ["asked", "targets", "process", "stop", "started"])
def test_a_run_of_another_program_is_told(column: str) -> None:
    run("silent", *KEEP, "--thread", "t")
    with sqlite3.connect("runs.db") as db:
        db.execute(f"UPDATE flowcompose_runs SET {column} = '[7'")
    started = ("run", "odd.py:silent", "--input", "x", *KEEP, "--thread", "t")
    for args in (started, ("resume", *KEEP, "t"), ("threads", *KEEP)):
        code, told = answer(*args)
        said = "--checkpoint sqlite:{}: thread t in it was kept by another program or version"
        file = Path("runs.db").resolve()
        assert (code, told["problems"][0]["message"]) == (2, said.format(file))


def test_a_checkpoint_that_cannot_be_read_is_told() -> None:
    run("silent", *KEEP, "--thread", "t")
    with sqlite3.connect("runs.db") as db:
        SqliteSaver(db).setup()
        db.execute("UPDATE checkpoints SET checkpoint = x'c1'")
    started = ("run", "odd.py:silent", "--input", "x", *KEEP, "--thread", "t")
    for args in (started, ("resume", *KEEP, "t")):
        code, told = answer(*args)
        assert code == 2
        assert "thread 't' cannot be read: " in told["problems"][0]["message"]


# --- what is said of runs of others, and of what has moved


def thread_of_a_program(*, waits: bool) -> None:
    class State(TypedDict):
        x: int

    def node(state: State) -> dict[str, int]:
        return {"x": interrupt("?") if waits else 2}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node")  # pyright: ignore[reportUnknownMemberType] - of LangGraph
    with SqliteSaver.from_conn_string("runs.db") as saver:
        compiled = graph.compile(checkpointer=saver)  # pyright: ignore[reportUnknownMemberType] - of LangGraph
        compiled.invoke({"x": 1}, {"configurable": {"thread_id": "t"}})  # pyright: ignore[reportUnknownMemberType] - of LangGraph


@pytest.mark.parametrize(("waits", "phase"), [(False, "unknown"), (True, "unfinished")])
def test_of_a_graph_that_is_not_ours_only_is_known_whether_it_goes_on(
    waits: bool, phase: str
) -> None:
    thread_of_a_program(waits=waits)
    assert kept()["phase"] == phase


def test_a_run_does_not_advise_a_resume_that_would_be_refused() -> None:
    thread_of_a_program(waits=True)
    ended = run("silent", *KEEP, "--thread", "t")
    assert ended.exit_code == 2
    assert "'t' holds a run of a program that is not finished" in ended.stderr
    assert "flowcompose resume" not in ended.stderr


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("odd.py:asks", "'{}/odd.py' is not there, with which the run was begun"),
        ("odd:asks", "module 'odd' is not there: the run was begun in '{}'"),
    ],
)
def test_a_resume_says_where_it_expected_what_has_moved(
    tmp_path: Path, path: str, said: str
) -> None:
    assert cli("run", path, "--input", "x", *KEEP, "--thread", "t").exit_code == 130
    (tmp_path / "odd.py").rename(tmp_path / "moved.py")
    sys.modules.pop("odd", None)
    code, told = answer("resume", *KEEP, "t", "--answer", "a")
    assert code == 2
    assert said.format(tmp_path) in told["problems"][0]["message"]


SEVERAL = """
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {name: ann}
spec: {prompt: Speak.}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {name: bob}
spec: {prompt: Speak.}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Query
metadata: {name: ask}
spec:
  input: Well?
  cancel: true
  targets: [{type: agent, name: ann}, {type: agent, name: bob}]
---
apiVersion: v1
kind: Service
metadata: {name: other}
"""


def test_a_canceled_query_tells_of_all_its_targets_and_a_notice_is_no_warning(
    tmp_path: Path,
) -> None:
    (tmp_path / "several.yaml").write_text(SEVERAL)
    ended = cli("run", "several.yaml", "--base-url", "http://127.0.0.1:1/v1", "--json")
    told = json.loads(ended.stdout)
    assert (ended.exit_code, [each["phase"] for each in told["responses"]]) == (
        130,
        ["canceled", "canceled"],
    )
    assert "flowcompose: notice: " in ended.stderr
    assert "warning: several.yaml: Service" not in ended.stderr
