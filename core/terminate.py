"""The tool with which a member gives its final response and ends its team.

Loaded when it is first asked for (see `core/tools.py`): most runs have no use for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from flowcompose.core.acts import TERMINATED, Acts

_DESCRIPTION = (
    "Give your final response and end the work of your whole team: nobody speaks after you. "
    "Call it only once the goal is reached, or if nothing more can be done for it."
)

# A plain schema: arguments that do not fit it are not refused, but made the best of.
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"response": {"type": "string", "description": "The final response, in full."}},
    "required": ["response"],
}


class Terminate(BaseTool):
    """Ends the team of the member that calls it; outside of any turn, it gives the response."""

    name: str = "terminate"
    description: str = _DESCRIPTION
    args_schema: Any = _SCHEMA
    return_direct: bool = True
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"

    def _run(self, config: RunnableConfig, **arguments: Any) -> tuple[str, str]:
        response = response_of(arguments)
        if acts := Acts.found(config):
            acts.end(response)
        return response, TERMINATED

    async def _arun(self, config: RunnableConfig, **arguments: Any) -> tuple[str, str]:
        return self._run(config, **arguments)


def response_of(arguments: Mapping[str, Any], otherwise: str = "") -> str:
    """Read the final response out of a call, whatever a model made of its arguments.

    Args:
        arguments: What the model gave.
        otherwise: What it said beside the call, which counts where it gave nothing.
    """
    given = arguments.get("response", next(iter(arguments.values()), None))
    words = "" if given is None else str(given)
    return words if words.strip() else otherwise


terminate = Terminate()
"""Given to members by `tools=[terminate]`."""
