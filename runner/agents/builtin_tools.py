"""The tools that every agent may declare: `noop` and `terminate`."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool

from flowcompose.core.terminate import Terminate

_NOOP = "A no-operation tool that does nothing and returns success"
_TERMINATE = (
    "Use this function to provide a final response to the user and then end the current "
    "conversation"
)
_NOOP_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "description": "Optional message to include in the response"}
    },
}


class Noop(BaseTool):
    """Does nothing, and gives back the message, if there is one."""

    args_schema: Any = _NOOP_SCHEMA

    def _run(self, /, **arguments: Any) -> str:
        return str(arguments.get("message") or "success")

    async def _arun(self, /, **arguments: Any) -> str:
        return self._run(**arguments)


def builtin_tool(kind: str, name: str, description: str) -> BaseTool:
    """Give a built-in tool under the name by which a document declares it.

    Args:
        kind: `noop` or `terminate`.
        name: What the model calls.
        description: What the model is told; upstream's words if empty.
    """
    if kind == "terminate":
        return Terminate(name=name, description=description or _TERMINATE)
    return Noop(name=name, description=description or _NOOP)
