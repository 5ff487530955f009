"""The JSON Schema of the documents, for editors and for people."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from flowcompose.runner.manifest.documents import SPECS
from flowcompose.runner.manifest.heads import VERSION
from flowcompose.runner.manifest.kinds.stored import ConfigMapContent, SecretContent

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_METADATA: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "How other documents name it."},
        "namespace": {"type": "string", "description": "`default` if not given."},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["name"],
}


def json_schema() -> dict[str, Any]:
    """Give the JSON Schema of a document of any kind that is loaded."""
    contents = {"Secret": SecretContent, "ConfigMap": ConfigMapContent}
    classes: list[type[BaseModel]] = [SecretContent, ConfigMapContent]
    classes.extend(SPECS.values())
    models: list[tuple[type[BaseModel], Literal["validation"]]] = [
        (each, "validation") for each in classes
    ]
    references, whole = models_json_schema(models, by_alias=True)
    definitions: dict[str, Any] = whole["$defs"]
    kinds = [_document(kind, references[model, "validation"]) for kind, model in SPECS.items()]
    kinds += [_stored(kind, definitions[model.__name__]) for kind, model in contents.items()]
    return {
        "$schema": _DIALECT,
        "title": "A document that flowcompose loads",
        "oneOf": kinds,
        "$defs": definitions,
    }


def _document(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return _shape(kind, VERSION, {"spec": spec}, ["spec"])


def _stored(kind: str, content: dict[str, Any]) -> dict[str, Any]:
    return _shape(kind, "v1", content["properties"], [])


def _shape(kind: str, version: str, content: dict[str, Any], required: list[str]) -> dict[str, Any]:
    head = {"apiVersion": {"const": version}, "kind": {"const": kind}, "metadata": _METADATA}
    return {
        "title": kind,
        "type": "object",
        "properties": {**head, **content},
        "required": ["apiVersion", "kind", "metadata", *required],
    }
