"""From the arguments of `selector` to a checked plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flowcompose.core.definition import Problems
from flowcompose.core.models import is_chat_model
from flowcompose.core.retry import Retry
from flowcompose.core.untyped import items_of
from flowcompose.patterns.selector._making import function_of, selector_block
from flowcompose.patterns.selector._options import SelectorWritten
from flowcompose.patterns.selector._prompt import check_prompt
from flowcompose.patterns.selector._reading import Reader
from flowcompose.patterns.selector._ruling import OnInvalid, OnNoTransition, Ruling
from flowcompose.patterns.selector._schedule import SelectorSchedule
from flowcompose.patterns.turn_loop.checks import (
    check_cap,
    check_choice,
    check_function,
)
from flowcompose.patterns.turn_loop.definition import Definition, Parts
from flowcompose.patterns.turn_loop.edges import Way, as_edge, read_edges
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.prompts import Process
from flowcompose.patterns.turn_loop.shape import last_words

_PROCESS = Process(
    "Before each turn it is decided which member speaks next. Everybody reads everything that "
    "was said before.",
    has_rounds=False,
)

_STOP = "STOP"


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
    function = function_of(written.selector)
    given = written.selector
    asks_model = given is None or isinstance(given, str) or is_chat_model(given)
    problems.check(
        written.selector_prompt is None or asks_model,
        f"selector_prompt is what a model is asked, but the selector is {given!r}",
    )
    block = None if function else selector_block(definition, written, parts, ruling)
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
