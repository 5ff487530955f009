"""The request for the next speaker, in the words of each era."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowcompose.runner.manifest.slots import SLOTS, fill_slots

_OPENING = (
    "You are in a role play game. The following roles are available:\n{{.Roles}}.\n"
    "Read the following conversation. Then select the next role from {{.Participants}} to play. "
)
_CLOSING = (
    "\n\n{{.History}}\n\nRead the above conversation. Then select the next role from "
    "{{.Participants}} to play. "
)
_ONLY_ROLE = "Only return the role."
_BY_TOOL = "Use the select-next-speaker tool to select the next role."

_EXPRESS = "Use the select-next-speaker tool to express your next speaker selection."
TERMINATE = (
    "If the most recent user message has been given an adequate response, do not return a role. "
    "Instead call the terminate tool."
)
"""What a selector that may end its team is told, where the document has no words of its own."""

_BY_TOOL_ALONE = "Select the next speaker to respond using the select-next-speaker tool."
_OR_TERMINATE = (
    "Select the next speaker to respond using the select-next-speaker tool, or use the terminate "
    "tool if you think the user's original question has been answered."
)


def default_prompt(*, by_tool: bool) -> str:
    """Give the prompt of a team that has none."""
    how = _BY_TOOL if by_tool else _ONLY_ROLE
    return f"{_OPENING}{how}{_CLOSING}{how}"


def rendered(template: str, members: Mapping[str, str], history: str) -> str:
    """Fill a selector prompt. A value is never scanned again; other slots stay as they are.

    Args:
        template: With `{{.Roles}}`, `{{.Participants}}` and `{{.History}}`.
        members: Who may be chosen, with their descriptions, which may be empty.
        history: The conversation.
    """
    roles = (f"{name}: {about}" if about else name for name, about in members.items())
    values = (", ".join(roles), ", ".join(members), history)
    return fill_slots(template, dict(zip(SLOTS, values, strict=True)))


def with_tools(prompt: str, terminate_prompt: str | None) -> str:
    """Add what is said of the tools of a selector, the second one only if it may end the team."""
    parts: Sequence[str | None] = (prompt, _EXPRESS, terminate_prompt)
    return "\n\n".join(part for part in parts if part)


def asked(*, may_end: bool) -> str:
    """Give the closing line of a request that is answered by a tool."""
    return _OR_TERMINATE if may_end else _BY_TOOL_ALONE
