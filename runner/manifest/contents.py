"""Reading what stands in a document, by its kind."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping

from flowcompose.runner.manifest.documents import SPECS, AnySpec, Document
from flowcompose.runner.manifest.findings import Findings
from flowcompose.runner.manifest.fitting import Fit, fit
from flowcompose.runner.manifest.heads import Found
from flowcompose.runner.manifest.kinds.base import Spec
from flowcompose.runner.manifest.kinds.stored import (
    ConfigMapContent,
    ConfigMapSpec,
    SecretContent,
    SecretSpec,
)
from flowcompose.runner.manifest.marks import Path
from flowcompose.runner.manifest.outdated import Left, left_fields
from flowcompose.runner.manifest.sentences import described
from flowcompose.runner.manifest.shapes import is_mapping
from flowcompose.runner.manifest.templates import is_placeholder

_HEAD = ("apiVersion", "kind", "metadata", "status")


def read_content(document: Document, findings: Findings) -> AnySpec | None:
    """Make the model of a document, and note what does not fit."""
    if document.kind not in SPECS:
        return _stored(document, findings)
    for key in document.raw.keys() - {*_HEAD, "spec"}:
        findings.warning(document, (key,), f"unknown field {key!r}")
    spec = document.raw.get("spec")
    if not is_mapping(spec):
        findings.unread(document, ("spec",), _needed(spec))
        return None
    left = list(left_fields(document.kind, spec))
    _note_left(document, left, findings)
    rest = {key: value for key, value in spec.items() if ("spec", key) not in _paths(left)}
    fitted = fit(SPECS[document.kind], rest)
    replaced = {("spec", each.instead) for each in left if each.instead}
    _note(document, fitted, ("spec",), findings, replaced)
    return fitted.spec


def _needed(spec: object) -> str:
    if spec is None:
        return "'spec' is required"
    return f"must be a mapping, not {described(spec)}"


def _paths(left: list[Left]) -> set[Path]:
    return {each.path for each in left}


def _note_left(document: Document, left: list[Left], findings: Findings) -> None:
    for each in left:
        if each.instead:
            findings.unread(document, each.path, each.message)
        else:
            findings.warning(document, each.path, each.message, stays=True)


def _note(
    document: Document,
    fitted: Fit[Spec],
    base: Path,
    findings: Findings,
    replaced: set[tuple[str, str]] | None = None,
) -> None:
    for path, message in fitted.errors:
        # What an obsolete field says in its way is not asked for as well.
        if (*base, *path) not in (replaced or ()):
            findings.unread(document, (*base, *path), message)
    for path in fitted.unknown:
        findings.warning(document, (*base, *path), f"unknown field {str(path[-1])!r}")


def _stored(document: Document, findings: Findings) -> AnySpec | None:
    content = {key: value for key, value in document.raw.items() if key not in _HEAD}
    if document.kind == "ConfigMap":
        values = fit(ConfigMapContent, content)
        _note(document, values, (), findings)
        return ConfigMapSpec(values=values.spec.data) if values.spec else None
    secret = fit(SecretContent, content)
    _note(document, secret, (), findings)
    if secret.spec is None:
        return None
    for path, message in _undecodable(secret.spec.data):
        findings.error(document, path, message)
    decoded = {key: _decoded(text) for key, text in secret.spec.data.items()}
    texts = {key: text for key, text in decoded.items() if text is not None}
    return SecretSpec(values=texts | secret.spec.string_data)


def _undecodable(data: Mapping[str, str]) -> Iterator[Found]:
    for key, text in data.items():
        if not is_placeholder(text) and _bytes(text) is None:
            yield ("data", key), "no base64: write it so, or put it in stringData as it is"


def _decoded(text: str) -> str | None:
    """Give the text that is in base64; a placeholder as it is, and None for what is no text."""
    if is_placeholder(text):
        return text
    try:
        return (_bytes(text) or b"").decode()
    except UnicodeDecodeError:
        return None


def _bytes(text: str) -> bytes | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
