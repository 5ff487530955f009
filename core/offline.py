"""The built-in model behind `model="offline"`: it runs a flow without any language model."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import TypeAdapter

from flowcompose.core._fake import FakeChatModel
from flowcompose.core._fake_call import ModelCall, call_tool, forced_tools
from flowcompose.core._schema_fill import fill_schema
from flowcompose.core.messages import GOAL_LABEL

LONGEST_QUOTE = 200

_FIGURES = "A member in this role would first check its dates and figures."
_CLAIMS = "A member in this role would first ask what supports it and what it leaves out."


class OfflineModel(FakeChatModel):
    """A model for demos and dry runs: no network, no key, and the same answer every time.

    It shows how a flow runs, who speaks when and what is passed on; it does not think, and
    every text it writes says so. A text quotes one sentence of the goal, another one for each
    member and round. A structured request gets the smallest answer that fits its schema. Tools
    that it may call, but need not, it leaves alone.

    Example:
        >>> OfflineModel().invoke("Built in 1889. Visited by many.").text
        '[offline] A member quotes: "Built in 1889." A member in this role would first check \
its dates and figures. No language model was asked.'
    """

    def _begin(self, call: ModelCall) -> Callable[[], AIMessage]:
        return partial(_answer, call)

    @property
    def _llm_type(self) -> str:
        return "offline"


def _answer(call: ModelCall) -> AIMessage:
    quote = _quoted(call)
    if tools := forced_tools(call.kwargs):
        # Agents bind the tool for the structured answer after their other tools.
        wanted = tools[-1]
        return call_tool(wanted["name"], fill_schema(wanted.get("parameters", {}), quote), call)
    if (schema := _response_schema(call.kwargs.get("response_format"))) is not None:
        return AIMessage(json.dumps(fill_schema(schema, quote), ensure_ascii=False))
    return AIMessage(_text(call, quote))


def _text(call: ModelCall, quote: str) -> str:
    number = _round(call)
    speaker = call.agent_name or "A member"
    when = f", round {number}," if number else ""
    look = _FIGURES if _has_digit(quote) else _CLAIMS
    return f'[offline] {speaker}{when} quotes: "{quote}" {look} No language model was asked.'


def _quoted(call: ModelCall) -> str:
    """One sentence of the goal: figures first, another one for each member and each round."""
    sentences = _sentences(_goal(call.messages))
    figures = [sentence for sentence in sentences if _has_digit(sentence)]
    ranked = [*figures, *(sentence for sentence in sentences if sentence not in figures)]
    if not ranked:
        return "(the request has no text)"
    # Not `hash`: it changes from one process to the next.
    start = zlib.crc32((call.agent_name or "").encode()) % len(figures or ranked)
    chosen = ranked[(start + max(_round(call) - 1, 0)) % len(ranked)]
    return chosen if len(chosen) <= LONGEST_QUOTE else chosen[: LONGEST_QUOTE - 1] + "…"


def _goal(messages: Sequence[BaseMessage]) -> str:
    said = [message.text for message in messages if isinstance(message, HumanMessage)]
    text = said[0] if said else " ".join(message.text for message in messages)
    goals = (each for each in said if each.startswith(GOAL_LABEL))  # a team has words before it
    return next(goals, text).removeprefix(GOAL_LABEL)


def _sentences(text: str) -> list[str]:
    """Split at sentence ends and empty lines; a line break alone is only wrapping."""
    parts = re.split(r"(?<=[.!?])\s+|\n\s*\n", text.strip())
    return list(dict.fromkeys(" ".join(part.split()) for part in parts if part.strip()))


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _round(call: ModelCall) -> int:
    number = call.metadata.get("round")
    return number if isinstance(number, int) else 0


def _response_schema(wanted: Any) -> Mapping[str, Any] | None:
    """The JSON schema in any of the forms that a `response_format` takes."""
    if isinstance(wanted, type):
        model: type[Any] = wanted
        return TypeAdapter(model).json_schema()
    form: Mapping[str, Any] = wanted or {"type": "text"}
    if form.get("type") == "json_schema":
        return {"title": form["json_schema"].get("name"), **form["json_schema"]["schema"]}
    if form.get("type") == "json_object":
        return {"type": "object", "properties": {"text": {}}}
    return None if form.get("type") == "text" else form
