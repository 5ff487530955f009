"""The arguments of `selector`, with their types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flowcompose.core.blocks import BlockLike, ObjectBlock
from flowcompose.core.context import Context
from flowcompose.core.models import ModelLike
from flowcompose.patterns.selector._ruling import OnInvalid, OnNoTransition
from flowcompose.patterns.turn_loop.edges import EdgeLike
from flowcompose.patterns.turn_loop.options import SharedOptions, Written

SelectorLike = ModelLike | ObjectBlock | Callable[[Context], Any] | BlockLike
"""A chat model or its name, a block, or a function of the context."""


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
