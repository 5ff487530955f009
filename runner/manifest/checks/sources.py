"""Checking values that may stand elsewhere, and those that stand in Secrets."""

from __future__ import annotations

from collections.abc import Iterable

from flowcompose.runner.manifest.checks.context import Context
from flowcompose.runner.manifest.documents import Document
from flowcompose.runner.manifest.kinds.stored import ConfigMapSpec, SecretSpec
from flowcompose.runner.manifest.kinds.values import (
    HeaderSpec,
    KeyRef,
    ParameterSpec,
    ValueFrom,
    ValueSource,
)
from flowcompose.runner.manifest.marks import Path, at
from flowcompose.runner.manifest.templates import fields_of, is_placeholder, left_as_they_are


def check_source(
    context: Context, document: Document, path: Path, source: ValueSource, prefix: str = ""
) -> None:
    """Note what is wrong with a value, or with where it is said to stand."""
    given, where = bool(source.value), source.value_from
    if given and where:
        context.error(document, path, f"{prefix}cannot specify both value and valueFrom")
    elif where is None and not given:
        context.error(document, path, f"{prefix}must specify either value or valueFrom")
    if where and len(where.sources) != 1:
        message = f"{prefix}valueFrom must specify exactly one source"
        context.error(document, (*path, "valueFrom"), message)
    elif where:
        _check_where(context, document, (*path, "valueFrom"), where, prefix)


def check_no_placeholder(
    context: Context, document: Document, path: Path, source: ValueSource, instead: str
) -> None:
    """Note a value that was never put in; it is not quoted, for it might be a secret after all."""
    if source.value and is_placeholder(source.value):
        message = f"is only a placeholder: {instead}"
        of_model = document.kind == "Model"
        context.placeholder(document, (*path, "value"), f"{path[-1]} {message}", of_model=of_model)


def _check_where(
    context: Context, document: Document, path: Path, where: ValueFrom, prefix: str
) -> None:
    if where.secret_key_ref:
        ref, at = where.secret_key_ref, (*path, "secretKeyRef")
        _check_key(context, document, at, "Secret", ref, prefix)
    if where.config_map_key_ref:
        ref, at = where.config_map_key_ref, (*path, "configMapKeyRef")
        _check_key(context, document, at, "ConfigMap", ref, prefix)
    if where.service_ref:
        message = f"{prefix}the service '{where.service_ref.name}' of a cluster is not found here"
        context.elsewhere(document, (*path, "serviceRef"), message)


def _check_key(
    context: Context, document: Document, path: Path, kind: str, ref: KeyRef, prefix: str
) -> None:
    where = (*path, "name")
    if message := context.missing(kind, ref.name, document, where):
        several = context.ambiguous(kind, ref.name, document)
        note = context.error if several else context.elsewhere
        note(document, where, prefix + message)
        return
    found = context.find(kind, ref.name, document)
    spec = found.spec if found else None
    if isinstance(spec, SecretSpec | ConfigMapSpec) and ref.key not in spec.values:
        holder = f"{kind[0].lower()}{kind[1:]} '{ref.name}' in namespace '{document.namespace}'"
        message = f"{prefix}key '{ref.key}' not found in {holder}"
        context.warning(document, (*path, "key"), message)


def check_parameters(
    context: Context, document: Document, base: Path, parameters: Iterable[ParameterSpec]
) -> None:
    """Note what is wrong with parameters."""
    for index, parameter in enumerate(parameters):
        path = (*base, index)
        if not parameter.name:
            message = f"parameter[{index}]: name cannot be empty"
            context.error(document, (*path, "name"), message)
        else:
            prefix = f"parameter[{index}] '{parameter.name}': "
            check_source(context, document, path, parameter, prefix)


def check_template(
    context: Context, document: Document, path: Path, template: str, names: Iterable[str]
) -> None:
    """Note what is not filled in of a template whose document declares parameters."""
    declared = set(names)
    if not declared:
        return
    for name in fields_of(template):
        if name not in declared:
            message = f"{{{{.{name}}}}} is no parameter: it becomes <no value>"
            context.warning(document, path, message)
    for part in left_as_they_are(template):
        context.warning(document, path, f"{part} stays as it is: only {{{{.name}}}} is filled in")


def check_headers(
    context: Context, document: Document, base: Path, headers: Iterable[HeaderSpec]
) -> None:
    """Note what is wrong with headers."""
    for index, header in enumerate(headers):
        path = (*base, index)
        if not header.name:
            context.error(document, (*path, "name"), f"headers[{index}]: name is required")
        check_source(context, document, (*path, "value"), header.value, f"headers[{index}]: ")


def check_secret(context: Context, document: Document, spec: SecretSpec) -> None:
    """Note the values that were never put in."""
    for key, value in spec.values.items():
        if is_placeholder(value):
            held = "stringData" if at(document.raw, ("stringData", key)) is not None else "data"
            message = f"the value of {key!r} is only a placeholder"
            of_model = document.name not in context.secrets_of_others
            context.placeholder(document, (held, key), message, of_model=of_model)
