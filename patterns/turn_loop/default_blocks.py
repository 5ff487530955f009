"""The default blocks of every pattern: roster agent and synthesizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from flowcompose.core.capability import Capability
from flowcompose.core.context import Context
from flowcompose.core.generator import Generator
from flowcompose.core.models import SYNTHESIZE, ModelLike
from flowcompose.core.prompt import Text
from flowcompose.core.retry import Retry
from flowcompose.core.tools import ToolLike
from flowcompose.patterns.turn_loop import prompts
from flowcompose.patterns.turn_loop.panel_block import panel_block


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
        moment = prompts.IN_ROUND if ctx.panel.has_rounds else prompts.IN_TURN
        return prompts.MEMBER.format(
            name=agent_name,
            role=f", {known}" if known else "",
            moment=moment.format(round=ctx.state.round),
        )

    made = panel_block(
        name or agent_name,
        turn_given,
        {"instructions": instructions, "context": context},
        model=model,
        uses=uses,
        tools=tools,
        retry=retry,
        may_end=True,
    )
    made.agent_name, made.role = agent_name, role
    return made


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
        rounds = prompts.AFTER_ROUNDS.format(rounds=value.rounds) if value.rounds else ""
        return prompts.SYNTHESIZER.format(rounds=rounds)

    return panel_block(
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
