"""The `graph` factory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from flowcompose.patterns.graph._definition import GraphOptions, GraphWritten, Join, define
from flowcompose.patterns.turn_loop.build import PatternBuilder
from flowcompose.patterns.turn_loop.edges import EdgeLike
from flowcompose.patterns.turn_loop.options import Synthesizer
from flowcompose.patterns.turn_loop.policies import OnError, OnLimit, Visibility
from flowcompose.patterns.turn_loop.roster import RosterLike
from flowcompose.resources.resource import ContributionsState, Resource

ModelT = TypeVar("ModelT", bound=BaseModel)


@overload
def graph(
    *, output_schema: type[ModelT], synthesizer: Synthesizer = None, **options: Unpack[GraphOptions]
) -> Pattern[ModelT]: ...
@overload
def graph(*, synthesizer: Synthesizer = None, **options: Unpack[GraphOptions]) -> Pattern[Any]: ...
def graph(
    *,
    name: str,
    roster: Sequence[RosterLike],
    edges: Sequence[EdgeLike],
    start: str | None = None,
    max_turns: int | None = None,
    join: Join | Mapping[str, Join] = "all",
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
    """Let the members speak along edges: a chain, a loop of rework, branches that meet again.

    Choose it when who comes next is known and depends on conditions at most: an approval with
    rework, a review by several at once. When a model is to choose among the ways, give `edges`
    to `selector`; when the steps hand over values rather than words, use a `Flow`.

    A member's edges are either conditional: the first whose `when` holds is taken, and one
    without a `when` may stand last for all other cases. Or they are unconditional: one leads to
    the next member, several lead to all of them at once. Members that speak at once see the same
    words, are recorded in the order of the roster, and each takes a turn. Where no edge leads
    on, the branch ends.

    A join is a member to which several edges lead. With `"all"` it waits for every branch that
    a fan-out has started and that can still come, or could have: if one has ended elsewhere, the
    run stops as `stalled` and says whom it waits for. With `"any"` it goes on with the first;
    the others end when they come there. Nobody waits for what may come back in a loop, over the
    edge that leads to its beginning.

    Args:
        name: Names the graph, the audit records and the errors.
        roster: Who speaks: entries, mappings with their keys, or named graphs.
        edges: The ways, as `Edge("a", "b")` or `("a", "b")`, or with a `when` as a third part: a
            condition or a function of the context, sync or async.
        start: Who opens; by default the first of the roster.
        max_turns: The cap, in turns; needed if there is a cycle. Members that would speak at
            once do so only if all of their turns fit.
        join: For what joins wait: `"all"` or `"any"`, or a mapping that says it for some members.
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
        said last: its data if it has any, else its text. Its `stop.reason` is `completed`,
        `stalled`, `max_turns`, `terminate_when`, `terminate_tool` or `member_failed`.

    Raises:
        DefinitionError: Something that was written cannot work; all problems are listed.
        RunError: In a run: a `when` failed; the error names the edge.

    The pattern is ARK's graph strategy and AutoGen's GraphFlow.

    Example:
        ```python
        from flowcompose import Context, Edge, RosterEntry, TurnInput, graph


        def write(turn: TurnInput) -> str:
            return f"draft {turn.turn}"


        def check(turn: TurnInput) -> str:
            return "rework" if turn.turn < 4 else "fine"


        def unhappy(ctx: Context) -> bool:
            return ctx.contributions[-1].text == "rework"


        approval = graph(
            name="approval",
            roster=[RosterEntry("writer", block=write), RosterEntry("checker", block=check)],
            edges=[Edge("writer", "checker"), Edge("checker", "writer", when=unhappy)],
            max_turns=10,
        )
        result = approval.run("a letter")
        print([c.text for c in result.contributions], result.stop.reason)
        #> ['draft 1', 'rework', 'draft 3', 'fine'] completed
        ```
    """
    written = GraphWritten(**locals())  # all arguments, under their names
    plan = define(graph, written)
    return PatternBuilder(plan).compile(checkpointer=checkpointer, store=store)
