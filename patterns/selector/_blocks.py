"""The selector as a block of its own: a model that chooses, or a block of the user's."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel, create_model

from flowcompose.core.asking import Asking, adecide, ask_block, decide
from flowcompose.core.blocks import Block
from flowcompose.core.context import Context
from flowcompose.core.conversation import AskModel, Steps
from flowcompose.core.generator import Generator
from flowcompose.core.results import Stop
from flowcompose.core.structured import Unfit, asking_for, read_answer
from flowcompose.core.untyped import mapping_of
from flowcompose.patterns.selector._ruling import Ruling
from flowcompose.patterns.turn_loop import prompts
from flowcompose.patterns.turn_loop.schedule import Speak
from flowcompose.patterns.turn_loop.select import SELECTOR
from flowcompose.patterns.turn_loop.selection_input import SelectionInput

if TYPE_CHECKING:  # some 25 ms, which only those pay who make a model
    from langchain_core.language_models import BaseChatModel


class ModelSelector:
    """Asks a model for one of the legal names.

    Args:
        generator: Whose model, prompt and patience it has.
        ruling: How answers are read.
    """

    name = SELECTOR
    async_only = False

    def __init__(self, generator: Generator, ruling: Ruling) -> None:
        self.wrapped = generator
        self.ruling = ruling

    def run(self, value: SelectionInput, ctx: Context) -> Speak | Stop:
        """Choose on the sync path."""
        model = self.wrapped.model_for(ctx)
        decision: Speak | Stop = self.wrapped.conversation_in(ctx, model).run(
            self._steps(model, value, ctx)
        )
        return decision

    async def arun(self, value: SelectionInput, ctx: Context) -> Speak | Stop:
        """Choose on the async path."""
        model = self.wrapped.model_for(ctx)
        decision: Speak | Stop = await self.wrapped.conversation_in(ctx, model).arun(
            self._steps(model, value, ctx)
        )
        return decision

    def _steps(self, model: BaseChatModel, value: SelectionInput, ctx: Context) -> Steps:
        """Ask until the answer names somebody who may speak, as often as the rules say."""
        messages = self.wrapped.messages_for(value, ctx)
        schema = _choice_among(value.candidates, self.ruling.reader.stop_word)
        asking, structured = _asking(schema, model)
        said: str = ""
        for _ in range(self.ruling.attempts):
            answer = yield AskModel(asking, messages, structured=structured)
            said, refused = _said(answer, schema)
            decision = None if refused else self.ruling.accept(said, value.candidates)
            if decision is not None:
                return decision
            messages = [*messages, *_feedback(said, value)]
        return self.ruling.without_choice(said, value.candidates)


class BlockSelector:
    """Asks a block of the user's, which is given the feedback as a part of its input."""

    name = SELECTOR

    def __init__(self, block: Block, ruling: Ruling) -> None:
        self.wrapped = block
        self.ruling = ruling

    @property
    def async_only(self) -> bool:
        """Whether the block only works with `arun`."""
        return self.wrapped.async_only

    def run(self, value: SelectionInput, ctx: Context) -> Speak | Stop:
        """Choose on the sync path."""
        return decide(self._asking(value, ctx))

    async def arun(self, value: SelectionInput, ctx: Context) -> Speak | Stop:
        """Choose on the async path."""
        return await adecide(self._asking(value, ctx))

    def _asking(self, value: SelectionInput, ctx: Context) -> Asking[Speak | Stop]:
        value, answer = replace(value, stop_word=self.ruling.reader.stop_word), None
        for _ in range(self.ruling.attempts):
            spent = ctx.meter.tokens
            answer = yield ask_block(self.wrapped, value, ctx)
            if isinstance(answer, BaseMessage) and ctx.meter.tokens is spent:
                ctx.meter.add(answer)
            decision = self.ruling.accept(answer, value.candidates)
            if decision is not None:
                return decision
            value = replace(value, feedback=f"{str(answer)[:200]!r} names nobody who may speak.")
        return self.ruling.without_choice(answer, value.candidates)


@lru_cache(maxsize=256)
def _choice_among(candidates: tuple[str, ...], stop_word: str | None) -> type[BaseModel]:
    """Make the schema of an answer that can only be legal."""
    words = candidates if stop_word is None else (*candidates, stop_word)
    name: Any = Literal[words]
    return create_model("NextSpeaker", __doc__="Who speaks next.", name=(name, ...))


def _asking(schema: type[BaseModel], model: BaseChatModel) -> tuple[Runnable[Any, Any], bool]:
    """Bind the model to the schema, if it can be; else its words are read."""
    try:
        return asking_for(schema, model), True
    except RuntimeError:  # a kind of it is how langchain-core says that a model has none
        return model, False


def _said(answer: Any, schema: type[BaseModel]) -> tuple[str, bool]:
    """Give the name or the words of an answer, and whether the model refused to choose."""
    if isinstance(answer, Unfit):
        return answer.answer, False
    raw: Any = (mapping_of(answer) or {}).get("raw", answer)
    if isinstance(raw, AIMessage) and raw.additional_kwargs.get("refusal"):
        return str(raw.additional_kwargs["refusal"]), True
    if raw is answer:
        return str(raw.text), False
    named = {str(call["args"].get("name")) for call in getattr(raw, "tool_calls", ())}
    if len(named) > 1:
        return ", ".join(sorted(named)), False
    read = read_answer(answer, schema)
    return (
        (read.answer, False) if isinstance(read, Unfit) else (str(getattr(read, "name", "")), False)
    )


def _feedback(said: str, value: SelectionInput) -> list[BaseMessage]:
    names = ", ".join(value.candidates)
    quoted = repr(said[:200]) if said else "an empty answer"
    asked = prompts.NO_CHOICE.format(answer=quoted, names=names)
    return [*([AIMessage(said)] if said else []), HumanMessage(asked)]
