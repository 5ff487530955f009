"""Reading what a user wrote for a step: the block, its name and its functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowcompose.core.blocks import Block, BlockLike
from flowcompose.core.context import Context
from flowcompose.core.definition import Problems
from flowcompose.core.flow.calls import InlineFunction
from flowcompose.core.flow.graph_step import GraphStep, as_step
from flowcompose.core.flow.ops import Op
from flowcompose.core.flow.rescued import RescueLike, as_rescue
from flowcompose.core.functions import describe
from flowcompose.core.generator_checks import problems_of_schema
from flowcompose.core.graph_block import GraphBlock
from flowcompose.core.resource_use import problems_of_resources
from flowcompose.core.untyped import items_of, mapping_of, unchecked

Function = Callable[[Any], Any] | Callable[[Any, Context], Any]
"""A function of the value, or of the value and the context, sync or async."""


class StepReader:
    """Reads one step of a flow, and notes everything that is wrong with it.

    Args:
        flow: The flow's name.
        before: The operations before it.
        method: Which method of the flow makes it.
        name: Its name, as written.
    """

    def __init__(self, flow: str, before: tuple[Op, ...], method: str, name: object = None) -> None:
        self.before = before
        self.method = method
        self.written = name
        named = "" if name is None else f" {name!r}"
        self.problems = Problems(f"Flow {flow!r}, step {len(before) + 1}{named} ({method})")
        self._taken = {op.name for op in before}

    def name(self, *candidates: object) -> str:
        """Give the step's name: as written, or made of the first candidate that has one."""
        if self.written is not None:
            return self._written_name(self.written)
        names = (name for each in candidates if (name := name_of(each)))
        wanted = next(names, self.method)
        number, name = 1, wanted
        while name in self._taken:
            number += 1
            name = f"{wanted}-{number}"
        return name

    def block(self, given: BlockLike, what: str = "the block") -> Block:
        """Give the block that does the work."""
        try:
            return as_step(given)
        except TypeError as error:
            self.problems.add(f"{what}: {error}")
            return _UNREADABLE

    def rescue(self, given: RescueLike) -> Block:
        """Give the block of a rescue."""
        try:
            made = as_rescue(given)
            return GraphStep(made.graph) if isinstance(made, GraphBlock) else made
        except TypeError as error:
            self.problems.add(f"the block: {error}")
            return _UNREADABLE

    def blocks(self, given: object) -> dict[str, Block]:
        """Give the blocks of a parallel step by key; those of a list are numbered."""
        keys, items = mapping_of(given), items_of(given)
        if not (keys or items):
            allowed = "a mapping of blocks or a list of them, at least one"
            self.problems.add(f"blocks must be {allowed}, got {given!r}")
            return {}
        named = keys if keys is not None else self._numbered(items or [])
        self._check_keys("blocks", named)
        return {str(key): self.block(each, f"block {key!r}") for key, each in named.items()}

    def branches(self, given: object) -> dict[str, tuple[Block, Block]]:
        """Give conditions and blocks of a branch by key."""
        keys = mapping_of(given)
        if not keys:
            allowed = "a mapping from key to (condition, block), at least one"
            self.problems.add(f"branches must be {allowed}, got {given!r}")
            return {}
        self._check_keys("branches", keys)
        return {str(key): self._pair(str(key), pair) for key, pair in keys.items()}

    def function(self, argument: str, given: Function | None) -> Block | None:
        """Give a mapping or a condition as a block; None where none was written."""
        return None if given is None else self.needed(argument, given)

    def needed(self, argument: str, given: Function | None) -> Block:
        """Give a function as a block; it must be there."""
        allowed = "a function of the value, or of the value and ctx"
        if not callable(given) or isinstance(unchecked(given), Block):
            self.problems.add(f"{argument} must be {allowed}, got {given!r}")
            return _UNREADABLE
        try:
            return InlineFunction(given)
        except TypeError as error:
            self.problems.add(f"{argument} must be {allowed}: {error}")
            return _UNREADABLE

    def count(self, argument: str, given: object) -> None:
        """A count is a whole number above 0."""
        whole = isinstance(given, int) and not isinstance(given, bool) and given > 0
        self.problems.check(whole, f"{argument} must be a whole number > 0, got {given!r}")

    def earlier(self, step: object) -> int:
        """Give the position of an earlier step, by its name."""
        names = [op.name for op in self.before]
        if isinstance(step, str) and step in names:
            return names.index(step)
        there = ", ".join(map(repr, names)) or "none"
        self.problems.add(f"there is no earlier step {step!r}; there is: {there}")
        return 0

    def errors(self, on: object) -> tuple[type[Exception], ...]:
        """Give the error types of a rescue."""
        types: tuple[Any, ...] = on if isinstance(on, tuple) else (on,)  # pyright: ignore[reportUnknownVariableType] - checked one by one
        fine = [each for each in types if isinstance(each, type) and issubclass(each, Exception)]
        if not types or len(fine) < len(types):
            allowed = "an exception class or a tuple of them"
            self.problems.add(f"on must be {allowed}, got {on!r}")
        return tuple(fine)

    def _pair(self, key: str, pair: object) -> tuple[Block, Block]:
        parts = items_of(pair)
        if parts is None or len(parts) != 2:
            self.problems.add(f"branch {key!r} must be (condition, block), got {pair!r}")
            return _UNREADABLE, _UNREADABLE
        asked = self.needed(f"the condition of branch {key!r}", parts[0])
        return asked, self.block(parts[1], f"the block of branch {key!r}")

    def _numbered(self, blocks: list[Any]) -> dict[str, Any]:
        """Blocks of a list go by their names; those of one name by their number too."""
        named: dict[str, Any] = {}
        for number, block in enumerate(blocks, 1):
            name = name_of(block) or f"{self.method}-{number}"
            named[name if name not in named else f"{name}-{number}"] = block
        return named

    def _check_keys(self, argument: str, keys: dict[Any, Any]) -> None:
        self.problems.extend(
            f"{argument}: a key must be a non-empty string, got {key!r}"
            for key in keys
            if not isinstance(key, str) or not key.strip()
        )

    def _written_name(self, given: object) -> str:
        if not isinstance(given, str) or not given.strip():
            self.problems.add(f"name must be a non-empty string or None, got {given!r}")
            return self.method
        if given in self._taken:
            at = [op.name for op in self.before].index(given) + 1
            self.problems.add(f"duplicate step name {given!r}: step {at} has it; names are unique")
        return given


def _unreadable(value: Any) -> Any:
    return value


_UNREADABLE = InlineFunction(_unreadable)
"""Stands for what could not be read, until that is said."""


def name_of(block: object) -> str | None:
    """Give the name by which a person knows a block; None where it has none."""
    name = getattr(block, "name", None) or getattr(block, "__name__", None)
    if isinstance(block, type) or not isinstance(name, str) or not name:
        name = describe(block) if callable(block) else None
    return None if name is None or name.startswith("<") else name


def check_flow(
    name: object, input_schema: object, output_schema: object, resources: object
) -> None:
    """Check what a flow is made with.

    Raises:
        DefinitionError: Something cannot work; all problems are listed.
    """
    problems = Problems(f"Flow {name!r}")
    problems.check(
        isinstance(name, str) and bool(name.strip()),
        f"name must be a non-empty string, got {name!r}",
    )
    for argument, schema in (("input_schema", input_schema), ("output_schema", output_schema)):
        problems.extend(problems_of_schema(schema, argument))
    problems.extend(problems_of_resources(resources))
    problems.raise_if_any()
