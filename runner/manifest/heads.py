"""Telling which document it is: its kind, its name, and whether it is one of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from flowcompose.runner.manifest.documents import DEFAULT_NAMESPACE, KINDS, SPECS
from flowcompose.runner.manifest.marks import Path
from flowcompose.runner.manifest.sentences import described, is_plain
from flowcompose.runner.manifest.shapes import is_mapping
from flowcompose.runner.manifest.templates import is_placeholder

GROUP: Final = "ark.mckinsey.com/"
VERSION: Final = "ark.mckinsey.com/v1alpha1"

Found = tuple[Path, str]


@dataclass(frozen=True)
class Head:
    """What a document says of itself."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    errors: tuple[Found, ...]


def is_ours(value: Mapping[str, object]) -> bool:
    """Tell whether a document is of a kind that is loaded."""
    kind, version = value.get("kind"), value.get("apiVersion")
    if kind not in KINDS:
        return False
    if not isinstance(version, str):
        return True  # then that is a problem of the document
    return version.startswith(GROUP) if kind in SPECS else version == "v1"


def is_of_other_kind(value: Mapping[str, object]) -> bool:
    """Tell whether it is a document, but none that is loaded."""
    return isinstance(value.get("kind"), str) and not is_ours(value) and misspelt(value) is None


def misspelt(value: Mapping[str, object]) -> str | None:
    """Give the kind that a document means but writes otherwise."""
    kind = str(value.get("kind"))
    group = str(value.get("apiVersion", GROUP)).startswith((GROUP, "v1"))
    meant = [each for each in KINDS if each.lower() == kind.lower() and each != kind]
    return meant[0] if meant and group else None


def head_of(value: Mapping[str, object]) -> Head:
    """Read what stands before the content of a document."""
    errors = list(_version_errors(value))
    metadata = value.get("metadata")
    if not is_mapping(metadata):
        errors.append((("metadata",), _needed(metadata, "metadata", "a mapping with a name")))
        return Head("", DEFAULT_NAMESPACE, {}, {}, tuple(errors))
    name = metadata.get("name", metadata.get("generateName"))
    if not isinstance(name, str) or not name:
        errors.append((("metadata", "name"), _needed(name, "name", "a string")))
        name = ""
    namespace = metadata.get("namespace")
    if not isinstance(namespace, str | None):
        errors.append((("metadata", "namespace"), _needed(namespace, "namespace", "a string")))
        namespace = None
    if namespace is None or is_placeholder(namespace):
        namespace = DEFAULT_NAMESPACE
    labels = _texts(metadata.get("labels"), ("metadata", "labels"), errors)
    annotations = _texts(metadata.get("annotations"), ("metadata", "annotations"), errors)
    return Head(name, namespace, labels, annotations, tuple(errors))


def _version_errors(value: Mapping[str, object]) -> Iterator[Found]:
    version = value.get("apiVersion")
    wanted = VERSION if value.get("kind") in SPECS else "v1"
    if version is None:
        yield ("apiVersion",), f"'apiVersion' is required: {wanted}"
    elif not isinstance(version, str):
        yield ("apiVersion",), f"must be the string {wanted!r}, not {described(version)}"
    elif version != wanted:
        yield ("apiVersion",), f"{version!r} is not known: write {wanted}"


def _texts(value: object, path: Path, errors: list[Found]) -> Mapping[str, str]:
    if value is None:
        return {}
    if not is_mapping(value):
        errors.append((path, f"must be a mapping, not {described(value)}"))
        return {}
    errors += [
        ((*path, key), f"must be a string, not {described(each)}: put it in quotes")
        for key, each in value.items()
        if not isinstance(each, str | None)
    ]
    return {key: each or "" for key, each in value.items() if isinstance(each, str | None)}


def _needed(value: object, name: str, wanted: str) -> str:
    if value is None or value == "":
        return f"{name!r} is required: {wanted}"
    hint = ": put it in quotes" if wanted == "a string" and is_plain(value) else ""
    return f"must be {wanted}, not {described(value)}{hint}"
