"""The default referee. Only a round robin has one: it judges finished rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowcompose.core.capability import Capability
from flowcompose.core.context import Context
from flowcompose.core.generator import Generator
from flowcompose.core.models import SYNTHESIZE, ModelLike
from flowcompose.core.prompt import Text
from flowcompose.core.retry import Retry
from flowcompose.core.tools import ToolLike
from flowcompose.patterns.turn_loop import prompts
from flowcompose.patterns.turn_loop.panel_block import panel_block
from flowcompose.patterns.turn_loop.referee import RefereeOutput


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
        return prompts.REFEREE.format(round=ctx.state.round)

    return panel_block(
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
