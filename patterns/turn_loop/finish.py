"""Ending a run: what the last node writes besides its own."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel, ValidationError

from flowcompose.core.errors import OutputError
from flowcompose.core.explain import explain_fields
from flowcompose.core.handover import hand_over
from flowcompose.core.messages import slug
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.view import View
from flowcompose.resources.structured_data import class_name, to_json
from flowcompose.resources.tasks import tasks_of
from flowcompose.resources.usage import Tokens


def finish(view: View) -> dict[str, Any]:
    """What a run without a synthesizer ends with."""
    made = derived(view)
    spoken = view.plan.speaks_output and view.plan.visibility.history and view.entries
    # Its tokens were streamed when the member spoke.
    messages = [_message(view.plan, made["output"], None, stream=False)] if spoken else []
    return {**made, **_accounts(view), "messages": messages}


def derived(view: View) -> dict[str, Any]:
    """What is never stored, because the transcript holds it: the tasks, and a raw output."""
    tasks = tasks_of(view.plan.collection_id, view.entries, view.failures)
    if view.plan.synthesizer is not None:
        return {"tasks": tasks}
    made = view.plan.raw_output(view.synthesis_input())
    hand_over(view.config, view.plan, made)
    return {"tasks": tasks, **_output(made)}


def finish_with(
    view: View, made: Any, tokens: Tokens | None = None, message_id: str | None = None
) -> dict[str, Any]:
    """What a run ends with whose synthesizer gave `made`.

    Raises:
        OutputError: `made` does not fit the pattern's output schema.
    """
    fitted = _fitted(view.plan, made)
    words = isinstance(fitted, BaseMessage)
    hand_over(view.config, view.plan, str(fitted.text) if words else fitted)
    output = _output(fitted)
    messages = [
        _message(view.plan, output["output"], message_id, stream=view.plan.visibility.client)
    ]
    visible = view.plan.visibility.history
    return {
        **output,
        **derived(view),
        **_accounts(view, tokens),
        "messages": messages if visible else [],
    }


def _accounts(view: View, synthesizer: Tokens | None = None) -> dict[str, Any]:
    critiques: dict[str, Any] = {} if view.plan.referee is not None else {"referee_critiques": []}
    return {
        **critiques,  # so that the output always has the key
        "rounds": view.rounds,
        "turns": view.turns,
        "usage": view.usage(synthesizer).model_dump(mode="json"),
    }


def _output(made: Any) -> dict[str, Any]:
    if isinstance(made, BaseMessage):
        made = str(made.text)
    named = class_name(made) if isinstance(made, BaseModel) else None
    output = {"output": to_json(made)}
    return output if named is None else {**output, "output_class": named}


def _fitted(plan: Plan, made: Any) -> Any:
    schema = plan.output_schema
    if schema is None or isinstance(made, schema):
        return made
    try:
        if isinstance(made, (str, BaseMessage)):
            return schema.model_validate_json(
                str(made.text) if isinstance(made, BaseMessage) else made
            )
        return schema.model_validate(made)
    except ValidationError as error:
        unfit = f"the synthesizer's answer does not fit {schema.__name__}"
        msg = f"{plan.name!r}: {unfit}: {explain_fields(error)}"
        raise OutputError(msg, answer=repr(made)) from error


def _message(plan: Plan, output: Any, message_id: str | None, *, stream: bool) -> Any:
    """The deliverable as a message, under the id under which its tokens were streamed.

    One that is not to be streamed is written as a mapping, which any messages channel takes: a
    message object in an update goes out in the engine's own stream.
    """
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    named, number = slug(plan.name), message_id or str(uuid4())
    if stream:
        return AIMessage(text, name=named, id=number)
    return {"role": "assistant", "content": text, "name": named, "id": number}
