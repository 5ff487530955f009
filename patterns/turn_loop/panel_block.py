"""A generator whose request is the panel's: one prefix for all, and a last message of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import BaseModel

from flowcompose.core.capability import Capability
from flowcompose.core.context import Context
from flowcompose.core.definition import Problems
from flowcompose.core.generator import Generator
from flowcompose.core.generator_checks import problems_of_generator
from flowcompose.core.messages import goal_message, happenings
from flowcompose.core.models import CHAT, ModelLike
from flowcompose.core.prompt import Prompt, Text, problems_of_text
from flowcompose.core.retry import Retry
from flowcompose.core.tools import ToolLike, is_terminate
from flowcompose.patterns.turn_loop import prompts

_PANEL = prompts.Process("Everybody reads everything that was said before.")
"""For a default block that is used outside of a pattern."""


def panel_system(process: prompts.Process, *sections: Text | None) -> Callable[[Context], str]:
    """Write the system message that all requests of a panel share."""
    instructions = Prompt(*sections)

    def system(ctx: Context) -> str:
        members = "\n".join(
            f"- {each.name}: {each.role}" if each.role else f"- {each.name}"
            for each in ctx.panel.members
        )
        text = prompts.SYSTEM.format(
            process=process.text, heading=process.heading, members=members or "- (not told)"
        )
        extra = instructions.write(ctx.input, ctx)
        return f"{text}\n\n{prompts.INSTRUCTIONS.format(instructions=extra)}" if extra else text

    return system


class PanelGenerator(Generator):
    """A generator that takes part in a panel; it knows what its last message is made of."""

    extra: Prompt
    """What it is told besides."""
    agent_name: str | None = None
    """Which member it is told to be; None if it is none."""
    role: str | None = None
    """What it is told to be; None for the role of that member."""


def panel_block(
    name: str,
    closing: Callable[[Any, Context], str],
    extras: Mapping[str, Text | None],
    *,
    model: ModelLike | None,
    uses: Sequence[Capability],
    tools: Sequence[ToolLike],
    retry: Retry | None,
    output_schema: type[BaseModel] | None = None,
    default_model: str = CHAT,
    stream: bool = True,
    reads_transcript: bool = True,
    may_end: bool = False,
) -> PanelGenerator:
    """Make a generator whose request is the panel's, but for its last message.

    Args:
        name: Its name in errors.
        closing: Writes the last message.
        extras: Further texts for the last message, by the argument they were given as.
        model: A chat model or a name; None takes the pattern's.
        uses: Capabilities to install.
        tools: Tools that it may call.
        retry: How often to ask again.
        output_schema: What the answer must fit.
        default_model: The name of the model to take where nothing names one.
        stream: Whether its tokens are for others to see.
        reads_transcript: Whether the transcript is sent; not, if the last message holds it.
        may_end: Whether it is a member, who may be given `terminate`; nobody else is.
    """
    problems = Problems(f"block {name!r}")
    for argument, text in extras.items():
        problems.extend(problems_of_text(argument, text))
    problems.extend(problems_of_generator(None, None, model, output_schema, tools, uses))
    problems.raise_if_any()
    if not may_end:
        tools, uses = (
            _without_terminate(tools),
            [replace(use, tools=_without_terminate(use.tools)) for use in uses],
        )
    extra = Prompt(*extras.values(), *(u.instructions for u in uses), *(u.context for u in uses))

    def messages(value: Any, ctx: Context) -> list[BaseMessage]:
        last = closing(value, ctx)
        more = extra.write(ctx.input, ctx)
        asked = prompts.EXTRA.format(text=last, extra=more) if more else last
        said: Iterable[BaseMessage] = (
            ()
            if not reads_transcript
            else happenings(ctx.contributions.raw, ctx.critiques, rounds=ctx.panel.has_rounds)
        )
        return [*ctx.history, goal_message(ctx.goal), *said, HumanMessage(asked)]

    made = PanelGenerator(
        name,
        prompt=_panel_prompt,
        user=messages,
        model=model,
        output_schema=output_schema,
        tools=tools,
        uses=[replace(u, context=None, instructions=None) for u in uses],
        context=None,
        retry=retry,
        stream=stream,
        default_model=default_model,
    )
    made.extra = extra
    return made


def _without_terminate(tools: Sequence[ToolLike]) -> tuple[ToolLike, ...]:
    return tuple(each for each in tools if not is_terminate(each))


def _panel_prompt(value: Any, ctx: Context) -> str:
    return (ctx.panel.system or _UNTOLD)(ctx)


_UNTOLD = panel_system(_PANEL)
