"""The methods of a flow that say where its value goes: apart, back, out, or to a rescue."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import Self, TypeVar

from flowcompose.core.blocks import BlockLike
from flowcompose.core.flow.building import Building
from flowcompose.core.flow.checks import Function, StepReader
from flowcompose.core.flow.ops import BranchOp, ExitOp, LoopOp, RescueOp
from flowcompose.core.flow.rescued import RescueLike

OutputT = TypeVar("OutputT")


class Control(Building[OutputT], ABC):
    """Branches, loops, exits and rescues."""

    def branch(
        self, branches: Mapping[str, tuple[Function, BlockLike]], *, name: str | None = None
    ) -> Self:
        """Add blocks of which the first is called whose condition holds.

        A value for which none holds is an error that names the keys; let the last condition
        be `lambda value: True` for a rest.

        Args:
            branches: Condition and block, by key, in the order in which they are asked.
            name: The step's name.
        """
        read = StepReader(self.name, self._plan.ops, "branch", name)
        return self._with(read, BranchOp(read.name(), read.branches(branches)))

    def loop_back(
        self,
        step: str,
        *,
        when: Function | None = None,
        max_iterations: int = 10,
        name: str | None = None,
    ) -> Self:
        """Jump back to an earlier step, again and again.

        Args:
            step: The name of the step to go back to.
            when: Whether to jump; None jumps `max_iterations` times.
            max_iterations: The cap, in jumps. If `when` holds still, the flow goes on, and
                `result.stop.detail` and a `CapReached` event say so.
            name: The step's name.

        Example:
            ```python
            from flowcompose import Flow

            flow = Flow("grow").step(lambda text: text + "!", name="add")
            flow = flow.loop_back("add", when=lambda text: len(text) < 5, max_iterations=9)
            print(flow.run("hi").output)
            #> hi!!!
            ```
        """
        read = StepReader(self.name, self._plan.ops, "loop_back", name)
        target, asked = read.earlier(step), read.function("when", when)
        read.count("max_iterations", max_iterations)
        return self._with(read, LoopOp(read.name(), target, asked, max_iterations))

    def exit_if(self, condition: Function, *, name: str | None = None) -> Self:
        """End the flow where `condition` holds, with the value as it is.

        `result.stop.by` is then the name of this step. Inside a nested flow it ends that one.

        Args:
            condition: A function of the value, or of the value and ctx, sync or async.
            name: The step's name; by default the condition's.
        """
        read = StepReader(self.name, self._plan.ops, "exit_if", name)
        made = read.needed("condition", condition)
        return self._with(read, ExitOp(read.name(condition), made))

    def rescue(
        self,
        block: RescueLike,
        *,
        on: type[Exception] | tuple[type[Exception], ...] = Exception,
        name: str | None = None,
    ) -> Self:
        """Take care of errors of the steps before this one.

        The value that the block gives goes on after it; the steps between are left out. Of
        several rescues the first one takes an error whose types it is of. An error inside a
        nested flow or pattern is known by its causes. Interrupts are no errors.

        Args:
            block: A function of the error, or of the error and the value that the step had
                received; any other block gets a `Rescued`.
            on: The types of error.
            name: The step's name.

        Example:
            ```python
            from flowcompose import Flow

            def ask(question: str) -> str:
                raise ConnectionError("line is dead")

            flow = Flow("f").step(ask).rescue(lambda error, asked: f"not asked: {asked}")
            print(flow.run("why?").output)
            #> not asked: why?
            ```
        """
        read = StepReader(self.name, self._plan.ops, "rescue", name)
        made, types = read.rescue(block), read.errors(on)
        read.problems.check(
            bool(self._plan.ops),
            "a rescue covers the steps before it, and there is none: write it after them",
        )
        return self._with(read, RescueOp(read.name(), made, types))
