"""The `sequential` factory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, Unpack, overload

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from pydantic import BaseModel

from flowcompose.core.capability import Capability
from flowcompose.core.condition import Condition, Predicate
from flowcompose.core.models import CHAT, ModelLike
from flowcompose.core.pattern import Pattern
from flowcompose.core.prompt import Text
from flowcompose.core.retry import Retry
from flowcompose.core.tools import ToolLike
from flowcompose.patterns.sequential._definition import SequentialOptions, SequentialWritten, define
from flowcompose.patterns.turn_loop.build import PatternBuilder
from flowcompose.patterns.turn_loop.options import Synthesizer
from flowcompose.patterns.turn_loop.policies import OnError, OnLimit, Visibility
from flowcompose.patterns.turn_loop.roster import RosterLike
from flowcompose.resources.resource import ContributionsState, Resource

ModelT = TypeVar("ModelT", bound=BaseModel)


@overload
def sequential(
    *,
    output_schema: type[ModelT],
    synthesizer: Synthesizer = None,
    **options: Unpack[SequentialOptions],
) -> Pattern[ModelT]: ...
@overload
def sequential(
    *, synthesizer: Synthesizer = None, **options: Unpack[SequentialOptions]
) -> Pattern[Any]: ...
def sequential(
    *,
    name: str,
    roster: Sequence[RosterLike],
    loops: bool = False,
    max_turns: int | None = None,
    terminate_when: Condition | Predicate | None = None,
    contributions: Resource[ContributionsState] | None = None,
    synthesizer: Synthesizer = None,
    output_schema: type[BaseModel] | None = None,
    instructions: Text | None = None,
    model: ModelLike = CHAT,
    uses: Sequence[Capability] = (),
    tools: Sequence[ToolLike] = (),
    context: Text | None = None,
    synthesizer_visibility: Visibility = Visibility(),  # noqa: B008 - frozen
    collection_id: str | None = None,
    accessor_key: str = "contributions",
    on_error: OnError = "raise",
    on_limit: OnLimit = "result",
    turn_timeout: float | None = None,
    retry: Retry | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
) -> Pattern[Any]:
    """Let each member of a roster speak once, one after the other; or again and again.

    Choose it for a chain of stages whose order is known, each building on all before it: draft,
    check, polish. When the stages hand over values rather than words, use a `Flow`; when they
    should come around in rounds and end in a deliverable, `round_robin`; when what was said
    decides who speaks next, `selector` or `graph`.

    Args:
        name: Names the graph, the audit records and the errors.
        roster: Who speaks, in order: entries, mappings with their keys, or named graphs.
        loops: Whether the first follows the last. Needs `max_turns`.
        max_turns: The cap, in turns; it may fall in the middle of a pass.
        terminate_when: A condition or a function of the context, sync or async; asked after
            every turn.
        contributions: A transcript resource to share; by default the pattern has its own.
        synthesizer: Makes the deliverable of the transcript: a block, as in `round_robin`. None
            and False are none; but with an `output_schema`, None is a model.
        output_schema: A pydantic model that the deliverable must fit: `result.output` is one.
        instructions: For the default blocks: text, or a function of the input (and ctx).
        model: For the default blocks: a chat model or a name.
        uses: Capabilities for the default blocks.
        tools: Tools for the default blocks; with `terminate` a member can end the run.
        context: A further section of the default blocks' system message.
        synthesizer_visibility: Who sees the deliverable. Without a synthesizer its tokens are
            those of the last member, and `history` says whether it is a message.
        collection_id: Names the audit records of a run; by default the pattern's name.
        accessor_key: The transcript's key in the graph's output and in `ctx.resources`.
        on_error: When a member fails: `"raise"` a `MemberError`, `"skip"` its turn, or
            `"stop"` with the reason `member_failed`.
        on_limit: At the cap: a `"result"`, or `"raise"` `MaxTurnsReached`.
        turn_timeout: The longest that a turn may take, in seconds.
        retry: How often default blocks ask their model again; None for the default.
        checkpointer: Where LangGraph keeps runs, for `thread_id` and `resume`.
        store: LangGraph's store, for blocks that use one.

    Returns:
        The pattern, a compiled LangGraph graph. Without a synthesizer its output is what was
        said last: its data if it has any, else its text. Its `stop.reason` is `completed` after
        one pass, or `max_turns`, `terminate_when`, `terminate_tool` or `member_failed`.

    Raises:
        DefinitionError: Something that was written cannot work; all problems are listed.

    The strategy is ARK's sequential, with its `loops`.

    Example:
        ```python
        from flowcompose import RosterEntry, TurnInput, sequential


        def draft(turn: TurnInput) -> str:
            return f"A draft about {turn.goal}"


        def polish(turn: TurnInput) -> str:
            return turn.contributions[-1].text + ", polished"


        pipeline = sequential(
            name="pipeline",
            roster=[RosterEntry("drafter", block=draft), RosterEntry("polisher", block=polish)],
        )
        result = pipeline.run("tides")
        print(result.output, result.stop.reason)
        #> A draft about tides, polished completed
        ```
    """
    written = SequentialWritten(**locals())  # all arguments, under their names
    plan = define(sequential, written)
    return PatternBuilder(plan).compile(checkpointer=checkpointer, store=store)
