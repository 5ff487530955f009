"""A turn that failed: what is written of it, and the error that the user gets."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from flowcompose.core.context import Context
from flowcompose.core.errors import DefinitionError, MemberError
from flowcompose.core.explain import explain
from flowcompose.core.functions import AsyncOnlyError
from flowcompose.core.results import Stop
from flowcompose.patterns.turn_loop.outcome import partial_result
from flowcompose.patterns.turn_loop.view import View
from flowcompose.resources.tasks import Failure


class Fault(NamedTuple):
    """A failed turn of which the run is to end in an error."""

    failure: Failure
    error: Exception


def failure_of(error: Exception, ctx: Context, started_at: float) -> Failure:
    """Make the record of a turn that failed."""
    return Failure(
        round=ctx.state.round,
        turn=ctx.state.turn,
        agent_name=ctx.agent_name,
        error=explain(error),
        started_at=started_at,
        completed_at=time.time(),
        usage=ctx.meter.as_json(),
    )


def is_mistake(error: Exception) -> bool:
    """Say whether the program is at fault, which no policy absorbs."""
    return isinstance(error, (AsyncOnlyError, DefinitionError))


def member_failed(failure: Failure) -> Stop:
    """Give the reason of a run that ends because of a failed turn."""
    return Stop(reason="member_failed", by=failure["agent_name"], detail=failure["error"])


def member_error(view: View, faults: Sequence[Fault]) -> MemberError:
    """Give the error of the first fault, with all that was achieved besides.

    Args:
        view: The run before the failed turns are noted.
        faults: Turns that failed, in the order of turns.
    """
    failures = [fault.failure for fault in faults]
    first = failures[0]
    where = f"round {first['round']}, turn {first['turn']}"
    besides = "".join(
        f"; {each['agent_name']!r} failed too: {each['error']}" for each in failures[1:]
    )
    error = MemberError(
        f"{view.plan.name!r}: member {first['agent_name']!r} failed in {where}: "
        f"{first['error']}{besides}",
        agent_name=first["agent_name"],
        round=first["round"],
        turn=first["turn"],
        result=partial_result(view.after({"failures": failures}), member_failed(first)),
    )
    error.__cause__ = faults[0].error
    return error
