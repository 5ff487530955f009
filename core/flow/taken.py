"""What a flow takes from its input: a value, the goal in it, and the conversation before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import BaseModel, ValidationError

from flowcompose.core.errors import DefinitionError
from flowcompose.core.explain import explain_fields
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.request import read_messages
from flowcompose.core.untyped import mapping_of
from flowcompose.resources.packed import packed_or_none, unpack


class Taken(NamedTuple):
    """A flow's input, read."""

    value: Any
    goal: str
    history: list[BaseMessage]


def offer(plan: FlowPlan, value: Any) -> dict[str, Any]:
    """Make a graph's input of a value, in the form in which a checkpoint can hold it.

    Raises:
        DefinitionError: The value does not fit the flow's input schema.
    """
    return {"packed_input": packed_or_none(_fitting(plan, value))}


def take(plan: FlowPlan, given: Mapping[str, Any], handed: Sequence[Any] = ()) -> Taken:
    """Read the input: what was handed over, else `input`, `goal`, or the last human message.

    Only what this library has packed is unpacked: an `input` may come from anybody.

    Raises:
        DefinitionError: It cannot be read, or does not fit the flow's input schema.
    """
    history = read_messages(plan.name, given.get("messages"))
    if handed:
        value = handed[0]
    elif "packed_input" in given:
        value = unpack(given["packed_input"])
    elif "input" in given:
        value = given["input"]
    elif given.get("goal") is not None:
        value = given["goal"]
    else:
        value, history = _last_words(plan, history)
    return Taken(_fitting(plan, value), _goal_in(value), history)


def _last_words(plan: FlowPlan, messages: list[BaseMessage]) -> tuple[str, list[BaseMessage]]:
    asked = [message for message in messages if isinstance(message, HumanMessage)]
    if not asked:
        keys = "'input', 'goal', or 'messages' with a human message"
        raise DefinitionError(repr(plan.name), [f"the input must have {keys}, got none of these"])
    return str(asked[-1].text), [message for message in messages if message is not asked[-1]]


def _goal_in(value: Any) -> str:
    goal = (mapping_of(value) or {}).get("goal", getattr(value, "goal", value))
    return goal if isinstance(goal, str) else ""


def _fitting(plan: FlowPlan, value: Any) -> Any:
    schema = plan.input_schema
    if schema is None or isinstance(value, schema):
        return value
    try:
        return _read(schema, value)
    except ValidationError as error:
        first = plan.ops[0].name if plan.ops else ""
        problem = (
            f"the input, for step {first!r}, does not fit {schema.__name__}: "
            f"{explain_fields(error)}; got {value!r}"
        )
        raise DefinitionError(repr(plan.name), [problem]) from error


def _read(schema: type[BaseModel], value: Any) -> BaseModel:
    """Validate a value; a text is read as JSON if it looks like it."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        return schema.model_validate_json(value)
    if isinstance(value, BaseModel):
        return schema.model_validate(value.model_dump())
    return schema.model_validate(value)
