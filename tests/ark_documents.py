"""Small ARK documents of our own, and the command line that runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

import flowcompose
from flowcompose.runner.app import app
from tests.openai_server import OpenAIServer, Replies

Doc = dict[str, Any]
Body = Mapping[str, Any]

E1, E2, E3 = ERAS = ("v0.1.31", "v0.1.50", "v0.1.67")

GOAL = "Say what you know of tides."

_FOREIGN = ("OPENAI_", "AZURE_OPENAI_", "FLOWCOMPOSE_", "LANGSMITH_", "LANGCHAIN_")
_LAUNCH = (
    "import sys; sys.argv[0] = 'flowcompose';from flowcompose.runner.entry import main; main()"
)


# --- documents


def document(kind: str, name: str, **spec: Any) -> Doc:
    return {
        "apiVersion": "ark.mckinsey.com/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def agent(name: str, prompt: str | None = None, **spec: Any) -> Doc:
    """An agent; its prompt is `You are NAME.`, so a request shows who asks."""
    return document("Agent", name, prompt=prompt or prompt_of(name), **spec)


def prompt_of(name: str) -> str:
    return f"You are {name}."


def terminating(name: str) -> Doc:
    """An agent that may end its team."""
    return agent(name, tools=[{"type": "built-in", "name": "terminate"}])


def team(name: str, members: str, strategy: str = "sequential", **spec: Any) -> Doc:
    """A team; members are names, with a `team:` before those of teams."""
    listed = [
        {"name": each.removeprefix("team:"), "type": "team" if "team:" in each else "agent"}
        for each in members.split()
    ]
    return document("Team", name, strategy=strategy, members=listed, **spec)


def query(target: str, text: str = GOAL, kind: str = "team", **spec: Any) -> Doc:
    return document("Query", "ask", input=text, targets=[{"type": kind, "name": target}], **spec)


def edges(*pairs: str) -> Doc:
    """A graph of `a>b` pairs."""
    both = [pair.split(">") for pair in pairs]
    return {"edges": [{"from": start, "to": end} for start, end in both]}


def model(name: str, value: str) -> Doc:
    """A Model as published: the address is a placeholder."""
    config = {"openai": {"baseUrl": {"value": "($url)"}, "apiKey": {"value": "($key)"}}}
    return document("Model", name, type="openai", model={"value": value}, config=config)


def write(folder: Path, *documents: Doc) -> Path:
    """One file for all the documents."""
    file = folder / "documents.yaml"
    file.write_text(yaml.safe_dump_all(documents, sort_keys=False))
    return file


# --- the command line


@dataclass(frozen=True)
class Ran:
    """What a command left."""

    code: int
    out: str
    err: str
    requests: Sequence[Body] = field(default=(), repr=False)

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        printed: dict[str, Any] = json.loads(self.out)
        return printed

    @property
    def response(self) -> dict[str, Any]:
        """The answer of the only target."""
        (only,) = self.json["responses"]
        return dict(only)

    @property
    def raw(self) -> list[tuple[str, str | None, str]]:
        """The new messages."""
        return flat(self.response["raw"])

    @property
    def speakers(self) -> list[str]:
        """Who was asked, by the system prompts that arrived."""
        return [str(body["messages"][0]["content"])[8:-1] for body in self.requests]

    @property
    def stop(self) -> str:
        return str(self.json["stop"]["reason"])


def flat(messages: Iterable[Mapping[str, Any]]) -> list[tuple[str, str | None, str]]:
    """Messages as role, name and text."""
    return [(m["role"], m.get("name"), m.get("content") or "") for m in messages]


def said(*pairs: str) -> list[tuple[str, str | None, str]]:
    """Messages of assistants, of `name=text` pairs."""
    return [("assistant", name, text) for name, _, text in (each.partition("=") for each in pairs)]


def asked(body: Body) -> list[tuple[str, str | None, str]]:
    """The messages of a request."""
    return flat(body["messages"])


def tools_of(body: Body) -> list[str]:
    """The names of the tools that a request offers."""
    return [str(each["function"]["name"]) for each in body.get("tools") or []]


def flowcompose_here(*args: str | Path) -> Ran:
    """Run a command in this process."""
    unset: dict[str, str | None] = {key: None for key in os.environ if key.startswith(_FOREIGN)}
    ended = CliRunner().invoke(app, [str(arg) for arg in args], env=unset)
    if ended.exception and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return Ran(ended.exit_code, ended.stdout, ended.stderr)


def flowcompose_there(*args: str | Path) -> Ran:
    """Run a command as a shell does."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}
    source = str(Path(flowcompose.__file__).parents[1])
    ended = subprocess.run(
        [sys.executable, "-c", _LAUNCH, *map(str, args)],
        env={**kept, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def run(folder: Path, era: str, replies: Replies, *documents: Doc, more: Sequence[str] = ()) -> Ran:
    """Run documents against a server that gives these replies."""
    file = write(folder, *documents)
    with OpenAIServer(replies) as server:
        address = ("--base-url", server.base_url)
        ran = flowcompose_here("run", file, *address, "--compat", era, "--json", *more)
        return Ran(ran.code, ran.out, ran.err, server.requests)


def problems_of(bodies: Iterable[Body]) -> list[str]:
    """What no server of the API would take: calls without answers, answers without calls."""
    return [problem for body in bodies for problem in _unpaired(body["messages"])]


def _unpaired(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    waiting: list[str] = []
    problems: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            known = message["tool_call_id"] in waiting
            problems += [] if known else [f"an answer to no call: {message}"]
            waiting = [each for each in waiting if each != message["tool_call_id"]]
            continue
        problems += [f"no answer to {each} before {message}" for each in waiting]
        waiting = [call["id"] for call in message.get("tool_calls") or []]
    return problems + [f"no answer to {each} at the end" for each in waiting]
