"""The way of a run's input and of its deliverable past graph state, as the objects they are.

State holds their plain form. Reading that back is no projection for every model (a validator
may scale a number once more), so whoever runs a program and the program hand each other the
objects themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

# The engine keeps what begins so out of checkpoints and traces.
_KEY = "__flowcompose_handover"


@dataclass
class Handover:
    """What one run of one program is given and makes; those inside it take no part."""

    program: object
    """The program's `deliverer`."""
    given: list[Any] = field(default_factory=list[Any])
    """The input, until it is taken."""
    made: list[Any] = field(default_factory=list[Any])
    """The deliverable, once it is made."""
    lasting: Lasting | None = None
    """What of the input is handed over again when the run is resumed."""
    is_abandoned: Callable[[], bool] | None = None
    """Says whether the turn in which it runs was given up, so that nobody waits for it."""


class Lasting(NamedTuple):
    """What a member is given by the pattern around it, whenever the member's node is at work.

    It grows with the transcript, turn by turn. So no checkpoint of the member's own run holds
    it: all of these together would grow with the square of the turns.
    """

    value: Any
    """What a flow is given."""
    history: Sequence[BaseMessage]
    """What was said outside, as a pattern reads it."""


def handing(
    config: RunnableConfig,
    program: object,
    *given: Any,
    lasting: Lasting | None = None,
    is_abandoned: Callable[[], bool] | None = None,
) -> RunnableConfig:
    """Give the config of a run that is handed its input, and hands over what it makes."""
    handed = Handover(program, [*given], lasting=lasting, is_abandoned=is_abandoned)
    return {**config, "configurable": {**(config.get("configurable") or {}), _KEY: handed}}


def handover(config: RunnableConfig) -> Handover | None:
    """Give the handover that a run's config holds, if there is one."""
    found: Any = (config.get("configurable") or {}).get(_KEY)
    return found if isinstance(found, Handover) else None


def take_given(config: RunnableConfig, program: object) -> list[Any]:
    """Take the input that was handed to `program`: nobody inside of it takes it again."""
    found = handover(config)
    if found is None or found.program is not program:
        return []
    taken, found.given = found.given, []
    return taken


def lasting_for(config: RunnableConfig, program: object) -> Lasting | None:
    """Give what is handed to `program` anew each time that it goes on, if it is."""
    found = handover(config)
    return found.lasting if found is not None and found.program is program else None


def is_abandoned(config: RunnableConfig) -> bool:
    """Say whether a run with this config is one for which nobody waits any more."""
    found = handover(config)
    return found is not None and found.is_abandoned is not None and found.is_abandoned()


def hand_over(config: RunnableConfig, program: object, made: Any) -> None:
    """Give the deliverable to whoever runs `program` and waits for it."""
    found = handover(config)
    if found is not None and found.program is program:
        found.made[:] = [made]
