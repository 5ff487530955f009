"""Driving a generator's exchange with its model, on either path.

The exchange itself is written once, in `core/exchange.py`, as steps that ask for something
and are sent the answer. Here the asking is done: sync or async, with retries, counted.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import ValidationError
from tenacity import RetryCallState

from flowcompose.core.context import Context
from flowcompose.core.retry import Retry, aretrying, retrying
from flowcompose.core.stream import emit
from flowcompose.core.structured import Unfit, salvage
from flowcompose.core.toolbox import Toolbox


@dataclass(frozen=True)
class AskModel:
    """Ask for one answer. `structured` answers are mappings with the `raw` message in them."""

    model: Runnable[Any, Any]
    messages: Sequence[BaseMessage]
    structured: bool = False


@dataclass(frozen=True)
class UseTools:
    """Run the tool calls of an answer."""

    toolbox: Toolbox
    answer: AIMessage


Steps = Generator[AskModel | UseTools, Any, Any]


def _whole(answer: Any) -> Any:
    """Give an answer without halves of characters, which no request and no checkpoint can hold."""
    text = answer.content if isinstance(answer, AIMessage) else None
    if not isinstance(text, str) or text.isascii():
        return answer
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return answer if whole == text else answer.model_copy(update={"content": whole})


@dataclass(frozen=True)
class Conversation:
    """One call of a generator: where it happens, and how patient it is."""

    ctx: Context
    config: RunnableConfig
    retry: Retry

    def run(self, steps: Steps) -> Any:
        """Go through the steps on the sync path."""
        answer: Any = None
        while True:
            try:
                wanted = steps.send(answer)
            except StopIteration as done:
                return done.value
            answer = self._answer(wanted)

    async def arun(self, steps: Steps) -> Any:
        """Go through the steps on the async path."""
        answer: Any = None
        while True:
            try:
                wanted = steps.send(answer)
            except StopIteration as done:
                return done.value
            answer = await self._aanswer(wanted)

    def _answer(self, wanted: AskModel | UseTools) -> Any:
        if self.ctx.abandoned:
            msg = "the turn was given up"
            raise TimeoutError(msg)
        if isinstance(wanted, UseTools):
            return wanted.toolbox.call_all(wanted.answer, self.ctx)
        try:
            for attempt in retrying(self.retry, self._notice, lambda: self.ctx.abandoned):
                with attempt:
                    return self._counted(wanted.model.invoke(wanted.messages, self.config))
        except Exception as error:
            return self._unfit_or_raise(wanted, error)

    async def _aanswer(self, wanted: AskModel | UseTools) -> Any:
        if isinstance(wanted, UseTools):
            return await wanted.toolbox.acall_all(wanted.answer, self.ctx)
        try:
            async for attempt in aretrying(self.retry, self._notice):
                with attempt:
                    return self._counted(await wanted.model.ainvoke(wanted.messages, self.config))
        except Exception as error:
            return self._unfit_or_raise(wanted, error)

    def _counted(self, answer: Any) -> Any:
        message: Any = answer["raw"] if isinstance(answer, dict) else answer  # pyright: ignore[reportUnknownVariableType] - the engine's Any
        if isinstance(message, AIMessage):
            self.ctx.meter.add(message)
        return _whole(answer) if answer is message else answer  # pyright: ignore[reportUnknownVariableType] - the engine's Any

    def _notice(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        wait = state.next_action.sleep if state.next_action else 0.0
        emit("turn_retried", self.ctx, reason=f"{type(error).__name__}: {error}", wait=wait)

    def _unfit_or_raise(self, wanted: AskModel, error: Exception) -> Any:
        """Take a structured answer that could not be read as one to ask again; raise all else."""
        if wanted.structured and (held_back := salvage(error)) is not None:
            return self._counted({"raw": held_back})
        unread = (ValidationError, OutputParserException, RecursionError)
        if wanted.structured and isinstance(error, unread):
            return Unfit(str(error), "")
        raise error
