"""The default blocks: roster agent, referee and synthesizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from flowcompose.core.models import CHAT, SYNTHESIZE, ModelLike
from flowcompose.core.prompt import Prompt, Text, problems_of_text
from flowcompose.core.retry import Retry
from flowcompose.core.tools import ToolLike
from flowcompose.patterns.round_robin import _prompts
from flowcompose.patterns.turn_loop.referee import RefereeOutput


def panel_system(*sections: Text | None) -> Callable[[Context], str]:
    """Write the system message that all requests of a panel share."""
    instructions = Prompt(*sections)

    def system(ctx: Context) -> str:
        members = "\n".join(
            f"- {each.name}: {each.role}" if each.role else f"- {each.name}"
            for each in ctx.panel.members
        )
        text = _prompts.SYSTEM.format(members=members or "- (not told)")
        extra = instructions.write(ctx.input, ctx)
        return f"{text}\n\n{_prompts.INSTRUCTIONS.format(instructions=extra)}" if extra else text

    return system


def create_roster_agent(
    *,
    agent_name: str,
    role: str | None = None,
    name: str | None = None,
    model: ModelLike | None = None,
    instructions: Text | None = None,
    context: Text | None = None,
    uses: Sequence[Capability] = (),
    tools: Sequence[ToolLike] = (),
    retry: Retry | None = None,
) -> Generator:
    """Make a default roster agent, to put into a roster entry with a change of its own.

    Choose it over a plain entry when one member needs another model, its own tools or a
    further instruction, and over `generator` when it should still speak as the default
    members do, from the same prompt prefix.

    Args:
        agent_name: The member's name, as in its roster entry.
        role: What the member is told that it is.
        name: The block's name in errors; by default `agent_name`.
        model: A chat model or a name; None takes the pattern's.
        instructions: Added to the message that gives the turn, not to the shared prefix.
        context: Likewise.
        uses: Capabilities to install.
        tools: Tools that the member may call.
        retry: How often to ask again.

    Raises:
        DefinitionError: An argument is not of its kind; all problems are listed.

    Example:
        ```python
        from flowcompose import RosterEntry
        from flowcompose.patterns.round_robin import create_roster_agent

        critic = create_roster_agent(agent_name="critic", role="sceptic", model="offline")
        entry = RosterEntry(name="critic", block=critic)
        ```
    """

    def turn_given(value: Any, ctx: Context) -> str:
        known = role or next((m.role for m in ctx.panel.members if m.name == agent_name), None)
        return _prompts.MEMBER.format(
            name=agent_name, role=f", {known}" if known else "", round=ctx.state.round
        )

    return _block(
        name or agent_name,
        turn_given,
        {"instructions": instructions, "context": context},
        model=model,
        uses=uses,
        tools=tools,
        retry=retry,
    )


def create_referee(
    *,
    name: str = "referee",
    model: ModelLike | None = None,
    instructions: Text | None = None,
    context: Text | None = None,
    uses: Sequence[Capability] = (),
    tools: Sequence[ToolLike] = (),
    retry: Retry | None = None,
) -> Generator:
    """Make the default referee: a model that audits how a round was argued.

    Choose it where members defend assigned stances and may exaggerate, dismiss, claim
    without support, grow vague or repeat themselves. It names no winner, asks no new
    questions and has no say in whether the panel goes on; use `terminate_when` for that.

    Args:
        name: The block's name in errors.
        model: A chat model or a name; None takes the pattern's.
        instructions: What else to look for.
        context: A further section of its message.
        uses: Capabilities to install.
        tools: Tools that it may call.
        retry: How often to ask again.

    Raises:
        DefinitionError: An argument is not of its kind; all problems are listed.

    Example:
        ```python
        from flowcompose import round_robin
        from flowcompose.patterns.round_robin import create_referee

        panel = round_robin(
            name="panel",
            roster=[{"name": "bull", "role": "optimist"}, {"name": "bear", "role": "pessimist"}],
            referee=create_referee(instructions="Mind unhedged predictions."),
            model="offline",
            max_rounds=2,
        )
        print(len(panel.run("Buy the stock?").referee_critiques))
        #> 2
        ```
    """

    def audit(value: Any, ctx: Context) -> str:
        return _prompts.REFEREE.format(round=ctx.state.round)

    return _block(
        name,
        audit,
        {"instructions": instructions, "context": context},
        model=model,
        uses=uses,
        tools=tools,
        retry=retry,
        output_schema=RefereeOutput,
        default_model=SYNTHESIZE,
    )


def create_synthesize(
    *,
    name: str = "synthesizer",
    output_schema: type[BaseModel] | None = None,
    model: ModelLike | None = None,
    instructions: Text | None = None,
    context: Text | None = None,
    uses: Sequence[Capability] = (),
    tools: Sequence[ToolLike] = (),
    retry: Retry | None = None,
    stream: bool = True,
) -> Generator:
    """Make the default synthesizer: a model that turns the transcript into the deliverable.

    A pattern makes one by itself. Choose this to change its model or give it a further
    instruction; for a deliverable that needs no model, give a function instead.

    Args:
        name: The block's name in errors.
        output_schema: What the deliverable must fit; None for text.
        model: A chat model or a name; None takes the pattern's.
        instructions: What else to mind.
        context: A further section of its message.
        uses: Capabilities to install.
        tools: Tools that it may call.
        retry: How often to ask again.
        stream: Whether its tokens show in the run's events.

    Raises:
        DefinitionError: An argument is not of its kind; all problems are listed.

    Example:
        ```python
        from flowcompose import round_robin
        from flowcompose.patterns.round_robin import create_synthesize

        panel = round_robin(
            name="panel",
            roster=[{"name": "a"}],
            synthesizer=create_synthesize(instructions="One paragraph."),
            model="offline",
            max_rounds=1,
        )
        ```
    """

    def deliver(value: Any, ctx: Context) -> str:
        return _prompts.SYNTHESIZER.format(rounds=value.rounds)

    return _block(
        name,
        deliver,
        {"instructions": instructions, "context": context},
        model=model,
        uses=uses,
        tools=tools,
        retry=retry,
        output_schema=output_schema,
        default_model=SYNTHESIZE,
        stream=stream,
    )


def _block(
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
) -> Generator:
    """Make a generator whose request is the panel's, but for its last message."""
    problems = Problems(f"block {name!r}")
    for argument, text in extras.items():
        problems.extend(problems_of_text(argument, text))
    problems.extend(problems_of_generator(None, None, model, output_schema, tools, uses))
    problems.raise_if_any()
    extra = Prompt(*extras.values(), *(u.instructions for u in uses), *(u.context for u in uses))

    def messages(value: Any, ctx: Context) -> list[BaseMessage]:
        last = closing(value, ctx)
        more = extra.write(ctx.input, ctx)
        asked = _prompts.EXTRA.format(text=last, extra=more) if more else last
        said = happenings(ctx.contributions.raw, ctx.critiques)
        return [*ctx.history, goal_message(ctx.goal), *said, HumanMessage(asked)]

    return Generator(
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


def _panel_prompt(value: Any, ctx: Context) -> str:
    return (ctx.panel.system or _UNTOLD)(ctx)


_UNTOLD = panel_system()
