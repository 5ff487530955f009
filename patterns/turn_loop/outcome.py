"""From what the state holds to the result that a user gets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, ValidationError

from flowcompose.core.errors import OutputError
from flowcompose.core.explain import explain_fields
from flowcompose.core.handover import handover
from flowcompose.core.results import Result, Stop
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.view import View
from flowcompose.resources.contributions import Contribution
from flowcompose.resources.critiques import Critiques
from flowcompose.resources.structured_data import from_json, revive
from flowcompose.resources.tasks import Task, tasks_of
from flowcompose.resources.usage import Usage


def partial_result(view: View, stop: Stop, usage: Usage | None = None) -> Result[Any]:
    """What was achieved up to a moment in which there is no deliverable yet."""
    return _result(view, stop, output=None, usage=usage or view.usage())


def result_of(
    plan: Plan, values: Mapping[str, Any], interrupts: Sequence[Any], config: RunnableConfig
) -> Result[Any]:
    """Read the output of a run, or the state of a thread."""
    view = View(plan, values, config)
    if interrupts or not is_finished(values):
        why = None if interrupts else "the thread stands before its end"
        waiting = partial_result(view, Stop(reason="interrupted", detail=why))
        return waiting.model_copy(update={"interrupts": list(interrupts)})
    stop, usage = Stop.model_validate(values["stop"]), Usage.model_validate(values["usage"])
    return _result(view, stop, output=_typed(view), usage=usage)


def is_finished(values: Mapping[str, Any]) -> bool:
    """Say whether a run is over: its last node writes the accounts, its first clears them."""
    return bool(values.get("stop")) and values.get("usage") is not None


def _result(view: View, stop: Stop, *, output: Any, usage: Usage) -> Result[Any]:
    """What can be read from the transcript is read from there: a thread holds it only once."""
    tasks = tasks_of(view.plan.collection_id, view.entries, view.failures)
    return Result(
        output=output,
        contributions=[Contribution.of_entry(entry) for entry in view.entries],
        rounds=view.rounds,
        turns=view.taken,
        referee_critiques=list(Critiques(view.critiques)),
        stop=stop,
        usage=usage,
        tasks=[Task.model_validate(task) for task in tasks],
        thread_id=(view.config.get("configurable") or {}).get("thread_id"),
    )


def _typed(view: View) -> Any:
    """Give the output as the object that it was when it was made.

    In the run itself that very object is at hand. From a thread it is read back from JSON.
    """
    plan, values = view.plan, view.state
    waiting = handover(view.config)
    if waiting is not None and waiting.made:
        return waiting.made[0]
    if plan.synthesizer is None:
        return plan.raw_output(view.synthesis_input())
    if plan.output_schema is not None:
        return _fitting(plan.output_schema, view)
    return revive(values["output"], values.get("output_class"))


def _fitting(schema: type[BaseModel], view: View) -> BaseModel:
    stored = view.state["output"]
    try:
        return from_json(schema, stored)
    except ValidationError as error:
        msg = (
            f"{view.plan.name!r}: the stored output cannot be read as {schema.__name__}: "
            f"{explain_fields(error)}"
        )
        result = partial_result(view, Stop.model_validate(view.state["stop"]))
        raise OutputError(msg, answer=json.dumps(stored), result=result) from error
