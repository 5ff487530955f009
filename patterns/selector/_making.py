"""From what the user gave as the selector to a function, or to a block that is asked."""

from __future__ import annotations

import inspect
from dataclasses import replace

from langchain_core.runnables import Runnable

from flowcompose.core.blocks import Block
from flowcompose.core.generator import Generator
from flowcompose.core.graph_block import HasGraph, is_graph
from flowcompose.core.models import is_chat_model, problems_of_model
from flowcompose.core.untyped import engine
from flowcompose.patterns.selector._blocks import BlockSelector, ModelSelector
from flowcompose.patterns.selector._options import SelectorWritten
from flowcompose.patterns.selector._prompt import closing_writer, shows_history
from flowcompose.patterns.selector._ruling import Ruling
from flowcompose.patterns.selector._schedule import Function
from flowcompose.patterns.turn_loop.checks import (
    read_block,
)
from flowcompose.patterns.turn_loop.definition import Definition, Parts
from flowcompose.patterns.turn_loop.panel_block import panel_block
from flowcompose.patterns.turn_loop.select import SELECTOR


def function_of(selector: object) -> Function | None:
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


def selector_block(
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
