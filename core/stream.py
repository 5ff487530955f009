"""Notices that blocks send into LangGraph's custom stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from langgraph.config import get_stream_writer

if TYPE_CHECKING:
    from flowcompose.core.context import Context

MARK = "flowcompose"
"""The key under which our notices stand among whatever else a user streams."""

NODE = "flowcompose_node"
"""The metadata key under which a node of ours says which it is, so that events know it."""

Kind = Literal["emitted", "tool_called", "tool_returned", "turn_retried"]


def emit(kind: Kind, ctx: Context, **fields: Any) -> None:
    """Send a notice; outside a run nobody listens, and nothing happens."""
    try:
        writer = get_stream_writer()
    except (RuntimeError, KeyError):
        return
    speaker = {"agent_name": ctx.agent_name, "round": ctx.state.round, "turn": ctx.state.turn}
    writer({MARK: kind, **speaker, **fields})
