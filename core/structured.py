"""Structured answers: asking a model for a schema, and reading what it gives.

The JSON Schema is sent, not the class: with the class, the OpenAI client parses the answer
itself and raises from inside, and the answer and its usage are lost. We validate here, so a
wrong answer can be quoted back to the model.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.runnables import Runnable
from pydantic import BaseModel, RootModel, ValidationError

from flowcompose.core.wire_schema import WRAP, wire_schema

if TYPE_CHECKING:  # some 25 ms, which only those pay who make a model
    from langchain_core.language_models import BaseChatModel

_ENDS = ("finish_reason", "stop_reason", "done_reason")
_CUT_OFF = ("length", "max_tokens", "MAX_TOKENS")


@dataclass(frozen=True)
class Unfit:
    """An answer that does not fit its schema, and what the model should be told."""

    problem: str
    answer: str


def asking_for(schema: type[BaseModel], model: BaseChatModel) -> Runnable[Any, Any]:
    """Give `model`, bound to answer in `schema`; its value goes to `read_answer`."""
    plain, strict = wire_schema(schema)
    # Nobody follows a structured answer while it is written, and of a streamed one that is
    # cut off the OpenAI client gives no usage.
    streaming = {"streaming": False} if hasattr(model, "streaming") else {}
    model = model.model_copy(update={"disable_streaming": True, **streaming})
    takes_strict = "strict" in inspect.signature(model.with_structured_output).parameters
    if strict is not None and takes_strict:
        return model.with_structured_output(strict, include_raw=True, strict=True)
    return model.with_structured_output(plain, include_raw=True)


def salvage(error: Exception) -> AIMessage | None:
    """Give the answer that the OpenAI client holds back because it was cut off."""
    if type(error).__name__ != "LengthFinishReasonError":  # openai is not imported for this
        return None
    completion: Any = getattr(error, "completion", None)
    return AIMessage(
        completion.choices[0].message.content or "",
        response_metadata={"finish_reason": "length"},
        usage_metadata=_usage(completion.usage) if completion.usage else None,
    )


def _usage(counted: Any) -> UsageMetadata:
    cached = getattr(counted.prompt_tokens_details, "cached_tokens", None)
    return UsageMetadata(
        input_tokens=counted.prompt_tokens,
        output_tokens=counted.completion_tokens,
        total_tokens=counted.total_tokens,
        input_token_details=InputTokenDetails(cache_read=cached or 0),
    )


def read_answer(value: Mapping[str, Any], schema: type[BaseModel]) -> BaseModel | Unfit:
    """Validate what a model bound by `asking_for` gave."""
    raw = value["raw"]
    if not isinstance(raw, AIMessage):
        return Unfit("there was no answer", "")
    if refusal := raw.additional_kwargs.get("refusal"):
        return Unfit(f"the model refused: {refusal}", str(refusal))
    text = _answer_text(raw, value.get("parsed"))
    if any(raw.response_metadata.get(key) in _CUT_OFF for key in _ENDS):
        return Unfit("the answer was cut off: be shorter", text)
    if not text.strip():
        return Unfit("the answer was empty", "")
    try:
        return schema.model_validate_json(_json_in(text, schema))
    except ValidationError as error:
        return Unfit(_explain(error), text)


def _answer_text(raw: AIMessage, parsed: Any) -> str:
    """What the model said: the arguments of its call, else its words."""
    if raw.tool_calls:
        called = parsed if isinstance(parsed, Mapping) else raw.tool_calls[0]["args"]  # pyright: ignore[reportUnknownVariableType] - JSON
        return json.dumps(called, ensure_ascii=False)
    if raw.invalid_tool_calls:
        return raw.invalid_tool_calls[0]["args"] or ""
    return str(raw.text)


def _json_in(text: str, schema: type[BaseModel]) -> str:
    """Cut JSON out of a fence or of prose; models without structured answers write both."""
    fenced = re.search(r"```(?:json)?\s*(.+?)```", text, re.DOTALL)
    inner = fenced[1] if fenced else text
    start, end = inner.find("{"), inner.rfind("}")
    found = inner[start : end + 1] if 0 <= start < end else inner.strip()
    with suppress(ValueError, RecursionError):  # the schema's own reader says what is wrong with it
        given: Any = json.loads(found, strict=False)  # many leave line breaks in a text
        wrapped = issubclass(schema, RootModel) and isinstance(given, dict) and WRAP in given
        return json.dumps(given[WRAP] if wrapped else given)
    return found


def _explain(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'the answer'}: {each['msg']}"
        for each in error.errors()
    )
