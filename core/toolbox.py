"""How the tool calls of one answer are run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp

from flowcompose.core.calling import called_by
from flowcompose.core.context import Context
from flowcompose.core.functions import is_async
from flowcompose.core.stream import emit
from flowcompose.core.tools import is_terminate


class Called(NamedTuple):
    """What came of the tool calls of one answer."""

    answers: list[ToolMessage]
    response: str | None = None
    """The model's last word, if one of the calls was to end its team."""


class _Calls(NamedTuple):
    """The calls of one answer, as they are to be treated."""

    first: Sequence[ToolCall]
    ending: ToolCall | None = None
    """Ends the exchange once the first ones are done."""
    response: str = ""
    """What it ends with."""
    not_run: Sequence[ToolCall] = ()


def _all_of(told: Any) -> Any:
    return told


class Toolbox:
    """The tools of one generator, by name.

    Args:
        tools: What can be called.
        shown: Gives what events may tell of names, arguments and answers; by default all of it.
    """

    def __init__(self, tools: Sequence[BaseTool], shown: Callable[[Any], Any] = _all_of) -> None:
        self.tools = list(tools)
        self._shown = shown
        self._by_name: Mapping[str, BaseTool] = {each.name: each for each in tools}
        self._ending = frozenset(each.name for each in tools if is_terminate(each))

    @property
    def async_tools(self) -> tuple[str, ...]:
        """The names of those that only work on the async path."""
        return tuple(each.name for each in self.tools if _only_async(each))

    def call_all(self, answer: AIMessage, ctx: Context) -> Called:
        """Run the calls of one answer, one after the other."""
        calls = self._split(answer)
        answers = [self._call(call, ctx) for call in calls.first]
        if calls.ending is None:
            return Called([*answers, *unreadable(answer)])
        return self._ended(calls, [*answers, self._call(calls.ending, ctx)], ctx)

    async def acall_all(self, answer: AIMessage, ctx: Context) -> Called:
        """Run the calls of one answer at the same time; the answers keep their order."""
        calls = self._split(answer)
        tasks = [asyncio.create_task(self._acall(call, ctx)) for call in calls.first]
        try:
            answers = await asyncio.gather(*tasks)
        finally:  # an interrupt of one must not leave the others at work unheard
            for task in tasks:
                task.cancel()
        if calls.ending is None:
            return Called([*answers, *unreadable(answer)])
        return self._ended(calls, [*answers, await self._acall(calls.ending, ctx)], ctx)

    def _split(self, answer: AIMessage) -> _Calls:
        """Find the first call that is to end the team: what comes after it is not run."""
        calls = answer.tool_calls
        at = next((at for at, call in enumerate(calls) if call["name"] in self._ending), None)
        if at is None:
            return _Calls(calls)
        ending = with_response(calls[at], answer)
        return _Calls(calls[:at], ending, ending["args"]["response"], calls[at + 1 :])

    def _ended(self, calls: _Calls, answers: list[ToolMessage], ctx: Context) -> Called:
        """End the member's team; the calls that are left are answered too, each its own."""
        ctx.acts.end(calls.response)
        refused = [self._refuse(call, ctx) for call in calls.not_run]
        return Called([*answers, *refused], calls.response)

    def _refuse(self, call: ToolCall, ctx: Context) -> ToolMessage:
        self._tell_of(call, ctx)
        return self._returned(call, failed(call, "not run: the team has ended"), ctx)

    def _call(self, call: ToolCall, ctx: Context) -> ToolMessage:
        found = self._start(call, ctx)
        try:
            if found is None:
                answer = self._unknown(call)
            else:
                with ctx.ledger.part() as part:
                    answer = found.invoke({**call, "type": "tool_call"}, called_by(ctx))
                    part.failed = _tells_of_failure(answer)
        except GraphBubbleUp:
            raise
        except Exception as error:
            answer = failed(call, self._words_of(error, call))
        return self._returned(call, answer, ctx)

    async def _acall(self, call: ToolCall, ctx: Context) -> ToolMessage:
        found = self._start(call, ctx)
        try:
            if found is None:
                answer = self._unknown(call)
            else:
                with ctx.ledger.part() as part:
                    answer = await found.ainvoke({**call, "type": "tool_call"}, called_by(ctx))
                    part.failed = _tells_of_failure(answer)
        except GraphBubbleUp:
            raise
        except Exception as error:
            answer = failed(call, self._words_of(error, call))
        return self._returned(call, answer, ctx)

    def _start(self, call: ToolCall, ctx: Context) -> BaseTool | None:
        self._tell_of(call, ctx)
        found = self._by_name.get(call["name"])
        if found is not None:
            ctx.acts.tools.append(found.name)
        return found

    def _tell_of(self, call: ToolCall, ctx: Context) -> None:
        tool, args = self._shown([call["name"], call["args"]])
        emit("tool_called", ctx, tool=tool, args=args)

    def _words_of(self, error: Exception, call: ToolCall) -> str:
        """Say what went wrong in a call, as the model is told."""
        return f"{type(error).__name__}: {error}"

    def _unknown(self, call: ToolCall) -> ToolMessage:
        return failed(call, f"no tool {call['name']!r}; there is: {', '.join(self._by_name)}")

    def _returned(self, call: ToolCall, answer: Any, ctx: Context) -> ToolMessage:
        message = answer if isinstance(answer, ToolMessage) else _answered(call, answer)
        tool, text = self._shown([call["name"], str(message.text)])
        emit("tool_returned", ctx, tool=tool, text=text, status=message.status)
        return message


def _only_async(found: BaseTool) -> bool:
    function: Callable[..., Any] | None = getattr(found, "func", found.run)
    return function is None or is_async(function)


def with_response(call: ToolCall, answer: AIMessage) -> ToolCall:
    """Give a call that ends a team with the response that is meant, whatever a model wrote."""
    from flowcompose.core.terminate import response_of

    return ToolCall({**call, "args": {"response": response_of(call["args"], str(answer.text))}})


def unreadable(answer: AIMessage) -> Iterator[ToolMessage]:
    """Answers to calls that are no JSON: providers want one for each call."""
    for call in answer.invalid_tool_calls:
        text = f"the arguments are no JSON object: {call['args']}"
        wanted = ToolCall(name=call["name"] or "", args={}, id=call["id"])
        yield failed(wanted, text)


def failed(call: ToolCall, text: str) -> ToolMessage:
    """Give the answer of a call that failed, of which the model may make what it can."""
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"] or "", status="error")


def _tells_of_failure(answer: object) -> bool:
    """A LangChain tool may handle its error itself, and say so."""
    return isinstance(answer, ToolMessage) and answer.status == "error"


def _answered(call: ToolCall, answer: Any) -> ToolMessage:
    return ToolMessage(str(answer), name=call["name"], tool_call_id=call["id"] or "")
