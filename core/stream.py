"""Notices that blocks send into LangGraph's custom stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from langgraph.config import get_stream_writer

if TYPE_CHECKING:
    from flowcompose.core.context import Context

MARK = "flowcompose"
"""The key under which our notices stand among whatever else a user streams."""

NODE = "flowcompose_node"
"""The metadata key under which a node of ours says which it is, so that events know it."""


UNHEARD = "flowcompose_unheard"
"""The metadata key of what is nobody's to hear, however deep in graphs it is said."""


class NodeMark(NamedTuple):
    """What stands under `NODE`, in one string. No node name has a bar in it."""

    kind: str
    node: str
    per_round: int | None
    """The turns of a round."""
    key: str
    """Where the transcript is; in a flow, which step the node is of."""
    hidden: bool = False
    """Whether what is said in it is nobody's to see."""

    def write(self) -> str:
        """Give it as a string."""
        fields = (self.kind, self.node, self.per_round or "", self.hidden or "", self.key)
        return "|".join(map(str, fields))

    @classmethod
    def read(cls, mark: object) -> NodeMark | None:
        """Read it back, if it is one."""
        if not isinstance(mark, str) or mark.count("|") < 4:
            return None
        kind, node, per_round, hidden, key = mark.split("|", 4)
        return cls(kind, node, int(per_round) if per_round else None, key, bool(hidden))


Kind = Literal["emitted", "tool_called", "tool_returned", "turn_retried", "step_started"]


def emit(kind: Kind, ctx: Context, **fields: Any) -> None:
    """Send a notice; outside a run nobody listens, and nothing happens."""
    try:
        writer = get_stream_writer()
    except (RuntimeError, KeyError):
        return
    speaker = {"agent_name": ctx.agent_name, "round": ctx.state.round, "turn": ctx.state.turn}
    writer({MARK: kind, **speaker, **fields})
