"""Which step of a flow has begun, and which is done. A step may have several nodes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from flowcompose.core import events
from flowcompose.core.events import Event
from flowcompose.core.explain import explain
from flowcompose.core.stream import NodeMark

STEP_KINDS = ("step", "maybe", "opens", "closes", "flow")
"""The kinds of a flow's nodes; those of a turn loop are others."""

_OPENING = ("step", "opens")
_CLOSING = ("step", "maybe", "closes")

Key = tuple[tuple[str, ...], str]
"""A step: the namespace of its flow's run, and its name."""


class StepEvents:
    """Tells of the steps in one stream; what they are is said by the marks of their nodes.

    A `step` node is a whole step; `opens` and `closes` nodes are the first and the last ones
    of a step; a `maybe` node says itself that it begins, once its condition holds; a `flow`
    node is of no interest unless it fails.
    """

    def __init__(self) -> None:
        self._began: dict[Key, float] = {}

    def node_started(
        self, ns: tuple[str, ...], mark: NodeMark, where: Mapping[str, Any]
    ) -> Iterator[Event]:
        """A node has begun."""
        if mark.kind in _OPENING:
            yield from self.started(ns, mark.key, where)

    def started(self, ns: tuple[str, ...], step: str, where: Mapping[str, Any]) -> Iterator[Event]:
        """A step has begun, unless that was told before."""
        if (ns, step) not in self._began:
            self._began[ns, step] = time.time()
            named: dict[str, Any] = {**where, "agent_name": step}
            yield events.StepStarted(step=step, **named)

    def node_ended(
        self,
        ns: tuple[str, ...],
        mark: NodeMark,
        task: Mapping[str, Any],
        where: Mapping[str, Any],
    ) -> Iterator[Event]:
        """A node is done, has failed, or waits for a person."""
        step = mark.key
        if not step or task.get("interrupts"):
            return
        result: Mapping[str, Any] = task.get("result") or {}
        live: Mapping[str, Any] = result.get("live") or {}
        rescued = live.get("error")
        error = task.get("error") or (explain(rescued) if rescued else None)
        named: dict[str, Any] = {**where, "agent_name": step}
        if error:
            self._began.pop((ns, step), None)
            yield events.StepFailed(step=step, error=str(error), **named)
        elif mark.kind in _CLOSING and (ns, step) in self._began:
            seconds = time.time() - self._began.pop((ns, step))
            yield events.StepCompleted(step=step, seconds=seconds, **named)
        for cap in result.get("caps") or ():
            yield events.CapReached(step=cap["step"], cap=cap["cap"], **named)
