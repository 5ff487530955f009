"""From the arguments of `selector` to a checked plan."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import Runnable

from flowcompose.core.blocks import Block, BlockLike, ObjectBlock
from flowcompose.core.context import Context
from flowcompose.core.definition import Problems
from flowcompose.core.generator import Generator
from flowcompose.core.graph_block import HasGraph, is_graph
from flowcompose.core.models import ModelLike, is_chat_model, problems_of_model
from flowcompose.core.retry import Retry
from flowcompose.core.untyped import engine, items_of
from flowcompose.patterns.selector._blocks import BlockSelector, ModelSelector
from flowcompose.patterns.selector._prompt import check_prompt, closing_writer, shows_history
from flowcompose.patterns.selector._reading import Reader
from flowcompose.patterns.selector._ruling import OnInvalid, OnNoTransition, Ruling
from flowcompose.patterns.selector._schedule import Function, SelectorSchedule
from flowcompose.patterns.turn_loop.definition import Definition, Parts
from flowcompose.patterns.turn_loop.edges import EdgeLike, Way, as_edge, read_edges
from flowcompose.patterns.turn_loop.options import (
    SharedOptions,
    Written,
    check_cap,
    check_choice,
    check_function,
    read_block,
)
from flowcompose.patterns.turn_loop.panel_block import panel_block
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.prompts import Process
from flowcompose.patterns.turn_loop.select import SELECTOR
from flowcompose.patterns.turn_loop.shape import last_words

SelectorLike = ModelLike | ObjectBlock | Callable[[Context], Any] | BlockLike
"""A chat model or its name, a block, or a function of the context."""

_PROCESS = Process(
    "Before each turn it is decided which member speaks next. Everybody reads everything that "
    "was said before.",
    has_rounds=False,
)

_STOP = "STOP"


class SelectorOptions(SharedOptions, total=False):
    """What `selector` takes, besides `synthesizer` and `output_schema`."""

    max_turns: int | None
    selector: SelectorLike | None
    edges: Sequence[EdgeLike] | None
    candidates: Callable[[Context], Any] | None
    allow_repeat: bool
    on_invalid: OnInvalid
    on_no_transition: OnNoTransition
    can_stop: bool
    selector_prompt: str | None


@dataclass(frozen=True, kw_only=True)
class SelectorWritten(Written):
    """All arguments of `selector`, not yet checked."""

    max_turns: int | None
    selector: SelectorLike | None
    edges: Sequence[EdgeLike] | None
    candidates: Callable[[Context], Any] | None
    allow_repeat: bool
    on_invalid: OnInvalid
    on_no_transition: OnNoTransition
    can_stop: bool
    selector_prompt: str | None


def define(factory: Callable[..., Any], written: SelectorWritten) -> Plan:
    """Check everything that was written, and make a plan of it.

    Raises:
        DefinitionError: Something cannot work; all problems are listed.
    """
    definition = Definition(factory, written)
    problems = definition.problems
    _check_own(problems, written)
    parts = definition.read_parts(synthesizes=False)
    ways = None if written.edges is None else _ways(problems, written, parts)
    if ways is not None:
        edges = [as_edge(each) for each in items_of(written.edges) or ()]
        definition.shown = replace(written, edges=edges)
    ruling = _ruling(written, parts)
    function = _function(written.selector)
    block = None if function else _selector(definition, written, parts, ruling)
    return definition.plan(
        parts,
        _PROCESS,
        schedule=SelectorSchedule(
            names=parts.names,
            cap=written.max_turns or 0,
            ruling=ruling,
            ways=ways,
            candidates=written.candidates,
            function=function,
            allow_repeat=written.allow_repeat,
            on_no_transition=written.on_no_transition,
        ),
        selector=block,
        raw_output=last_words,
        ask="turn",
        speaks_output=True,
    )


def _check_own(problems: Problems, written: SelectorWritten) -> None:
    if written.max_turns is None:
        problems.add("max_turns must be given: > 0 and a whole number, got None")
    else:
        check_cap(problems, "max_turns", written.max_turns)
    check_choice(problems, "on_invalid", OnInvalid, written.on_invalid)
    check_choice(problems, "on_no_transition", OnNoTransition, written.on_no_transition)
    for argument in ("allow_repeat", "can_stop"):
        value: object = getattr(written, argument)
        problems.check(type(value) is bool, f"{argument} must be True or False, got {value!r}")
    if written.candidates is not None:
        allowed = "a function (ctx) -> list of names, or None"
        check_function(problems, "candidates", written.candidates, allowed)
    check_prompt(problems, written.selector_prompt)


def _ways(problems: Problems, written: SelectorWritten, parts: Parts) -> tuple[Way, ...]:
    ways = read_edges(problems, written.edges, parts.names)
    for way in ways:
        problems.check(
            written.allow_repeat or way.source != way.target,
            f"edge {way} can never be taken: allow_repeat is False",
        )
    return ways


def _ruling(written: SelectorWritten, parts: Parts) -> Ruling:
    taken = {name.casefold() for name in parts.names}
    words = (_STOP, f"({_STOP})", *(f"{_STOP}-{n}" for n in range(len(taken) + 1)))
    stop_word = next(word for word in words if word.casefold() not in taken)
    reader = Reader(parts.names, stop_word if written.can_stop else None)
    ruling = Ruling(written.name, reader, written.on_invalid, written.can_stop)
    patience = written.retry
    return replace(ruling, reasks=patience.reasks) if isinstance(patience, Retry) else ruling


def _function(selector: object) -> Function | None:
    """Give a plain function of the context; one of a value and the context is a block."""
    if not callable(selector) or _is_object(selector):
        return None
    try:
        inspect.signature(selector).bind(None)
    except TypeError:
        return None
    except ValueError:
        return selector  # a built-in without a signature
    return selector


def _is_object(selector: object) -> bool:
    return isinstance(selector, (type, Block, Runnable, HasGraph)) or is_graph(selector)


def _selector(
    definition: Definition, written: SelectorWritten, parts: Parts, ruling: Ruling
) -> ModelSelector | BlockSelector | None:
    """Give the block that chooses, noting why there is none."""
    problems, given = definition.problems, written.selector
    if given is not None and not isinstance(given, str) and not is_chat_model(given):
        block = read_block(problems, "selector", engine(given))
        return None if block is None else BlockSelector(block, ruling)
    if given is not None:
        problems.extend(each.replace("model", "selector", 1) for each in problems_of_model(given))
    if problems.found:
        return None
    return ModelSelector(_generator(definition, written, parts, ruling), ruling)


def _generator(
    definition: Definition, written: SelectorWritten, parts: Parts, ruling: Ruling
) -> Generator:
    """Make what asks the model: like any member it begins with what all requests share."""
    forwarded = definition.forwarded(tools=())
    forwarded["uses"] = [replace(use, tools=()) for use in forwarded["uses"]]
    forwarded["model"] = written.selector or forwarded["model"]
    prompt = written.selector_prompt
    return panel_block(
        SELECTOR,
        closing_writer(prompt, parts.members, ruling.reader.stop_word),
        {},
        stream=False,
        reads_transcript=not shows_history(prompt),
        **forwarded,
    )
