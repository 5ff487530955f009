"""Telling documents that are loaded from all else that stands in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flowcompose.core.errors import ManifestProblem
from flowcompose.runner.manifest.documents import KINDS
from flowcompose.runner.manifest.files import Source
from flowcompose.runner.manifest.heads import GROUP, is_of_other_kind, is_ours, misspelt
from flowcompose.runner.manifest.marks import Mark
from flowcompose.runner.manifest.reading import Raw
from flowcompose.runner.manifest.sentences import described, printable, shown
from flowcompose.runner.manifest.shapes import is_list, is_mapping


@dataclass
class Sorted:
    """What a file holds."""

    documents: list[Raw] = field(default_factory=list[Raw])
    problems: list[ManifestProblem] = field(default_factory=list[ManifestProblem])
    notices: list[str] = field(default_factory=list[str])
    others: bool = False
    """Whether it holds documents of kinds that are not loaded."""


def sort(found: Iterable[Raw], source: Source, *, broken: bool) -> Sorted:
    """Take the documents of a file, and say what was passed over."""
    whole = Sorted()
    others: dict[str, None] = {}
    for raw in _items(found):
        if is_mapping(raw.value) and is_ours(raw.value):
            whole.documents.append(raw)
        elif is_mapping(raw.value) and is_of_other_kind(raw.value):
            others[str(raw.value["kind"])] = None
        else:
            _note_stranger(raw, source, whole)
    whole.others = bool(others)
    if others:
        whole.notices.append(
            f"{source.file}: skipped, of other kinds: {printable(', '.join(others))}"
        )
    if source.named and not (whole.documents or whole.problems or others or broken):
        whole.problems.append(ManifestProblem("no document is in this file", source.file))
    return whole


def _items(found: Iterable[Raw]) -> Iterator[Raw]:
    """Give the documents that hold something; those of a List one by one."""
    for raw in found:
        value = raw.value
        items = value.get("items") if is_mapping(value) else None
        if is_mapping(value) and value.get("kind") == "List" and is_list(items):
            marks = raw.mark.parts["items"].parts
            yield from (
                Raw(item, marks.get(index, Mark(raw.mark.line)), raw.file)
                for index, item in enumerate(items)
            )
        elif value is not None:
            yield raw


def _note_stranger(raw: Raw, source: Source, whole: Sorted) -> None:
    """Say that something is no document; in a folder other files may lie as well."""
    message = _stranger(raw.value)
    if source.named or _claims_to_be_one(raw.value):
        line = raw.mark.line_of(("kind",))
        whole.problems.append(ManifestProblem(message, raw.file, line, "kind"))
    else:
        whole.notices.append(
            f"{raw.file}:{raw.mark.line}: skipped, no document: {printable(message)}"
        )


def _stranger(value: object) -> str:
    allowed = ", ".join(KINDS)
    if not is_mapping(value):
        return f"a document must be a mapping, not {described(value)}"
    kind = value.get("kind")
    if kind is None:
        return f"'kind' is required: {allowed}"
    meant = misspelt(value)
    if meant:
        return f"the kind {kind!r} is written {meant!r}"
    return f"the kind must be a string, not {shown(kind)}: {allowed}"


def _claims_to_be_one(value: object) -> bool:
    return is_mapping(value) and str(value.get("apiVersion")).startswith(GROUP)
