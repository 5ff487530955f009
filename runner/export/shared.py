"""What a pattern says for all of its members."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flowcompose.core.errors import DefinitionError
from flowcompose.core.generator_checks import all_tools
from flowcompose.core.models import ModelLike
from flowcompose.core.tools import as_tool, is_terminate
from flowcompose.patterns.turn_loop.options import Written
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.runner.export.texts import Texts


@dataclass(frozen=True)
class Shared:
    """The arguments of a pattern that reach its default members."""

    plan: Plan

    @cached_property
    def where(self) -> str:
        """How the pattern is called in findings."""
        factory = self.plan.description.partition("(")[0]
        return f"{factory} {self.plan.name!r}"

    @property
    def written(self) -> Written:
        """The arguments as they were written.

        Raises:
            DefinitionError: The plan was not made by one of the factories.
        """
        if self.plan.written is None:
            raise DefinitionError(repr(self.plan.name), ["it was not made by a factory"])
        return self.plan.written

    @cached_property
    def texts(self) -> Texts:
        """What all are told."""
        written, uses = self.written, self.written.uses
        instructions = (written.instructions, *(each.instructions for each in uses))
        return Texts.of(*instructions, written.context, *(each.context for each in uses))

    @property
    def models(self) -> list[ModelLike]:
        """The models that they may have of the pattern."""
        own = (self.written.model, *(each.model for each in self.written.uses))
        return [each for each in own if each is not None]

    @cached_property
    def tools(self) -> list[str]:
        """The names of the tools of Python that all have."""
        every = map(as_tool, all_tools(self.written.tools, self.written.uses))
        return [each.name for each in every if not is_terminate(each)]
