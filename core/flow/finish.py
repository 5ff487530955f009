"""How a flow ends: what its last node writes besides the value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, ValidationError

from flowcompose.core.errors import OutputError
from flowcompose.core.explain import explain_fields
from flowcompose.core.flow.plan import FlowPlan
from flowcompose.core.flow.view import FlowView
from flowcompose.core.handover import hand_over, handover
from flowcompose.core.messages import slug
from flowcompose.core.results import Result, Stop
from flowcompose.resources.packed import unpack
from flowcompose.resources.structured_data import class_name, revive, to_json
from flowcompose.resources.usage import Usage


def finish(
    view: FlowView, live: Mapping[str, Any], update: Mapping[str, Any], by: str | None
) -> dict[str, Any]:
    """Write the end of a run.

    Args:
        view: The run before its last node.
        live: The value with which it ends, and where that came from.
        update: What the last node writes.
        by: Who ended it early.

    Raises:
        OutputError: The value does not fit the flow's output schema.
    """
    value, message_id = live["value"], live.get("message_id")
    step = live.get("step") or view.plan.ops[-1].name
    fitted = _fitted(view, value, step, update)
    hand_over(view.config, view.plan, fitted)
    caps = [*(view.state.get("caps") or ()), *update.get("caps", ())]
    told = dict.fromkeys(f"loop {c['step']!r} reached its cap of {c['cap']}" for c in caps)
    stop = Stop(reason="completed", by=by, detail="; ".join(told) or None)
    kept = {} if fitted is value and "live" in update else view.keep(fitted, step, message_id)
    return {
        **update,
        **kept,
        **output_of(fitted),
        "stop": stop.model_dump(),
        "usage": view.usage(update.get("spent", ())).model_dump(mode="json"),
        "messages": [_message(view.plan.name, fitted, message_id)],
    }


def output_of(value: Any) -> dict[str, Any]:
    """Give the output as every graph can hold it: JSON, and the class of a model."""
    named = class_name(value) if isinstance(value, BaseModel) else None
    return {"output": _json(value), "output_class": named}


def result_of(
    plan: FlowPlan, values: Mapping[str, Any], interrupts: Sequence[Any], config: RunnableConfig
) -> Result[Any]:
    """Read the output of a run, or the state of a thread."""
    view = FlowView(plan, values, config)
    if interrupts or not is_finished(values):
        why = None if interrupts else "the thread stands before its end"
        waiting = partial_result(view, Stop(reason="interrupted", detail=why))
        return waiting.model_copy(update={"output": None, "interrupts": list(interrupts)})
    waits = handover(config)
    if waits is not None and waits.made:
        made = waits.made[0]
    elif "value" in values:
        made = view.value
    else:
        made = revive(values["output"], values.get("output_class"))
    result = partial_result(view, Stop.model_validate(values["stop"]))
    usage = Usage.model_validate(values["usage"])
    return result.model_copy(update={"output": made, "usage": usage})


def partial_result(
    view: FlowView, stop: Stop, spent: Sequence[Mapping[str, Any]] = ()
) -> Result[Any]:
    """What was achieved so far: the value that the last finished step gave."""
    return Result(
        output=view.value,
        contributions=[],
        rounds=0,
        turns=0,
        stop=stop,
        usage=view.usage(spent),
        thread_id=(view.config.get("configurable") or {}).get("thread_id"),
    )


def is_finished(values: Mapping[str, Any]) -> bool:
    """Say whether a run is over: its last node writes the accounts, its first clears them."""
    return bool(values.get("stop")) and values.get("usage") is not None


def derived(plan: FlowPlan, values: Mapping[str, Any]) -> dict[str, Any]:
    """Give the output of a finished run, which no checkpoint holds twice."""
    return {} if "output" in values else output_of(unpack(values.get("value")))


def _fitted(view: FlowView, value: Any, step: str, update: Mapping[str, Any]) -> Any:
    schema = view.plan.output_schema
    if schema is None or isinstance(value, schema):
        return value
    try:
        if isinstance(value, str):
            return schema.model_validate_json(value)
        return schema.model_validate(value)
    except ValidationError as error:
        msg = (
            f"{view.plan.name!r}: the output, given by step {step!r}, does not "
            f"fit {schema.__name__}: {explain_fields(error)}; got {value!r}"
        )
        stop = Stop(reason="failed", by=step, detail=explain_fields(error))
        result = partial_result(view, stop, update.get("spent", ()))
        result = result.model_copy(update={"output": value})
        raise OutputError(msg, answer=repr(value), result=result) from error


def _message(name: str, value: Any, message_id: str | None) -> AIMessage:
    """The output as a message, under the id under which its tokens were streamed."""
    if isinstance(value, BaseMessage):
        text = str(value.text)
    else:
        text = value if isinstance(value, str) else json.dumps(_json(value), ensure_ascii=False)
    own = value.id if isinstance(value, BaseMessage) else None
    return AIMessage(text, name=slug(name), id=message_id or own or str(uuid4()))


def _json(value: Any) -> Any:
    """Without a checkpointer a value may be anything, even what has no JSON form at all."""
    try:
        return to_json(value)
    except (ValueError, RecursionError):
        return repr(value)
