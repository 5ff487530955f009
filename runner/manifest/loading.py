"""Loading documents: reading them, telling what they are, and checking them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from flowcompose.core.errors import ManifestProblem
from flowcompose.runner.manifest.budget import RefusedError
from flowcompose.runner.manifest.checks import check
from flowcompose.runner.manifest.contents import read_content
from flowcompose.runner.manifest.documents import KINDS, Document
from flowcompose.runner.manifest.eras import Compat, era_of
from flowcompose.runner.manifest.files import Source, sources
from flowcompose.runner.manifest.findings import Findings
from flowcompose.runner.manifest.heads import head_of
from flowcompose.runner.manifest.loaded import Loaded
from flowcompose.runner.manifest.manifest import Manifest
from flowcompose.runner.manifest.reading import Raw, decoded, read
from flowcompose.runner.manifest.shapes import is_mapping
from flowcompose.runner.manifest.sorting import Sorted, sort


def load(paths: Sequence[str | Path], *, compat: Compat = "auto") -> Manifest:
    """Load documents from files and folders.

    Nothing that stands in a file is an exception: see `Manifest.problems`, and
    `Manifest.raise_if_errors`. Folders are read with all folders in them.

    Args:
        paths: Files (`*.yaml`, `*.yml`, `*.json`, or any that is named) and folders.
        compat: Whose behaviour to take; `auto` tells it by the fields that are used.
    """
    return _manifest(sources(paths), compat)


def load_text(text: str, *, file: str = "<text>", compat: Compat = "auto") -> Manifest:
    """Load documents from a text, as `load` does from a file.

    Args:
        text: YAML or JSON, with any number of documents.
        file: What problems name as its file.
        compat: As in `load`.
    """
    return _manifest([_source(text, file)], compat)


def _source(text: str, file: str) -> Source:
    try:
        whole = decoded(text.encode("utf-8", "surrogatepass"))
    except RefusedError as error:
        problem = ManifestProblem(error.message, file, error.line)
        return Source(file, named=True, text=None, problem=problem)
    return Source(file, named=True, text=whole)


@dataclass
class _Work:
    findings: Findings = field(default_factory=Findings)
    documents: list[Document] = field(default_factory=list[Document])
    notices: list[str] = field(default_factory=list[str])
    files: list[str] = field(default_factory=list[str])
    others: bool = False


def _manifest(read_from: Iterable[Source], compat: Compat) -> Manifest:
    work = _Work()
    for source in read_from:
        work.files.append(source.file)
        work.findings.read(source.file)
        if source.problem:
            work.findings.add(source.problem)
        if source.text is not None:
            _take(source.text, source, work)
    loaded = Loaded(work.documents)
    if not (work.documents or work.findings.problems or work.others):
        message = f"no documents are here of the kinds {', '.join(KINDS)}"
        work.findings.add(ManifestProblem(message, work.files[0] if work.files else ""))
    era = era_of(loaded.documents, compat)
    check(loaded, era, work.findings)
    final = Loaded(_marked(loaded.documents, work.findings))
    found = work.findings
    return Manifest(era, final, found.problems, tuple(work.notices), found.answered)


def _take(text: str, source: Source, work: _Work) -> None:
    found = read(text, source.file)
    for problem in found.problems:
        work.findings.add(problem)
    whole = sort(found.documents, source, broken=bool(found.problems))
    for problem in whole.problems:
        work.findings.add(problem)
    work.notices += whole.notices
    work.others = work.others or whole.others
    work.documents += _documents(whole, work.findings)


def _documents(whole: Sorted, findings: Findings) -> Iterator[Document]:
    for raw in whole.documents:
        document = _document(raw, findings)
        yield replace(document, spec=read_content(document, findings))


def _document(raw: Raw, findings: Findings) -> Document:
    value = raw.value if is_mapping(raw.value) else {}
    head = head_of(value)
    document = Document(
        kind=str(value.get("kind")),
        name=head.name,
        namespace=head.namespace,
        file=raw.file,
        line=raw.mark.line,
        ok=True,
        ok_strictly=True,
        labels=head.labels,
        annotations=head.annotations,
        spec=None,
        raw=value,
        marks=raw.mark,
    )
    for path, message in head.errors:
        findings.error(document, path, message)
    return document


def _marked(documents: Iterable[Document], findings: Findings) -> Iterator[Document]:
    """Say of each document whether something was found in it."""
    for document in documents:
        ok = not findings.is_broken(document)
        strictly = ok and not findings.is_doubtful(document)
        yield replace(document, ok=ok, ok_strictly=strictly)
