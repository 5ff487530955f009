"""From what the state holds to the result that a user gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowcompose.core.results import RefereeCritique, Result, Stop
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.view import View
from flowcompose.resources.contributions import Contribution
from flowcompose.resources.structured_data import revive
from flowcompose.resources.tasks import Task, tasks_of
from flowcompose.resources.usage import Usage


def partial_result(view: View, stop: Stop) -> Result[Any]:
    """What was achieved up to a moment in which there is no deliverable yet."""
    return Result[Any](
        output=None,
        contributions=[Contribution.of_entry(entry) for entry in view.entries],
        rounds=view.rounds,
        turns=view.turns,
        referee_critiques=view.synthesis_input().referee_critiques,
        stop=stop,
        usage=view.usage(),
        tasks=[
            Task.model_validate(each)
            for each in tasks_of(view.plan.collection_id, view.entries, view.failures)
        ],
        thread_id=(view.config.get("configurable") or {}).get("thread_id"),
    )


def result_of(
    plan: Plan, values: Mapping[str, Any], interrupts: Sequence[Any], thread_id: str | None
) -> Result[Any]:
    """Read the output of a run, or the state of a thread."""
    if interrupts:
        view = View(plan, values, {"configurable": {"thread_id": thread_id}})
        waiting = partial_result(view, Stop(reason="interrupted"))
        return waiting.model_copy(update={"interrupts": list(interrupts)})
    return Result[Any](
        output=_typed(plan, values),
        contributions=[Contribution.of_entry(entry) for entry in values[plan.key]],
        rounds=values["rounds"],
        turns=values["turns"],
        referee_critiques=[
            RefereeCritique(round=each["round"], critique=each["critique"])
            for each in values["referee_critiques"]
        ],
        stop=Stop.model_validate(values["stop"]),
        usage=Usage.model_validate(values["usage"]),
        tasks=values["tasks"],
        thread_id=thread_id,
    )


def _typed(plan: Plan, values: Mapping[str, Any]) -> Any:
    """Give the output as the model that it was when it was made."""
    if plan.output_schema is not None:
        return plan.output_schema.model_validate(values["output"])
    return revive(values["output"], values.get("output_class"))
