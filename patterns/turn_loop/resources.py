"""Which resources a pattern knows: its transcript, and what its blocks use."""

from __future__ import annotations

from flowcompose.core.blocks import Block
from flowcompose.core.definition import Problems
from flowcompose.core.graph_block import GraphBlock
from flowcompose.core.resource_use import ResourceMap, collect, outer_resources_of, resources_of
from flowcompose.patterns.turn_loop.plan import Plan


def used_resources(problems: Problems, owner: str, plan: Plan) -> ResourceMap:
    """Collect the resources of a pattern by key, noting where they do not go together."""
    own = plan.panel.contributions
    parts: list[tuple[str, ResourceMap]] = [(owner, {} if own is None else {plan.key: own})]
    parts += [(what, _of(block)) for what, block in plan.blocks]
    return collect(problems, parts)


def _of(block: Block) -> ResourceMap:
    """The transcripts of a pattern or flow inside are its own: all may have the same key."""
    return outer_resources_of(block) if isinstance(block, GraphBlock) else resources_of(block)
