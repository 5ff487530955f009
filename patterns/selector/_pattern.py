"""The `selector` factory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Unpack, overload

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from pydantic import BaseModel

from flowcompose.core.capability import Capability
from flowcompose.core.condition import Condition, Predicate
from flowcompose.core.context import Context
from flowcompose.core.models import CHAT, ModelLike
from flowcompose.core.pattern import Pattern
from flowcompose.core.prompt import Text
from flowcompose.core.retry import Retry
from flowcompose.core.tools import ToolLike
from flowcompose.patterns.selector._definition import define
from flowcompose.patterns.selector._options import SelectorLike, SelectorOptions, SelectorWritten
from flowcompose.patterns.selector._ruling import OnInvalid, OnNoTransition
from flowcompose.patterns.turn_loop.build import PatternBuilder
from flowcompose.patterns.turn_loop.edges import EdgeLike
from flowcompose.patterns.turn_loop.options import Synthesizer
from flowcompose.patterns.turn_loop.policies import OnError, OnLimit, Visibility
from flowcompose.patterns.turn_loop.roster import RosterLike
from flowcompose.resources.resource import ContributionsState, Resource

ModelT = TypeVar("ModelT", bound=BaseModel)


@overload
def selector(
    *,
    output_schema: type[ModelT],
    synthesizer: Synthesizer = None,
    **options: Unpack[SelectorOptions],
) -> Pattern[ModelT]: ...
@overload
def selector(
    *, synthesizer: Synthesizer = None, **options: Unpack[SelectorOptions]
) -> Pattern[Any]: ...
def selector(
    *,
    name: str,
    roster: Sequence[RosterLike],
    max_turns: int | None = None,
    selector: SelectorLike | None = None,
    edges: Sequence[EdgeLike] | None = None,
    candidates: Callable[[Context], Any] | None = None,
    allow_repeat: bool = False,
    on_invalid: OnInvalid = "retry-then-first",
    on_no_transition: OnNoTransition = "stop",
    can_stop: bool = False,
    selector_prompt: str | None = None,
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
    """Let a selector choose, turn by turn, which member speaks next.

    Choose it when the next speaker depends on what was said and cannot be told by a rule: a
    research team, a support desk. When it can, a function is the selector, which costs nothing;
    when the ways are fixed and few, use `graph`; when everybody speaks in turn, `round_robin`.

    Before each turn, the first one included, the legal members are found: all, or those to
    which the last speaker has an edge; of them those that `candidates` names; without the last
    speaker, unless `allow_repeat`. If there is one, it speaks, and nobody is asked. A fallback
    never takes a member that these rules exclude; `on_no_transition="first"` goes past the edges
    alone.

    Args:
        name: Names the graph, the audit records and the errors.
        roster: Who may speak: entries, mappings with their keys, or named graphs. Their
            descriptions, else their roles, are what a model goes by.
        max_turns: The cap, in turns. It must be given.
        selector: Who chooses: a chat model or its name; a block, which gets a `TurnInput` with
            `.candidates` and gives a name, or a `Stop` that ends the run; or a function
            `(ctx) -> name`, sync or async. None is the pattern's `model`.
        edges: Who may follow whom, as `Edge("a", "b")` or `("a", "b")`; an edge with a `when`
            counts while that holds.
        candidates: A function of the context, sync or async, that gives the names of those who
            may speak now.
        allow_repeat: Whether a member may speak twice in a row.
        on_invalid: When the choice is none: `"retry-then-first"` asks twice more and tells what
            was wrong, then takes the first legal member; `"first"` takes it at once; `"stop"`
            ends as `invalid_selection`; `"raise"` raises a `SelectorError`. A function is not
            asked again.
        on_no_transition: When no edge leads on: `"stop"` ends as `no_transition`, `"first"`
            goes on with the first of the roster.
        can_stop: Whether the selector may end the run, as `selector_stop`: a model by one more
            choice, a block or function by None.
        selector_prompt: What a model is asked, instead of the default text. `{{.Participants}}`,
            `{{.Roles}}` and `{{.History}}` stand for the legal members, these with their
            descriptions, and what was said; they are filled in, never evaluated.
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
        said last: its data if it has any, else its text. Its `stop.reason` is `max_turns`,
        `terminate_when`, `terminate_tool`, `selector_stop`, `no_transition`,
        `invalid_selection` or `member_failed`.

    Raises:
        DefinitionError: Something that was written cannot work; all problems are listed.
        SelectorError: In a run: the selector or `candidates` failed, or `on_invalid="raise"`.
        RunError: In a run: a `when` failed, or what `run` of any pattern raises.

    The pattern is AutoGen's SelectorGroupChat and ARK's selector strategy.

    Example:
        ```python
        from flowcompose import Context, RosterEntry, TurnInput, selector


        def who(ctx: Context) -> str:
            return "solver" if ctx.contributions else "planner"


        def work(turn: TurnInput) -> str:
            return f"{turn.agent_name} worked"


        team = selector(
            name="team",
            roster=[RosterEntry("planner", block=work), RosterEntry("solver", block=work)],
            selector=who,
            max_turns=2,
        )
        result = team.run("a riddle")
        print([c.agent_name for c in result.contributions], result.stop.reason)
        #> ['planner', 'solver'] max_turns
        ```
    """
    written = SelectorWritten(**locals())  # all arguments, under their names
    plan = define(_FACTORY, written)
    return PatternBuilder(plan).compile(checkpointer=checkpointer, store=store)


_FACTORY = selector  # inside, its name is that of its argument
