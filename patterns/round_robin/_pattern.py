"""The `round_robin` factory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar, Unpack, overload

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from pydantic import BaseModel

from flowcompose.core.blocks import BlockLike
from flowcompose.core.capability import Capability
from flowcompose.core.condition import Condition, Predicate
from flowcompose.core.models import CHAT, ModelLike
from flowcompose.core.pattern import Pattern
from flowcompose.core.prompt import Text
from flowcompose.core.retry import Retry
from flowcompose.core.tools import ToolLike
from flowcompose.patterns.round_robin._definition import (
    RoundRobinOptions,
    RoundRobinWritten,
    Speaking,
    define,
)
from flowcompose.patterns.turn_loop.build import PatternBuilder
from flowcompose.patterns.turn_loop.options import Synthesizer
from flowcompose.patterns.turn_loop.policies import Ask, OnError, OnLimit, Visibility
from flowcompose.patterns.turn_loop.roster import RosterLike
from flowcompose.patterns.turn_loop.shape import RoundRobinFinalShape
from flowcompose.resources.resource import ContributionsState, Resource

ModelT = TypeVar("ModelT", bound=BaseModel)


@overload
def round_robin(
    *,
    output_schema: type[ModelT],
    synthesizer: BlockLike | None = None,
    **options: Unpack[RoundRobinOptions],
) -> Pattern[ModelT]: ...
@overload
def round_robin(
    *, synthesizer: Literal[False], **options: Unpack[RoundRobinOptions]
) -> Pattern[RoundRobinFinalShape]: ...
@overload
def round_robin(
    *, synthesizer: None = None, **options: Unpack[RoundRobinOptions]
) -> Pattern[str]: ...
@overload
def round_robin(
    *, synthesizer: BlockLike, **options: Unpack[RoundRobinOptions]
) -> Pattern[Any]: ...
def round_robin(
    *,
    name: str,
    roster: Sequence[RosterLike],
    max_rounds: int = 5,
    terminate_when: Condition | Predicate | None = None,
    contributions: Resource[ContributionsState] | None = None,
    referee: BlockLike | None = None,
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
    ask: Ask = "round",
    speak: Speaking = "in_turn",
    on_error: OnError = "raise",
    on_limit: OnLimit = "result",
    turn_timeout: float | None = None,
    retry: Retry | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
) -> Pattern[Any]:
    """Let a fixed roster speak in a fixed order, round after round, then make a deliverable.

    Choose it when the perspectives and their order are known beforehand: an editorial review,
    a committee, a risk panel. When the next speaker depends on what was said, it is the
    wrong pattern: see `selector` and `graph`. When one pass is enough, see `sequential`.

    In a round every member speaks once and reads all that was said before. After it the
    referee speaks, if there is one. Then the stop is decided: first `max_rounds`, then
    `terminate_when`, which is therefore not asked after the last allowed round, and of which
    the last speaker of a round always finishes.

    Args:
        name: Names the graph, the audit records and the errors.
        roster: Who speaks, in order: entries, mappings with their keys, or named graphs.
        max_rounds: The cap, in rounds.
        terminate_when: A condition or a function of the context, sync or async; when it holds
            after a round, the loop ends.
        contributions: A transcript resource to share; by default the pattern has its own.
        referee: A block that gets a `TurnInput` after each round and gives
            `{"critique": str}`; later turns read it. There is no default one: see
            `create_referee`.
        synthesizer: Makes the deliverable. None is the default, a model; False is none, and
            the output is the `RoundRobinFinalShape`; a block gets that shape and the goal.
        output_schema: A pydantic model that the deliverable must fit: `result.output` is one.
        instructions: For the default blocks: text, or a function of the input (and ctx).
        model: For the default blocks: a chat model or a name.
        uses: Capabilities for the default blocks.
        tools: Tools for the default blocks.
        context: A further section of the default blocks' system message.
        synthesizer_visibility: Who sees the deliverable; members are never in `messages`.
        collection_id: Names the audit records of a run; by default the pattern's name.
        accessor_key: The transcript's key in the graph's output and in `ctx.resources`. A
            flow's later steps read the transcript under a key of its own; two in one flow
            need two.
        ask: When `terminate_when` is asked: after a `"round"`, or after each `"turn"`.
        speak: Whether the members of a round speak `"in_turn"`, each hearing those before it,
            or `"at_once"`: all from the same words of earlier rounds, so that a round takes the
            time of its slowest member.
        on_error: When a member fails: `"raise"` a `MemberError`, `"skip"` its turn, or
            `"stop"` with the reason `member_failed`.
        on_limit: At the cap: a `"result"`, or `"raise"` `MaxTurnsReached`.
        turn_timeout: The longest that a turn may take, in seconds.
        retry: How often default blocks ask their model again; None for the default.
        checkpointer: Where LangGraph keeps runs, for `thread_id` and `resume`.
        store: LangGraph's store, for blocks that use one.

    Returns:
        The pattern, a compiled LangGraph graph: `run` it, stream its `events`, or add it as a
        node to another graph. Its `stop.reason` is `max_rounds`, `terminate_when` or
        `member_failed`.

    Raises:
        DefinitionError: Something that was written cannot work; all problems are listed.

    The pattern is that of flow-state-dev's roundRobin; its fairness is AutoGen's.

    Example:
        ```python
        from flowcompose import RosterEntry, round_robin

        editorial = round_robin(
            name="editorial-review",
            roster=[
                RosterEntry(name="writer", role="writer responsible for the draft"),
                RosterEntry(name="checker", role="fact-checker verifying every claim"),
            ],
            max_rounds=2,
            model="offline",
        )
        result = editorial.run("Review this: the moon is 384,400 km away.")
        print(result.stop.reason, result.turns)
        #> max_rounds 4
        ```
    """
    written = RoundRobinWritten(
        name=name,
        roster=roster,
        max_rounds=max_rounds,
        terminate_when=terminate_when,
        contributions=contributions,
        referee=referee,
        synthesizer=synthesizer,
        output_schema=output_schema,
        instructions=instructions,
        model=model,
        uses=uses,
        tools=tools,
        context=context,
        synthesizer_visibility=synthesizer_visibility,
        collection_id=collection_id,
        accessor_key=accessor_key,
        ask=ask,
        speak=speak,
        on_error=on_error,
        on_limit=on_limit,
        turn_timeout=turn_timeout,
        retry=retry,
        checkpointer=checkpointer,
        store=store,
    )
    return PatternBuilder(define(round_robin, written)).compile(
        checkpointer=checkpointer, store=store
    )
