"""A Query of several targets, and runs that are left while something inside of them works."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.openai_server import Hang, HttpError, OpenAIServer, Reply, ToolCalls
from tests.test_cli import LAUNCH, PATIENCE, environment
from tests.test_run_command import (
    AGENTS,
    QUERY,
    TEAM,
    _at_home,  # noqa: F401 - a fixture # pyright: ignore[reportPrivateUsage, reportUnusedImport]
    answer,
    named,
    to,
    wait_until,
    write,
)

KEPT = ("--checkpoint", "sqlite:runs.db", "--thread", "t")
HANGS = Hang(3600)


def ask(*targets: str) -> str:
    """A Query of agents."""
    listed = ", ".join(f"{{type: agent, name: {each}}}" for each in targets)
    return QUERY.replace("{type: team, name: pair}", listed)


def left_after(server: OpenAIServer, requests: int, *args: str) -> tuple[int, dict[str, Any], str]:
    """Begin a run, and interrupt it once the server has so many requests."""
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, "run", "docs", *to(server), *args, "--json"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: len(server.requests) == requests)
    process.send_signal(signal.SIGINT)
    written, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, json.loads(written), errors


def turns() -> list[int]:
    return [each["turns"] for each in answer("threads", *KEPT[:2])[1]["threads"]]


# --- several targets


def test_a_query_that_is_interrupted_is_canceled_though_a_target_had_failed() -> None:
    write(AGENTS, TEAM, ask("ann", "bob", "ann", "bob"))
    with OpenAIServer(["one", HttpError(400, "no"), HANGS]) as server:
        code, told, errors = left_after(server, 3, *KEPT)
    assert (code, told["phase"], told["stop"]["reason"]) == (130, "canceled", "cancelled")
    phases = [each["phase"] for each in told["responses"]]
    assert phases == ["done", "error", "canceled", "canceled"]
    assert errors.count("agent bob was not asked") == 1
    with OpenAIServer(named) as server:
        code, told = answer("resume", *KEPT[:2], "t", *to(server))
        assert len(server.requests) == 3
    assert (code, turns()) == (0, [4])


def test_the_turns_of_all_targets_are_counted() -> None:
    write(AGENTS, TEAM, ask("ann", "bob").replace("}]", "}, {type: team, name: pair}]"))
    with OpenAIServer(named) as server:
        assert answer("run", "docs", *to(server), *KEPT)[0] == 0
    assert turns() == [4]


# --- what is spent inside of a team

OUTER = """
apiVersion: ark.mckinsey.com/v1alpha1
kind: Team
metadata: {name: outer}
spec:
  strategy: sequential
  members: [{name: ann, type: agent}, {name: pair, type: team}, {name: bob, type: agent}]
"""


def nested() -> None:
    loops = TEAM.replace("sequential", "round-robin\n  maxTurns: 2")
    write(AGENTS, loops, OUTER, QUERY.replace("name: pair", "name: outer"))


def up_to(requests: int, last: Reply) -> OpenAIServer:
    return OpenAIServer([*(["a word"] * requests), last])


def spent_in(requests: int) -> int:
    """Tokens of the first requests, which are the same in each run."""
    with up_to(requests, HttpError(400, "no")) as server:
        told = answer("run", "docs", *to(server), "--json")[1]
    return int(told["tokenUsage"]["totalTokens"])


@pytest.mark.parametrize("done", [1, 2, 4])
def test_what_was_spent_in_a_team_inside_counts_where_the_run_is_left(done: int) -> None:
    nested()
    with up_to(done, HANGS) as server:
        code, told, _ = left_after(server, done + 1)
    assert (code, len(told["responses"][0]["raw"])) == (130, done)
    assert told["tokenUsage"]["totalTokens"] == spent_in(done)


def test_what_was_spent_in_a_team_inside_counts_where_time_is_up() -> None:
    nested()
    with up_to(3, HANGS) as server:
        told = answer("run", "docs", *to(server), "--timeout", "2")[1]
    assert told["stop"]["by"] == "timeout"
    assert told["tokenUsage"]["totalTokens"] == spent_in(3)


# --- what is said in a tool

ASKS = """
apiVersion: ark.mckinsey.com/v1alpha1
kind: Agent
metadata: {name: ann}
spec:
  prompt: You are ann.
  tools: [{type: custom, name: ask-bob}]
---
apiVersion: ark.mckinsey.com/v1alpha1
kind: Tool
metadata: {name: ask-bob}
spec: {type: agent, agent: {name: bob}}
"""


def test_the_words_of_who_is_asked_through_a_tool_are_no_message_where_a_run_is_left() -> None:
    bob = AGENTS.split("---")[1]
    write(ASKS, bob, TEAM, QUERY)
    asked = ToolCalls([("ask-bob", {"input": "Well?"})])
    with OpenAIServer([asked, "Aye.", HANGS]) as server:
        code, told, _ = left_after(server, 3)
    assert (code, told["responses"][0]["raw"]) == (130, [])
    assert told["tokenUsage"]["totalTokens"] > 0
