"""The command `flowcompose validate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from flowcompose.core.errors import DefinitionError, ManifestProblem
from flowcompose.core.flow.flow import Flow
from flowcompose.runner.asked import Asked
from flowcompose.runner.commands.concluding import alone_on_stdout, conclude
from flowcompose.runner.commands.options import Compat, CompatOption, Json, Paths
from flowcompose.runner.objects import Reference, find_object, kind_of
from flowcompose.runner.render.words import clean, count
from flowcompose.runner.runs.documents import documents_json, read_documents
from flowcompose.runner.runs.telling import UNUSABLE, Told, validation
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.show import say
from flowcompose.runner.unusable import UnusableError

HELP = """Say what is wrong with documents, or with a pattern in Python, and where.

\b
Examples:
  flowcompose validate team.yaml
  flowcompose validate samples/ --json
  flowcompose validate samples/ --strict       most warnings count as errors
  flowcompose validate review.py:panel

With --strict warnings are errors, but for two sorts: models, Secrets and ConfigMaps that are
named and not there, which the command line or a cluster may supply, and what only a cluster has,
such as ttl, memory and MCP tools.

Nothing is run, and no network is used. Exit code 0 without errors, else 2.
"""

_STRICT = "Take warnings for errors, but for what may be elsewhere, or in a cluster alone."


def validate(
    paths: Paths,
    compat: CompatOption = Compat.AUTO,
    strict: Annotated[bool, typer.Option("--strict", help=_STRICT)] = False,
    json: Json = False,
) -> None:
    """Check what the paths name."""

    def work() -> Told:
        asked = Asked(paths=tuple(paths), compat=compat.value)
        reference = asked.reference
        with alone_on_stdout(not json) as output:  # with --json the whole command is
            told = _of_python(reference, strict) if reference else _of_documents(asked, strict)
            if not json:
                say("\n".join(_lines(told.report)), output)
        return told

    raise typer.Exit(conclude(work, wants_json=json))


def _of_documents(asked: Asked, strict: bool) -> Told:
    manifest = read_documents(asked.paths, asked.compat)
    documents = documents_json(manifest, strict=strict)
    report = validation(manifest.era, documents, _judged(manifest.problems, strict))
    redactor = Redactor([*manifest.secrets, *asked.keys])
    return _told(redactor.clean_json(report, numbers=False))


def _of_python(reference: Reference, strict: bool) -> Told:
    """Import it: what is wrong with its definition is raised by that."""
    place = str(reference)
    document = {"file": place, "kind": "Pattern", "name": reference.name, "ok": True}
    problems: Sequence[ManifestProblem]
    try:
        found = find_object(reference)
        pattern = found.compile() if isinstance(found, Flow) else found
        document |= {"kind": kind_of(found), "name": pattern.name}
        missing = pattern.program.model_problems()
        problems = [ManifestProblem(each, place, severity="warning") for each in missing]
    except (DefinitionError, UnusableError) as error:
        unusable = UnusableError.of(error) if isinstance(error, DefinitionError) else error
        problems, document["ok"] = unusable.found, False
    return _told(validation(None, [document], _judged(problems, strict)))


def _judged(problems: Sequence[ManifestProblem], strict: bool) -> list[ManifestProblem]:
    if not strict:
        return list(problems)
    return [each if each.stays else replace(each, severity="error") for each in problems]


def _told(report: dict[str, Any]) -> Told:
    return Told(0 if report["ok"] else UNUSABLE, report)


def _lines(report: dict[str, Any]) -> list[str]:
    """Write each problem on a line, as compilers do, and what there was in all."""
    problems = report["problems"]
    kinds = [each["severity"] for each in problems]
    facts = [
        count(len(report["documents"]), "document"),
        count(kinds.count("error"), "error"),
        count(kinds.count("warning"), "warning"),
        *([report["era"]] if report["era"] else []),
    ]
    return [*map(_line, problems), ", ".join(facts)]


def _line(problem: dict[str, Any]) -> str:
    place = ":".join(str(each) for each in (problem["file"], problem["line"]) if each is not None)
    told = (place, problem["severity"], problem["path"], problem["message"])
    return clean(": ".join(filter(None, told)).replace("\n", " "))
