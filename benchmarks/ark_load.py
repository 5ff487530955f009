"""How long it takes to load a thousand ARK documents and to compile all their teams.

The documents are written to a folder, one file each, as people keep them: agents with
parameters and tools, and teams of every strategy, some with a team as a member. Loading reads,
validates and cross-checks them all; compiling makes the pattern of every team. The process is
warm: a small set was loaded before, since the imports of the engine are paid by any program.

Run it with `python benchmarks/ark_load.py`; `--hold SECONDS` makes it fail above that.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from flowcompose.runner.agents.endpoint import Endpoint
from flowcompose.runner.manifest import load
from flowcompose.runner.teams.jobs import team_pattern

HEAD = "apiVersion: ark.mckinsey.com/v1alpha1\nkind: {kind}\nmetadata:\n  name: {name}\nspec:\n"

MODEL = """  provider: openai
  model:
    value: gpt-4o
  config:
    openai:
      baseUrl:
        value: http://127.0.0.1:9/v1
      apiKey:
        value: not-a-key
"""

AGENT = """  description: Knows all about subject {number}
  prompt: |
    You are expert {{{{.subject}}}}.
    Answer briefly, and build on what was said before you.
  parameters:
  - name: subject
    value: "number {number}"
  modelRef:
    name: default
  tools:
  - type: built-in
    name: terminate
"""

STRATEGIES = {
    "sequential": "  strategy: sequential\n",
    "round-robin": "  strategy: round-robin\n  maxTurns: 3\n",
    "selector": "  strategy: selector\n  maxTurns: 10\n  selector:\n    agent: {first}\n",
    "graph": (
        "  strategy: graph\n  maxTurns: 10\n  graph:\n    edges:\n"
        "    - from: {first}\n      to: {second}\n    - from: {second}\n      to: {third}\n"
    ),
}


def documents(number: int) -> dict[str, str]:
    """Write documents, by name: three quarters agents, the rest teams, and one model."""
    teams = number // 4
    agents = [f"agent-{at}" for at in range(number - teams - 1)]
    written = {"default": HEAD.format(kind="Model", name="default") + MODEL}
    for at, name in enumerate(agents):
        written[name] = HEAD.format(kind="Agent", name=name) + AGENT.format(number=at)
    for at in range(teams):
        written[f"team-{at}"] = _team(at, agents)
    return written


def _team(at: int, agents: list[str]) -> str:
    names = [agents[(3 * at + step) % len(agents)] for step in range(3)]
    strategy = [*STRATEGIES.values()][at % len(STRATEGIES)]
    keys = dict(zip(("first", "second", "third"), names, strict=True))
    members = "".join(f"  - name: {name}\n    type: agent\n" for name in names)
    if at % 8 == 4:  # a sequential one, around one that stands before it
        members += f"  - name: team-{at - 1}\n    type: team\n"
    head = HEAD.format(kind="Team", name=f"team-{at}")
    return f"{head}{strategy.format(**keys)}  members:\n{members}"


def measured(number: int) -> tuple[float, float]:
    """Give the seconds of loading, and of compiling."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in documents(number).items():
            (Path(folder) / f"{name}.yaml").write_text(text, encoding="utf-8")
        start = time.perf_counter()
        manifest = load([folder])
        loaded = time.perf_counter()
    manifest.raise_if_errors()
    for team in manifest.of_kind("Team"):
        team_pattern(manifest, team.name, Endpoint())
    return loaded - start, time.perf_counter() - loaded


def main() -> int:
    """Measure, and say what came of it."""
    parser = argparse.ArgumentParser(description="Load and compile many ARK documents.")
    parser.add_argument("--documents", type=int, default=1000, help="how many")
    parser.add_argument("--repeats", type=int, default=3, help="how often; the median counts")
    parser.add_argument("--hold", type=float, help="fail if it takes more seconds than that")
    given = parser.parse_args()
    measured(16)
    runs = sorted((measured(given.documents) for _ in range(given.repeats)), key=sum)
    load_time, compile_time = runs[len(runs) // 2]
    taken = load_time + compile_time
    print(f"{given.documents} documents, median of {given.repeats} runs")
    print(f"  load     {load_time:6.2f} s")
    print(f"  compile  {compile_time:6.2f} s")
    print(f"  both     {taken:6.2f} s")
    return int(given.hold is not None and taken > given.hold)


if __name__ == "__main__":
    sys.exit(main())
