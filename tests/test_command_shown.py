"""What `flowcompose run` and `resume` show of runs that did not go the usual way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from flowcompose.runner.app import app
from tests.openai_server import Hang, HttpError, OpenAIServer, Refusal, Reply

KEPT = ("--checkpoint", "sqlite:runs.db")


def agent(name: str, spec: str = "") -> str:
    return f"{_head('Agent', name)}\nspec: {{prompt: You are {name}.{spec}}}\n"


def team(name: str, spec: str, *members: str) -> str:
    listed = ", ".join(f"{{name: {each}, type: agent}}" for each in members)
    return f"{_head('Team', name)}\nspec: {{{spec}, members: [{listed}]}}\n"


def query(spec: str) -> str:
    return f"{_head('Query', 'ask')}\nspec: {{input: Boat?, {spec}}}\n"


def _head(kind: str, name: str) -> str:
    return f"apiVersion: ark.mckinsey.com/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}"


PAIR = team("pair", "strategy: sequential", "ann", "bob")


def replied(body: dict[str, Any]) -> Reply:
    name = str(body["messages"][0]["content"]).split()[-1].strip(".")
    return ANSWERS.get(name, f"I am {name}.")


ANSWERS: dict[str, Reply] = {
    "eve": Refusal("I will not."),
    "fay": HttpError(400, "no"),
    "gil": Hang(30),
    "boss": "ann",
}


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(replied) as server:
        yield server


def write(*documents: str) -> None:
    Path("all.yaml").write_text("---\n".join(documents))


def run(server: OpenAIServer, *args: str, command: str = "run") -> Result:
    paths = ["all.yaml"] if command == "run" else []
    to = ("--base-url", server.base_url, "--api-key", "sk-of-the-test")
    return CliRunner().invoke(app, [command, *paths, *to, *args])


def asked(name: str) -> tuple[str, ...]:
    return ("--team", name, "--input", "Boat?")


def last_line(ended: Result) -> str:
    return str(ended.stdout.splitlines()[-1])


# --- refusals


def test_a_refusal_is_shown_and_is_the_answer(server: OpenAIServer) -> None:
    write(agent("eve"))
    ended = run(server, *asked("eve"), *KEPT, "--thread", "t")
    assert ended.exit_code == 0
    assert ended.stdout.count("eve: [refused] I will not.\n") == 1
    assert "Output" not in ended.stdout
    assert run(server, *asked("eve"), "--quiet").stdout == "[refused] I will not.\n"
    assert "output: [refused] I will not.\n" in run(server, *KEPT, "t", command="resume").stdout


def test_a_refusal_of_one_member_is_shown_where_another_answers(server: OpenAIServer) -> None:
    write(agent("eve"), agent("ann"), team("both", "strategy: sequential", "eve", "ann"))
    ended = run(server, *asked("both"))
    assert "eve: [refused] I will not.\nann: I am ann.\n" in ended.stdout
    assert run(server, *asked("both"), "--quiet").stdout == "I am ann.\n"


def test_a_refusal_is_no_content_of_the_object(server: OpenAIServer) -> None:
    write(agent("eve"))
    [response] = json.loads(run(server, *asked("eve"), "--json").stdout)["responses"]
    assert (response["content"], response["raw"][-1]["refusal"]) == ("", "I will not.")


# --- how far a run got


def test_a_round_whose_last_member_fails_is_not_finished(server: OpenAIServer) -> None:
    write(agent("fay"))
    ended = run(server, *asked("fay"))
    assert "== failed; 0 contributions so far; 0 finished rounds; " in ended.stdout


@pytest.mark.parametrize(("breaks", "how"), [("fay", "failed"), ("gil", "timed out")])
def test_a_run_that_breaks_off_counts_what_was_said_inside_of_its_members(
    server: OpenAIServer, breaks: str, how: str
) -> None:
    inner = team("inner", "strategy: sequential", "ann", breaks)
    outer = team("outer", "strategy: sequential", "ann").replace(
        "type: agent}]", "type: agent}, {name: inner, type: team}]"
    )
    write(agent("ann"), agent(breaks), inner, outer)
    ended = run(server, *asked("outer"), "--timeout", "1")
    assert ended.exit_code == 1
    assert f"== {how}; 2 contributions so far; 0 finished rounds; " in ended.stdout


def test_a_pattern_without_rounds_tells_of_none(server: OpenAIServer) -> None:
    chosen = team("chosen", "strategy: selector, maxTurns: 2, selector: {agent: boss}", "ann")
    write(agent("ann"), agent("boss"), chosen)
    ended = run(server, *asked("chosen"))
    assert last_line(ended).startswith("== stopped: max_turns (2 turns); 2 turns; ")


def test_a_failed_pattern_without_rounds_tells_of_none(server: OpenAIServer) -> None:
    chosen = team("chosen", "strategy: selector, maxTurns: 2, selector: {agent: boss}", "fay")
    write(agent("fay"), agent("boss"), chosen)
    ended = run(server, *asked("chosen"))
    assert last_line(ended).startswith("== failed; 0 contributions so far; 0 tokens")


# --- why nothing came of it


def test_warnings_are_not_shown_where_quiet_is_wanted_and_nothing_can_be_run() -> None:
    write(agent("ann"), query("targets: [{type: agent, name: ann}]"))
    ended = CliRunner().invoke(app, ["run", "all.yaml"])
    assert "flowcompose: warning: " in ended.stderr
    quiet = CliRunner().invoke(app, ["run", "all.yaml", "--quiet"])
    assert (quiet.exit_code, quiet.stdout) == (2, "")
    assert "warning" not in quiet.stderr
    assert "flowcompose: models: no Model 'default'" in quiet.stderr


def test_a_query_that_is_to_be_canceled_says_so(server: OpenAIServer) -> None:
    write(agent("ann"), query("cancel: true, target: {type: agent, name: ann}"))
    ended = run(server)
    assert (ended.exit_code, ended.stdout) == (130, "")
    assert "flowcompose: Query 'ask' is not run: it says cancel: true\n" in ended.stderr
    assert not server.requests


def test_a_timeout_names_the_target_and_whose_it_is(server: OpenAIServer) -> None:
    both = "targets: [{type: agent, name: ann}, {type: agent, name: gil}]"
    write(agent("ann"), agent("gil"), query(f"timeout: 1s, {both}"))
    said = run(server).stderr
    whose = "the timeout of the Query; --timeout overrides it"
    assert f"flowcompose: agent 'gil' timed out after 1 s ({whose})\n" in said
    said = run(server, "--timeout", "0.5").stderr
    assert "flowcompose: agent 'gil' timed out after 0.5 s (--timeout)\n" in said


# --- threads


def test_the_answer_of_a_finished_thread_is_shown_again(server: OpenAIServer) -> None:
    write(agent("ann"), agent("bob"), PAIR)
    first = run(server, *asked("pair"), *KEPT, "--thread", "t")
    assert "Output" not in first.stdout
    told = run(server, *KEPT, "t", command="resume")
    assert told.exit_code == 0
    assert told.stdout.startswith("== Output\noutput: I am bob.\n== stopped: completed; 1 round; ")
    assert len(server.requests) == 2


def test_a_finished_thread_takes_another_run_and_an_unfinished_one_does_not(
    server: OpenAIServer,
) -> None:
    write(agent("ann"), agent("fay"), team("pair", "strategy: sequential", "ann", "fay"))
    thread = (*KEPT, "--thread", "t")
    assert run(server, *asked("ann"), *thread).exit_code == 0
    again = run(server, *asked("ann"), *thread)
    assert (again.exit_code, again.stdout.count("ann: I am ann.")) == (0, 1)
    assert "stopped: completed; 1 round; 1 turn; " in again.stdout
    assert server.requests[0]["messages"] == server.requests[1]["messages"]
    assert run(server, *asked("pair"), *KEPT, "--thread", "u").exit_code == 1
    refused = run(server, *asked("ann"), *KEPT, "--thread", "u")
    assert refused.exit_code == 2
    assert "thread 'u' holds a run that is not finished; go on with it: " in refused.stderr
    assert refused.stderr.endswith("/runs.db u; or take another --thread\n")
