"""The items of a `for_each`: each is a task of the engine's own.

So it is written when it is done, and a run that was killed does not do it again; and a graph
in it is checkpointed and resumed inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.config import get_config
from langgraph.errors import GraphInterrupt

from flowcompose.core.blocks import Block
from flowcompose.core.context import Context
from flowcompose.core.flow.nodes.base import PlacedError, count_answer
from flowcompose.core.flow.view import FlowView
from flowcompose.core.saving import is_saving
from flowcompose.resources.packed import unpack
from flowcompose.resources.usage import Tokens
from flowcompose.resources.writes import WRITES


class Items:
    """The items of one pass, and what became of those that were at work in this process."""

    def __init__(self, block: Block, speaker: str, view: FlowView, items: Sequence[Any]) -> None:
        self.block = block
        self.speaker = speaker
        self.view = view
        self.items = items
        # What the items write, the step writes: their resources are those of the step.
        self._state = {**view.state, WRITES: None}
        self._futures: list[Any] = []
        self._made: dict[int, Any] = {}
        self._spent: dict[int, dict[str, int]] = {}

    @property
    def left(self) -> int:
        """How many have not been started."""
        return len(self.items) - len(self._futures)

    def start(self, work: Callable[[int], Any]) -> Any:
        """Start the next item; gives the engine's future of it."""
        from langgraph.func import task

        number = len(self._futures)
        named: Any = task(name=f"[{number}]")  # the engine's type fits no method
        self._futures.append(named(work)(number))
        return self._futures[-1]

    def run(self, number: int) -> dict[str, Any]:
        """Call the block for one item, in a task of the engine's."""
        view, ctx = self._context()
        try:
            made = self.block.run(self.items[number], ctx)
        finally:
            self._spent[number] = ctx.meter.as_json()
        return self._written(number, made, view, ctx)

    async def arun(self, number: int) -> dict[str, Any]:
        """Call the block for one item, on the async path."""
        view, ctx = self._context()
        try:
            made = await self.block.arun(self.items[number], ctx)
        finally:
            self._spent[number] = ctx.meter.as_json()
        return self._written(number, made, view, ctx)

    def read(self, ctx: Context) -> list[Any]:
        """Give what the items came to, and count what they cost.

        Questions come before errors, and those of several items are asked together: an item
        that failed is done again once they are answered. Then the first error counts.
        """
        errors = {number: each.exception() for number, each in enumerate(self._futures)}
        written = {n: each.result() for n, each in enumerate(self._futures) if not errors[n]}
        for number, error in errors.items():
            spent = self._spent.get(number) if error else written[number]["usage"]
            if spent:
                ctx.meter.add_tokens(Tokens.model_validate(spent))
        self._raise_first({number: error for number, error in errors.items() if error})
        for each in written.values():
            self.view.ledger.add(each["writes"], {})
        return [self._value(number, each) for number, each in written.items()]

    def _raise_first(self, errors: Mapping[int, BaseException]) -> None:
        asked = [error for error in errors.values() if isinstance(error, GraphInterrupt)]
        if asked:
            raise GraphInterrupt([each for error in asked for each in error.args[0]])
        for number, error in errors.items():
            raise PlacedError(f"item {number}", error) if isinstance(error, Exception) else error

    def _value(self, number: int, written: dict[str, Any]) -> Any:
        """Give the object itself, or what an earlier process wrote."""
        return self._made[number] if number in self._made else unpack(written["value"])

    def _context(self) -> tuple[FlowView, Context]:
        """What one item sees: the task's config, and resources and a count of its own."""
        config = self.view.ledger.handed_down(get_config(), self.view.plan)
        view = FlowView(self.view.plan, self._state, config)
        return view, view.context(self.speaker)

    def _written(self, number: int, made: Any, view: FlowView, ctx: Context) -> dict[str, Any]:
        count_answer(made, self.items[number], view, ctx)
        self._made[number] = made
        value = view.packed(made) if is_saving(self.view.config) else None
        writes = view.ledger.update().get(WRITES)
        return {"value": value, "usage": ctx.meter.as_json(), "writes": writes}
