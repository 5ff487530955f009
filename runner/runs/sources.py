"""From what was asked for to what can be run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from flowcompose.core.errors import DefinitionError, ManifestProblem
from flowcompose.runner.agents.endpoint import Endpoint
from flowcompose.runner.asked import Asked
from flowcompose.runner.manifest import Manifest, QuerySpec
from flowcompose.runner.runs.documents import load_documents, unusable_documents
from flowcompose.runner.runs.python_job import Checkpointer, job_of_python
from flowcompose.runner.teams import Job, jobs_for
from flowcompose.runner.unusable import UnusableError


@dataclass(frozen=True)
class Source:
    """What is to be run, and what is to be said before."""

    jobs: tuple[Job, ...]
    era: str | None
    """The era of the documents; None for Python."""
    told: tuple[str, ...]
    """Warnings and notices."""
    digest: str
    """Changes with the files."""
    canceled: bool = False
    """Whether the Query says that it is not to be run."""

    @property
    def query(self) -> str | None:
        """The Query that is run."""
        return self.jobs[0].query if self.jobs else None


def open_source(asked: Asked, checkpointer: Checkpointer = None) -> Source:
    """Load what is to be run.

    Raises:
        UnusableError: It cannot be; all problems at once.
    """
    reference = asked.reference
    try:
        if reference is not None:
            job = job_of_python(reference, asked, checkpointer)
            files = [] if reference.file is None else [reference.file]
            return Source((job,), None, (), _digest(files))
        return _of_documents(asked, checkpointer)
    except DefinitionError as error:
        raise UnusableError.of(error) from None


def _of_documents(asked: Asked, checkpointer: Checkpointer) -> Source:
    _check_target(asked)
    manifest = load_documents(asked.paths, asked.compat)
    try:
        jobs = jobs_for(
            manifest,
            query=asked.query,
            team=asked.team,
            input=asked.input,
            endpoint=Endpoint(asked.base_url, asked.model, asked.api_key),
            checkpointer=checkpointer,
        )
    except DefinitionError as error:
        raise unusable_documents(manifest, error) from None
    told = [f"warning: {each}" for each in _warnings(manifest, asked)]
    said = map(jobs[0].redactor.clean, (*told, *(f"notice: {each}" for each in manifest.notices)))
    files = sorted({Path(each.file) for each in manifest.documents})
    canceled = _is_canceled(manifest, jobs[0].query)
    return Source(tuple(jobs), manifest.era, tuple(said), _digest(files), canceled)


def _warnings(manifest: Manifest, asked: Asked) -> list[ManifestProblem]:
    """Give what is to be warned of: nothing of models that the command line has answered."""
    answers = (asked.base_url, asked.model, asked.api_key) != (None, None, None)
    return [each for each in manifest.warnings if not (answers and each in manifest.answered)]


def _is_canceled(manifest: Manifest, query: str | None) -> bool:
    document = manifest.find("Query", query) if query else None
    spec = document.spec if document else None
    return isinstance(spec, QuerySpec) and spec.cancel


def _check_target(asked: Asked) -> None:
    problems: list[str] = []
    if asked.team is not None and asked.query is not None:
        problems.append("--query and --team exclude each other")
    if asked.team is not None and asked.input is None:
        problems.append(f"--team {asked.team} needs --input TEXT or --input-file FILE")
    if asked.team is None and asked.input is not None:
        problems.append("a Query has an input of its own: --input needs --team NAME")
    if problems:
        raise UnusableError(*problems)


def _digest(files: Iterable[Path]) -> str:
    made = sha256()
    for file in files:
        try:
            made.update(file.read_bytes())
        except OSError:
            made.update(b"gone")
    return made.hexdigest()
