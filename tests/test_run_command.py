"""`flowcompose run` with documents: real requests to a server on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from flowcompose.runner.app import app
from tests.openai_server import Hang, HttpError, OpenAIServer, Reply
from tests.test_cli import LAUNCH, PATIENCE, environment, run_cli

KEY = "sk-of-the-command-line"

AGENTS = """
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {name: ann}
spec: {prompt: You are ann.}
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {name: bob}
spec: {prompt: You are bob.}
"""
TEAM = """
apiVersion: ark.mckinsey.com/v1alpha1
kind: Team
metadata: {name: pair}
spec:
  strategy: sequential
  members: [{name: ann, type: agent}, {name: bob, type: agent}]
"""
QUERY = """
apiVersion: ark.mckinsey.com/v1alpha1
kind: Query
metadata: {name: ask}
spec:
  input: Buy a boat?
  targets: [{type: team, name: pair}]
"""
MODEL = """
apiVersion: ark.mckinsey.com/v1alpha1
kind: Model
metadata: {name: default}
spec:
  type: openai
  model: {value: gpt-test}
  config:
    openai:
      baseUrl: {value: "URL"}
      apiKey: {valueFrom: {secretKeyRef: {name: keys, key: token}}}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {token: sk-of-the-document}
"""


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "FLOWCOMPOSE_", "LANGSMITH_", "LANGCHAIN_")):
            monkeypatch.delenv(name)
    write(AGENTS, TEAM, QUERY)


def write(*documents: str) -> None:
    Path("docs").mkdir(exist_ok=True)
    Path("docs/all.yaml").write_text("---".join(documents))


def cli(*args: str) -> Result:
    return CliRunner().invoke(app, [*args])


def to(server: OpenAIServer) -> tuple[str, ...]:
    return ("--base-url", server.base_url, "--api-key", KEY)


def answer(*args: str) -> tuple[int, dict[str, Any]]:
    ended = cli(*args, "--json")
    return ended.exit_code, json.loads(ended.stdout)


def names(told: dict[str, Any]) -> list[str]:
    return [message["name"] for response in told["responses"] for message in response["raw"]]


def named(body: dict[str, Any]) -> Reply:
    """Every agent says its name, which stands in its prompt."""
    return f"I am {body['messages'][0]['content'].split()[-1]}"


# --- what is run


def test_the_only_query_of_a_folder_is_answered() -> None:
    with OpenAIServer(named) as server:
        code, told = answer("run", "docs", *to(server))
    [response] = told["responses"]
    assert (code, told["query"], told["phase"], told["era"]) == (0, "ask", "done", "v0.1.31")
    assert (response["target"], response["phase"]) == ({"type": "team", "name": "pair"}, "done")
    assert response["content"] == "I am bob."
    assert response["raw"] == [
        {"role": "assistant", "content": "I am ann.", "name": "ann"},
        {"role": "assistant", "content": "I am bob.", "name": "bob"},
    ]
    assert told["stop"]["reason"] == "completed"
    assert told["tokenUsage"]["totalTokens"] > 0
    assert list(told) == [
        *("query", "phase", "responses", "stop", "tokenUsage", "thread", "era"),
    ]


def test_json_asks_for_whole_answers_and_a_transcript_for_pieces() -> None:
    with OpenAIServer(named) as server:
        answer("run", "docs", *to(server))
        assert not any(body.get("stream") for body in server.requests)
    with OpenAIServer(named) as server:
        cli("run", "docs", *to(server))
        assert all(body.get("stream") for body in server.requests)


def test_the_transcript_is_shown_and_the_answer_not_repeated() -> None:
    with OpenAIServer(named) as server:
        ended = cli("run", "docs", *to(server))
    assert ended.stdout.count("I am bob.") == 1
    assert "ann: I am ann.\nbob: I am bob.\n== stopped: completed" in ended.stdout
    assert "flowcompose: documents of v0.1.31\n" in ended.stderr


def test_quiet_prints_the_answer_and_no_warning() -> None:
    with OpenAIServer(named) as server:
        ended = cli("run", "docs", *to(server), "--quiet")
    assert (ended.stdout, ended.stderr) == ("I am bob.\n", "")


def test_a_team_or_an_agent_is_asked_in_place_of_a_query() -> None:
    with OpenAIServer(named) as server:
        _, team = answer("run", "docs", "--team", "pair", "--input", "x", *to(server))
        _, agent = answer("run", "docs", "--team", "ann", "--input", "x", *to(server))
    assert (team["query"], names(team)) == (None, ["ann", "bob"])
    assert agent["responses"][0]["target"] == {"type": "agent", "name": "ann"}


def test_without_options_the_model_of_the_documents_is_asked() -> None:
    with OpenAIServer(named) as server:
        write(AGENTS, TEAM, QUERY, MODEL.replace("URL", server.base_url))
        code, _ = answer("run", "docs")
    assert code == 0
    assert server.requests[0]["model"] == "gpt-test"


def test_several_targets_answer_one_after_the_other() -> None:
    write(AGENTS, TEAM, QUERY.replace("[{", "[{type: agent, name: ann}, {"))
    with OpenAIServer(named) as server:
        code, told = answer("run", "docs", *to(server))
    assert [each["target"]["name"] for each in told["responses"]] == ["ann", "pair"]
    assert (code, told["stop"]["reason"]) == (0, "completed")


def test_one_target_that_fails_does_not_keep_the_others_from_answering() -> None:
    write(AGENTS, TEAM, QUERY.replace("[{", "[{type: agent, name: ann}, {"))
    with OpenAIServer([HttpError(400, "no"), "one", "two"]) as server:
        code, told = answer("run", "docs", *to(server))
    assert [each["phase"] for each in told["responses"]] == ["error", "done"]
    assert (code, told["phase"]) == (1, "error")
    assert told["stop"]["reason"] in ("failed", "member_failed")


def test_a_canceled_query_does_not_run() -> None:
    write(AGENTS, TEAM, QUERY + "  cancel: true\n")
    with OpenAIServer(named) as server:
        code, told = answer("run", "docs", *to(server))
        assert server.requests == []
    assert (code, told["phase"], told["stop"]["reason"]) == (130, "canceled", "cancelled")


def test_a_failed_agent_is_an_error_that_keeps_what_was_said() -> None:
    with OpenAIServer(["Fine.", HttpError(400, f"bad request with {KEY}")]) as server:
        ended = cli("run", "docs", *to(server), "--json")
    told = json.loads(ended.stdout)
    assert (ended.exit_code, told["phase"]) == (1, "error")
    assert told["responses"][0]["raw"][0]["content"] == "Fine."
    assert "bad request with ***" in told["responses"][0]["error"]
    assert KEY not in ended.output


def test_the_timeout_of_the_query_holds_and_the_option_goes_before_it() -> None:
    write(AGENTS, TEAM, QUERY + "  timeout: 1h\n")
    with OpenAIServer(["Fine.", Hang(3600)]) as server:
        ended = run_cli("run", "docs", *to(server), "--json", "--timeout", "2")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["phase"], told["stop"]["by"]) == (1, "error", "timeout")
    assert names(told) == ["ann"]


def test_each_target_has_its_own_time_and_tells_what_it_said_itself() -> None:
    write(AGENTS, TEAM, QUERY.replace("}]", "}, {type: agent, name: ann}]") + "  timeout: 2s\n")
    with OpenAIServer(["one", Hang(3600), "three"]) as server:
        ended = run_cli("run", "docs", *to(server), "--json")
    told = json.loads(ended.stdout)
    raw = [[each["content"] for each in response["raw"]] for response in told["responses"]]
    assert [each["phase"] for each in told["responses"]] == ["error", "done"]
    assert raw == [["one"], ["three"]]
    assert (ended.returncode, told["stop"]["by"]) == (1, "timeout")


def test_no_secret_gets_into_output_events_or_the_file_that_keeps_runs() -> None:
    def leaky(body: dict[str, Any]) -> Reply:
        return f"The key is {KEY}, and the other sk-of-the-document."

    kept = ("--checkpoint", "sqlite:runs.db", "--events", "events.jsonl")
    with OpenAIServer(leaky) as server:
        write(AGENTS, TEAM, QUERY, MODEL.replace("URL", server.base_url))
        shown = cli("run", "docs", *to(server), *kept)
        told = cli("run", "docs", *to(server), "--json", *kept)
    files = b"".join(path.read_bytes() for path in Path().glob("*") if path.is_file())
    assert shown.exit_code == told.exit_code == 0
    written = shown.output + told.output + files.decode(errors="replace")
    assert "The key is ***, and the other ***." in written
    assert KEY not in written
    assert "sk-of-the-document" not in written


def test_what_was_counted_is_written_though_it_is_the_number_of_a_secret() -> None:
    def usage(server: OpenAIServer) -> dict[str, Any]:
        cli("run", "docs", *to(server), "--events", "events.jsonl")
        *_, last = map(json.loads, Path("events.jsonl").read_text().splitlines())
        found: dict[str, Any] = last["result"]["usage"]
        return found

    with OpenAIServer(lambda body: "word " * 1200) as server:
        write(AGENTS, TEAM, QUERY)
        used = usage(server)
        pin = f"'{used['output_tokens']}'"
        secret = (
            f"\napiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{p: {pin}}}\n"
        )
        write(AGENTS, TEAM, QUERY, secret)
        assert len(pin) >= len("'1000'")
        assert usage(server) == used


def test_a_token_in_the_url_of_the_endpoint_is_not_shown() -> None:
    with OpenAIServer([]) as server:
        url = f"{server.base_url}?token=hidden-word"
        ended = cli("run", "docs", "--base-url", url, "--json")
    assert "404 - unknown path /v1/?***" in json.loads(ended.stdout)["responses"][0]["error"]
    assert "hidden-word" not in ended.output


# --- what cannot be run


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--input", "x"), "a Query has an input of its own: --input needs --team NAME"),
        (("--team", "pair"), "--team pair needs --input TEXT"),
        (("--team", "pair", "--query", "ask", "--input", "x"), "exclude each other"),
        (("--team", "nobody", "--input", "x"), "there is no Team or Agent 'nobody'"),
        (("--query", "nothing"), "there is no Query 'nothing'"),
        (("--base-url", "ftp://host"), "http"),
    ],
)
def test_arguments_that_do_not_fit_are_unusable(args: tuple[str, ...], said: str) -> None:
    code, told = answer("run", "docs", "--api-key", KEY, *args)
    assert (code, told["ok"]) == (2, False)
    assert said in " ".join(each["message"] for each in told["problems"])


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("{role: assistant, content: Hello}", "its last message must be one of the user"),
        (
            "{role: user, content: [{type: image_url, image_url: {url: 'https://a/b.png'}}]}",
            "its last message must hold no other parts",
        ),
    ],
)
def test_messages_that_end_with_no_question_are_unusable(last: str, said: str) -> None:
    first = "{role: user, content: Hi}"
    write(AGENTS, TEAM, QUERY.replace("Buy a boat?", f"[{first}, {last}]"))
    code, told = answer("run", "docs", "--base-url", "http://127.0.0.1:9/v1")
    assert (code, told["ok"]) == (2, False)
    assert said in " ".join(each["message"] for each in told["problems"])


def test_broken_documents_are_told_as_validate_does() -> None:
    write(AGENTS, TEAM.replace("name: bob", "name: eve"), QUERY)
    code, told = answer("run", "docs", "--model", "offline")
    assert (code, told["ok"], told["era"]) == (2, False, "v0.1.31")
    assert [each["name"] for each in told["documents"]] == ["ann", "bob", "pair", "ask"]
    assert told == answer("validate", "docs")[1]
    shown = cli("run", "docs", "--model", "offline")
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "docs/all.yaml:" in shown.stderr


def test_a_model_that_cannot_be_asked_is_told_with_what_to_give() -> None:
    code, told = answer("run", "docs")
    assert (code, told["ok"], len(told["documents"])) == (2, False, 4)
    assert "--base-url" in " ".join(each["message"] for each in told["problems"])


# --- kept


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_killed_query_goes_on_where_it_was_and_needs_its_key_again() -> None:
    kept = ("--checkpoint", "sqlite:runs.db")
    with OpenAIServer(["I am ann.", Hang(3600)]) as server:
        process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, "run", "docs", *to(server), *kept, "--thread", "t"],
            env=environment(),
            stdout=subprocess.DEVNULL,
        )
        wait_until(lambda: len(server.requests) == 2)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    [thread] = answer("threads", *kept)[1]["threads"]
    assert (thread["phase"], thread["turns"], thread["what"]) == ("unfinished", 1, "ask")
    code, told = answer("resume", *kept, "t")
    assert code == 2
    assert "--api-key of the run is not kept: give it again" in told["problems"][0]["message"]
    with OpenAIServer(["I am bob."]) as server:
        code, told = answer("resume", *kept, "t", *to(server))
        assert len(server.requests) == 1
    assert (code, told["query"], told["era"], names(told)) == (0, "ask", "v0.1.31", ["ann", "bob"])


def test_each_target_is_kept_and_those_that_are_done_are_not_asked_again() -> None:
    write(AGENTS, TEAM, QUERY.replace("[{", "[{type: agent, name: ann}, {"))
    kept = ("--checkpoint", "sqlite:runs.db")
    with OpenAIServer(["one", "two", HttpError(400, "no")]) as server:
        assert cli("run", "docs", *to(server), *kept, "--thread", "t").exit_code == 1
    with OpenAIServer(["three"]) as server:
        code, told = answer("resume", *kept, "t", *to(server))
        assert len(server.requests) == 1
    assert code == 0
    assert [each["content"] for each in told["responses"]] == ["one", "three"]
    assert [each["thread"] for each in answer("threads", *kept)[1]["threads"]] == ["t"]
