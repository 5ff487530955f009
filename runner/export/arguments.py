"""The arguments that all patterns have, and of which documents know nothing."""

from __future__ import annotations

from collections.abc import Iterator

from flowcompose.core.panel import DEFAULT_KEY
from flowcompose.runner.export.book import Book
from flowcompose.runner.export.shared import Shared
from flowcompose.runner.export.texts import listed


def lose_arguments(book: Book, shared: Shared) -> None:
    """Note what of a pattern's shared arguments is lost."""
    for what, instead in (*_ends(shared), *_after(shared), *_state(shared)):
        book.lose(shared.where, what, instead)
    if shared.texts.functions:
        what = f"functions write parts of the prompts ({listed(shared.texts.functions)})"
        book.lose(shared.where, what, "left out")
    if shared.written.checkpointer is not None:
        book.note(shared.where, "checkpointer", "run documents with --checkpoint sqlite:FILE")


def _ends(shared: Shared) -> Iterator[tuple[str, str]]:
    """Give what would end a run, or keep it from ending."""
    written, plan = shared.written, shared.plan
    if plan.terminate is not None:
        instead = "only maxTurns and the tool terminate end a team early"
        yield f"terminate_when ({plan.terminate!r})", instead
    if written.on_error != "raise":
        yield f"on_error={written.on_error!r}", "a member that fails ends the run in error"
    if written.on_limit != "result":
        yield f"on_limit={written.on_limit!r}", "a run that reaches maxTurns ends well"
    if written.turn_timeout is not None:
        yield f"turn_timeout={written.turn_timeout!r}", "only a Query as a whole has a timeout"
    if written.retry is not None:
        yield "retry", "models are asked again as the runner does it"


def _after(shared: Shared) -> Iterator[tuple[str, str]]:
    """Give what is done with what members say."""
    plan, last = shared.plan, "the answer is what was said last"
    if plan.referee is not None:
        yield f"the referee ({plan.referee.name!r})", "nobody audits a round"
    if plan.synthesizer is not None:
        yield f"the synthesizer ({plan.synthesizer.name!r}), which makes the deliverable", last
    if plan.output_schema is not None:
        yield f"output_schema={plan.output_schema.__name__}", last


def _state(shared: Shared) -> Iterator[tuple[str, str]]:
    """Give what is kept besides what was said."""
    written, plan = shared.written, shared.plan
    if used := [key for key in plan.resources if key != plan.key]:
        yield f"resources ({listed(used)})", "left out"
    kept = {
        "contributions": written.contributions is not None,
        "accessor_key": written.accessor_key != DEFAULT_KEY,
        "collection_id": written.collection_id is not None,
        "store": written.store is not None,
    }
    if names := [name for name, given in kept.items() if given]:
        yield ", ".join(names), "documents keep no state besides what is said"
