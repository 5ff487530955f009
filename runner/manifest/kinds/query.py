"""The kind Query: what is asked, and of whom."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainValidator

from flowcompose.runner.manifest.durations import DEFAULT_TIMEOUT
from flowcompose.runner.manifest.kinds.base import JsonObject, Listed, Spec
from flowcompose.runner.manifest.kinds.messages import message_of
from flowcompose.runner.manifest.kinds.values import LabelSelector, NameRef, ParameterSpec
from flowcompose.runner.manifest.shapes import is_list, is_mapping

Input = str | list[JsonObject]
"""A text, or messages in the form of OpenAI's chat API."""


def _input(value: object) -> Input:
    if isinstance(value, str):
        return value
    if not is_list(value):
        msg = "must be a text, or a list of messages"
        raise ValueError(msg)
    return [_message(each, index) for index, each in enumerate(value)]


def _message(value: object, index: int) -> JsonObject:
    if not is_mapping(value):
        msg = f"message {index} must be a mapping with `role` and `content`"
        raise ValueError(msg)
    return message_of(value)


class TargetSpec(Spec):
    """Who is asked."""

    type: str = Field(description="agent, team, model or tool.")
    name: str = Field(description="The name of the document.")


class QuerySpec(Spec):
    """A question, and who is to answer it."""

    input: Annotated[Input, PlainValidator(_input, json_schema_input_type=Input)] = Field(
        description="What is asked: a text, or messages. A template if parameters are."
    )
    parameters: Listed[ParameterSpec] = Field(
        default=(), description="Values for {{.name}} in the input, and for the agents' prompts."
    )
    targets: Listed[TargetSpec] = Field(default=(), description="Who is asked (v0.1.31).")
    target: TargetSpec | None = Field(default=None, description="Who is asked (v0.1.50).")
    team: NameRef | None = Field(
        default=None, description="The team that is asked, as the page on round-robin writes it."
    )
    selector: LabelSelector | None = Field(
        default=None, description="Who is asked, by labels: agents, teams, models and tools."
    )
    timeout: str | None = Field(
        default=None, description=f"How long it may take, such as 30s; {DEFAULT_TIMEOUT} if not."
    )
    cancel: bool = Field(default=False, description="Whether it is canceled: then nothing runs.")
    session_id: str | None = Field(default=None, description="The session it belongs to.")
    conversation_id: str | None = Field(default=None, description="The conversation.")
    type: str | None = Field(default=None, description="`user` or `messages`; the input decides.")

    @property
    def all_targets(self) -> tuple[TargetSpec, ...]:
        """Those of `targets`, `target` and `team`; not those of the selector.

        What `targets` lists twice is asked twice; the other two may repeat it for other versions.
        """
        named = (TargetSpec(type="team", name=self.team.name),) if self.team else ()
        single = (self.target,) if self.target else ()
        others = dict.fromkeys((*single, *named))
        return (*self.targets, *(each for each in others if each not in self.targets))
