"""Structured answers: asking a model for a schema, and reading what it gives.

The JSON Schema is sent, not the class: with the class, the OpenAI client parses the answer
itself and raises from inside, and the answer and its usage are lost. We validate here, so a
wrong answer can be quoted back to the model.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_function
from pydantic import BaseModel, ValidationError


@dataclass(frozen=True)
class Unfit:
    """An answer that does not fit its schema, and what the model should be told."""

    problem: str
    answer: str


def asking_for(schema: type[BaseModel], model: BaseChatModel) -> Runnable[Any, Any]:
    """Give `model`, bound to answer in `schema`; its value goes to `read_answer`."""
    parameters = inspect.signature(model.with_structured_output).parameters
    strict = "strict" in parameters and _is_closed(schema.model_json_schema())
    function = convert_to_openai_function(schema, strict=True if strict else None)
    # A mapping with a title and properties is a JSON Schema to every provider.
    wire = {
        "title": function["name"],
        "description": function.get("description", "") or f"A {schema.__name__}.",
        **(_without_defaults(function["parameters"]) if strict else function["parameters"]),
    }
    options = {"strict": True} if strict else {}
    return model.with_structured_output(wire, include_raw=True, **options)


def _without_defaults(schema: Any) -> Any:
    """Drop default values, which a strict provider refuses; every key must be given anyway."""
    if isinstance(schema, list):
        return [_without_defaults(each) for each in schema]  # pyright: ignore[reportUnknownVariableType] - JSON
    if not isinstance(schema, Mapping):
        return schema
    named = ("properties", "$defs")
    return {
        key: {name: _without_defaults(each) for name, each in value.items()}
        if key in named
        else _without_defaults(value)
        for key, value in schema.items()
        if key != "default"
    }


def _is_closed(schema: Any) -> bool:
    """Say whether every object of the schema lists its keys: only then can a provider be strict."""
    if isinstance(schema, list):
        return all(map(_is_closed, schema))  # pyright: ignore[reportUnknownArgumentType] - JSON
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" and "properties" not in schema:
        return False
    return not schema.get("additionalProperties") and all(map(_is_closed, schema.values()))


def read_answer(value: Mapping[str, Any], schema: type[BaseModel]) -> BaseModel | Unfit:
    """Validate what a model bound by `asking_for` gave."""
    raw = value["raw"]
    text = _answer_text(raw) if isinstance(raw, AIMessage) else ""
    refusal = raw.additional_kwargs.get("refusal") if isinstance(raw, AIMessage) else None
    if refusal:
        return Unfit(f"the model refused: {refusal}", str(refusal))
    parsed = value.get("parsed")
    try:
        if parsed is not None:
            return schema.model_validate(parsed)
        return schema.model_validate_json(_json_in(text))
    except ValidationError as error:
        return Unfit(_explain(error), text)


def _answer_text(raw: AIMessage) -> str:
    """What the model said, in words or as the arguments of its call."""
    return raw.text or "\n".join(str(call["args"]) for call in raw.tool_calls)


def _json_in(text: str) -> str:
    """Cut JSON out of a fence or of prose; models without structured answers write both."""
    fenced = re.search(r"```(?:json)?\s*(.+?)```", text, re.DOTALL)
    inner = fenced[1] if fenced else text
    start, end = inner.find("{"), inner.rfind("}")
    return inner[start : end + 1] if 0 <= start < end else inner.strip() or "null"


def _explain(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'the answer'}: {each['msg']}"
        for each in error.errors()
    )
