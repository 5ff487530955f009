"""The arguments that all patterns share, with their types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Required

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from pydantic import BaseModel
from typing_extensions import TypedDict

from flowcompose.core.blocks import BlockLike
from flowcompose.core.capability import Capability
from flowcompose.core.condition import Condition, Predicate
from flowcompose.core.models import ModelLike
from flowcompose.core.prompt import Text
from flowcompose.core.retry import Retry
from flowcompose.core.tools import ToolLike
from flowcompose.patterns.turn_loop.policies import OnError, OnLimit, Visibility
from flowcompose.patterns.turn_loop.roster import RosterLike
from flowcompose.resources.resource import ContributionsState, Resource

Synthesizer = BlockLike | Literal[False] | None
"""None for the default one, False for none, or a block."""


class SharedOptions(TypedDict, total=False):
    """What every pattern takes, besides `synthesizer` and `output_schema`."""

    name: Required[str]
    roster: Required[Sequence[RosterLike]]
    terminate_when: Condition | Predicate | None
    instructions: Text | None
    model: ModelLike
    uses: Sequence[Capability]
    tools: Sequence[ToolLike]
    context: Text | None
    on_error: OnError
    on_limit: OnLimit
    turn_timeout: float | None
    retry: Retry | None
    contributions: Resource[ContributionsState] | None
    collection_id: str | None
    accessor_key: str
    synthesizer_visibility: Visibility
    checkpointer: BaseCheckpointSaver[Any] | None
    store: BaseStore | None


@dataclass(frozen=True, kw_only=True)
class Written:
    """The same arguments as they were written or left at their default, not yet checked."""

    name: str
    roster: Sequence[RosterLike]
    terminate_when: Condition | Predicate | None
    synthesizer: Synthesizer
    output_schema: type[BaseModel] | None
    instructions: Text | None
    model: ModelLike
    uses: Sequence[Capability]
    tools: Sequence[ToolLike]
    context: Text | None
    on_error: OnError
    on_limit: OnLimit
    turn_timeout: float | None
    retry: Retry | None
    contributions: Resource[ContributionsState] | None
    collection_id: str | None
    accessor_key: str
    synthesizer_visibility: Visibility
    checkpointer: BaseCheckpointSaver[Any] | None
    store: BaseStore | None
