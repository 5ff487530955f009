"""Chainsaw tests, read and checked without a cluster.

A test applies documents and asserts what their objects look like afterwards. Keys in parentheses
are JMESPath expressions. What only a cluster has is passed over, and listed in `passed_over`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import jmespath
import yaml

Tree = Mapping[str, Any]

COMPLETED: Tree = {"(conditions[?type == 'Completed'])": [{"status": "True"}]}


@dataclass(frozen=True)
class Check:
    """What an object must look like."""

    kind: str
    name: str
    tree: Tree
    """The assertion without `apiVersion` and `kind`."""


@dataclass
class ChainsawTest:
    """What a test applies and asserts."""

    file: Path
    applied: list[Path] = field(default_factory=list[Path])
    inline: list[Tree] = field(default_factory=list[Tree])
    """Documents that stand in the test itself."""
    checks: list[Check] = field(default_factory=list[Check])
    passed_over: list[str] = field(default_factory=list[str])

    @property
    def query(self) -> str:
        """The name of the one Query that it asserts about."""
        (name,) = {check.name for check in self.checks if check.kind == "Query"}
        return name


def read(file: Path) -> ChainsawTest:
    """Read a test. Steps that say what to do after a failure count as passed over."""
    test = ChainsawTest(file)
    for step in yaml.safe_load(file.read_text())["spec"]["steps"]:
        for operation in step["try"]:
            _read_operation(test, operation)
        for after in ("catch", "cleanup"):
            done = [next(iter(operation)) for operation in step.get(after, [])]
            test.passed_over += [f"{after}: {each}" for each in done]
    return test


def _read_operation(test: ChainsawTest, operation: Mapping[str, Any]) -> None:
    ((verb, what),) = operation.items()
    if verb == "apply" and "file" in what:
        test.applied += _files(test.file.parent, what["file"])
    elif verb == "apply":
        test.inline.append(what["resource"])
    elif verb in ("assert", "error"):
        _read_assertion(test, verb, what["resource"])
    elif verb == "wait" and what["kind"] == "Query":
        test.checks.append(Check("Query", what["name"], {"status": COMPLETED}))
    elif verb == "wait":
        test.passed_over.append(f"wait: {what['kind']} {what['for']['condition']['name']}")
    else:
        test.passed_over.append(verb)


def _files(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern)) if "*" in pattern else [(folder / pattern).resolve()]
    assert found, f"{pattern} is nowhere in {folder}"
    return found


def _read_assertion(test: ChainsawTest, verb: str, resource: Tree) -> None:
    kind = resource["kind"]
    tree = {key: value for key, value in resource.items() if key not in ("apiVersion", "kind")}
    if kind != "Query" and "status" in tree:
        # Who is available is the cluster's to say.
        told = ", ".join(_conditions(tree.pop("status")))
        test.passed_over.append(f"{verb}: {kind} status {told}")
    if verb == "error":
        test.passed_over.append(f"error: {kind}")
    elif kind != "Model":
        test.checks.append(Check(kind, resource["metadata"]["name"], tree))


def _conditions(status: Tree) -> Iterator[str]:
    for key, value in status.items():
        yield from (each["type"] for each in value) if key == "conditions" else [f"{key} {value}"]


def status_of(printed: Mapping[str, Any]) -> dict[str, Any]:
    """The status that a Query would have, of the object that the command line printed."""
    responses = [
        {**response, "raw": json.dumps(response["raw"], ensure_ascii=False)}
        for response in printed["responses"]
    ]
    completed = {"type": "Completed", "status": str(printed["phase"] == "done")}
    return {
        "phase": printed["phase"],
        "responses": responses,
        "response": responses[0] if len(responses) == 1 else None,
        "tokenUsage": printed["tokenUsage"],
        "conditions": [completed],
    }


def mismatches(wanted: Any, found: Any, where: str = "") -> list[str]:
    """Say where an object differs from an assertion; empty if it holds.

    Mappings may hold more than is asserted, lists may not.
    """
    if isinstance(wanted, Mapping):
        tree = cast("Tree", wanted)
        return [
            problem
            for key, value in tree.items()
            for problem in mismatches(value, _at(key, found), f"{where}.{key}")
        ]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return _in_lists(wanted, found, where)
    return [] if wanted == found else [f"{where}: {wanted!r} was asserted, {found!r} found"]


def _in_lists(wanted: list[Any], found: list[Any], where: str) -> list[str]:
    pairs = enumerate(zip(wanted, found, strict=True))
    return [
        each for n, (ours, theirs) in pairs for each in mismatches(ours, theirs, f"{where}[{n}]")
    ]


def _at(key: str, value: Any) -> Any:
    if key.startswith("(") and key.endswith(")"):
        return jmespath.search(key[1:-1], value)
    return cast("Tree", value).get(key) if isinstance(value, Mapping) else None
