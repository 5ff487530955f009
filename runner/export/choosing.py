"""The strategy `selector`: an agent that chooses, and what of its rules documents have not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flowcompose.core.blocks import Block, FunctionBlock
from flowcompose.patterns.selector._options import SelectorWritten
from flowcompose.patterns.selector._schedule import SelectorSchedule
from flowcompose.patterns.turn_loop.panel_block import PanelGenerator
from flowcompose.runner.export.agents import TERMINATE, AgentWriter
from flowcompose.runner.export.texts import listed, paragraphs

_MAY_STOP = (
    "If the goal is met and nobody needs to speak any more, call the tool terminate instead of "
    "naming anybody."
)
_HISTORY = "{{.History}}"


def write_selector(
    writer: AgentWriter, schedule: SelectorSchedule, names: Mapping[str, str]
) -> dict[str, Any]:
    """Give what a Team says of its selector, and write the Agent that chooses."""
    where = writer.shared.where
    for what, instead in (*_lost_rules(schedule), *_lost_edges(schedule)):
        writer.book.lose(where, what, instead)
    for what, instead in _other_ways(schedule):
        writer.book.note(where, what, instead)
    selector: dict[str, Any] = {"agent": _agent(writer, schedule)}
    if prompt := _prompt(writer):
        selector["selectorPrompt"] = prompt
    content = {"strategy": "selector", "maxTurns": schedule.cap, "selector": selector}
    ways = dict.fromkeys((way.source, way.target) for way in schedule.ways or ())
    if not ways:
        return content
    return {**content, "graph": {"edges": [{"from": names[a], "to": names[b]} for a, b in ways]}}


def _agent(writer: AgentWriter, schedule: SelectorSchedule) -> str:
    """Write the Agent that chooses; its name is free of those of the members."""
    plan = writer.shared.plan
    where = f"{writer.shared.where}: the selector"
    spec = writer.block(where, _block(writer, schedule))
    if spec.pop("outputSchema", None):
        writer.book.lose(where, "output_schema", "it answers with the name alone")
    if schedule.ruling.can_stop:
        spec["prompt"] = paragraphs([spec.get("prompt", ""), _MAY_STOP])
        spec["tools"] = [dict(TERMINATE)]
        writer.book.note(where, "can_stop=True", "it ends the team by its tool terminate")
    about = f"Chooses who speaks next in {plan.name}."
    return writer.book.add("Agent", f"{plan.name}-selector", {"description": about, **spec})


def _block(writer: AgentWriter, schedule: SelectorSchedule) -> Block:
    selector = writer.shared.plan.selector
    if selector is not None:
        return selector.wrapped
    if schedule.function is None:
        raise TypeError(schedule)
    return FunctionBlock(schedule.function)


def _prompt(writer: AgentWriter) -> str | None:
    """Give the prompt of a model; a document sends what was said only where the prompt says so."""
    written, selector = writer.shared.written, writer.shared.plan.selector
    asks_model = selector is not None and isinstance(selector.wrapped, PanelGenerator)
    if not isinstance(written, SelectorWritten) or not asks_model:
        return None
    prompt = written.selector_prompt
    if prompt is None or ".History" in prompt:
        return prompt
    return paragraphs([prompt, f"This was said so far:\n\n{_HISTORY}"])


def _lost_rules(schedule: SelectorSchedule) -> Iterator[tuple[str, str]]:
    if schedule.candidates is not None:
        yield "candidates", "all members may be chosen, or those to whom an edge leads"
    if schedule.allow_repeat and schedule.ways is None and len(schedule.names) > 1:
        yield "allow_repeat=True", "nobody is chosen twice in a row"
    if schedule.ruling.on_invalid in ("stop", "raise"):
        instead = "the first who may speak is taken"
        yield f"on_invalid={schedule.ruling.on_invalid!r}", instead


def _lost_edges(schedule: SelectorSchedule) -> Iterator[tuple[str, str]]:
    if schedule.ways is None:
        if len(schedule.names) == 1 and not schedule.allow_repeat:
            yield "the only member speaks once", "it speaks until maxTurns"
        return
    if not schedule.ways:
        yield "edges=[], which lets nobody follow", "anybody may follow"
        return
    for way in schedule.ways:
        if way.when is not None:
            yield f"the condition of the edge {way}", "the edge always holds"
    sources = {way.source for way in schedule.ways}
    ends = [name for name in schedule.names if name not in sources]
    if ends and schedule.on_no_transition == "stop":
        what = f"no edge leads on from {listed(ends)}, which ends a run"
        yield what, f"{schedule.names[0]!r} goes on, until maxTurns"


def _other_ways(schedule: SelectorSchedule) -> Iterator[tuple[str, str]]:
    if len(schedule.names) > 1:
        first = schedule.names[0]
        yield "the selector chooses who opens", f"documents let the first member open, {first!r}"
    if schedule.function is None and schedule.ruling.on_invalid == "retry-then-first":
        instead = "documents take the first who may speak at once"
        yield "a selector that names nobody is asked again", instead
