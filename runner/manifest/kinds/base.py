"""What all models of documents have in common: strict, frozen, and written as Kubernetes writes."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Strict, model_validator
from pydantic.alias_generators import to_camel

from flowcompose.runner.manifest.shapes import is_mapping

T = TypeVar("T")

# Strict would ask for a tuple, and a document has lists.
Listed = Annotated[tuple[T, ...], Strict(False)]
"""A list of the document."""

JsonObject = dict[str, Any]
"""A mapping that is passed on as it is, such as a JSON Schema."""


class Spec(BaseModel):
    """A mapping of a document; what it does not know is not allowed in it."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        hide_input_in_errors=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: object) -> object:
        """Take a field without a value for one that is not there, as Kubernetes does."""
        if is_mapping(data) and None in data.values():
            return {key: value for key, value in data.items() if value is not None}
        return data
