"""Conditions on what a run may cost: tokens and time."""

from __future__ import annotations

import time
from dataclasses import dataclass

from flowcompose.core.condition import Condition
from flowcompose.core.conditions._checks import check_seconds, check_whole
from flowcompose.core.conditions._simple import Simple, called
from flowcompose.core.context import Context
from flowcompose.core.definition import Problems


@dataclass(frozen=True, repr=False)
class _TokenUsage(Simple):
    total: int | None = None
    input: int | None = None
    output: int | None = None

    def holds(self, ctx: Context) -> bool:
        spent = ctx.usage
        limits = (
            (self.total, spent.total_tokens),
            (self.input, spent.input_tokens),
            (self.output, spent.output_tokens),
        )
        return any(limit is not None and tokens >= limit for limit, tokens in limits)

    def __repr__(self) -> str:
        return called("token_usage", total=self.total, input=self.input, output=self.output)


@dataclass(frozen=True, repr=False)
class _Timeout(Simple):
    seconds: float

    def holds(self, ctx: Context) -> bool:
        return time.time() - ctx.state.started_at >= self.seconds

    def __repr__(self) -> str:
        return f"timeout({self.seconds})"


def token_usage(
    total: int | None = None, *, input: int | None = None, output: int | None = None
) -> Condition:
    """Stop once the run has spent so many tokens.

    Members, referee, selector and nested teams count, failed turns and retries included. It is
    asked after turns, never in one, so the last turn and the synthesizer come on top. Models
    that report no usage cost nothing here: combine it with `timeout` or rely on the cap. After
    AutoGen's `TokenUsageTermination`.

    Args:
        total: Tokens sent and received.
        input: Tokens sent, those included that the provider read from its cache.
        output: Tokens received. Where several limits are given, the first one reached stops.

    Raises:
        DefinitionError: No limit is given, or one is not a whole number above 0.

    Example:
        ```python
        from flowcompose.core.conditions import token_usage

        print(token_usage(50_000, output=5_000))
        #> token_usage(total=50000, output=5000)
        ```
    """
    problems = Problems("token_usage")
    given = {"total": total, "input": input, "output": output}
    limits = {
        name: check_whole(problems, name, limit)
        for name, limit in given.items()
        if limit is not None
    }
    problems.check(bool(limits), "give at least one of total, input and output, got none")
    problems.raise_if_any()
    return _TokenUsage(**limits)


def timeout(seconds: float) -> Condition:
    """Stop once the run is this old.

    It is asked between turns and cuts none short: for that there is `turn_timeout`. The time is
    that of the clock since the run's first start. With a checkpointer that includes what passed
    before a `resume`, so a run that lay still for longer ends when it is next asked. After
    AutoGen's `TimeoutTermination`.

    Args:
        seconds: Any number above 0.

    Raises:
        DefinitionError: `seconds` is not a number above 0, or has no end.

    Example:
        ```python
        from flowcompose.core.conditions import max_messages, timeout

        print(timeout(90) & max_messages(2))
        #> timeout(90) & max_messages(2)
        ```
    """
    problems = Problems("timeout")
    limit = check_seconds(problems, "seconds", seconds)
    problems.raise_if_any()
    return _Timeout(limit)
