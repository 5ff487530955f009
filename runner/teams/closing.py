"""What a team says itself at its end, where its era has it tell why it ended."""

from __future__ import annotations

import json

from flowcompose.core.messages import slug
from flowcompose.core.results import Stop
from flowcompose.runner.teams.eras import Rules
from flowcompose.runner.teams.messages import Message

_CALL = "call_terminate"


def closing(stop: Stop, rules: Rules, cap: int | None) -> list[Message]:
    """Give the messages that stand after those of the members.

    Args:
        stop: Why the team ended.
        rules: Those of its era.
        cap: Its turns at most.
    """
    if not rules.tells_end:
        return []
    if stop.reason == "max_turns":
        return [_system(f"Team conversation reached maximum turns limit ({cap})")]
    if stop.reason == "invalid_selection":
        return [_system(stop.detail or "")]
    if stop.reason == "selector_stop" and stop.detail:
        return _terminated(stop.by or "", stop.detail)
    return []


def _system(text: str) -> Message:
    return {"role": "system", "content": text}


def _terminated(selector: str, response: str) -> list[Message]:
    """The call by which a selector ended the team, and its answer."""
    function = {"name": "terminate", "arguments": json.dumps({"response": response})}
    call = {"id": _CALL, "type": "function", "function": function}
    said: Message = {"role": "assistant", "content": None, "name": slug(selector)}
    return [
        {**said, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": _CALL, "content": response},
    ]
