"""Tools of a generator: what is accepted, and how the calls of one answer are run."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel

from flowcompose.core.blocks import Block
from flowcompose.core.calling import called_by
from flowcompose.core.context import Context
from flowcompose.core.errors import DefinitionError
from flowcompose.core.functions import is_async
from flowcompose.core.graph_block import AnyGraph, HasGraph, is_graph
from flowcompose.core.stream import emit

ToolLike = BaseTool | Callable[..., Any] | Block | AnyGraph | HasGraph
"""A LangChain tool, a documented function to make one of, or a block of ours."""


def as_tool(given: ToolLike) -> BaseTool:
    """Give a LangChain tool for a tool, a documented function or a block.

    Raises:
        DefinitionError: It is a block without a description.
        TypeError: It is neither.
        ValueError: It is a function without a docstring: the model would not know its use.
    """
    if isinstance(given, BaseTool):
        return given
    if isinstance(given, (Block, HasGraph)) or is_graph(given):
        from flowcompose.core.block_tool import block_tool  # 5 ms, as the one below

        return block_tool(given)
    if callable(given) and not isinstance(given, type):
        from langchain_core.tools import tool

        return tool(_in_words(given) if inspect.isroutine(given) else given)
    msg = f"a tool is a LangChain tool or a function with a docstring, or a block, got {given!r}"
    raise TypeError(msg)


def _in_words(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a pydantic model that a function gives reach the model as JSON, not as its repr."""

    @functools.wraps(function)
    def words(*args: Any, **kwargs: Any) -> Any:
        return _json_of(function(*args, **kwargs))

    @functools.wraps(function)
    async def awords(*args: Any, **kwargs: Any) -> Any:
        return _json_of(await function(*args, **kwargs))

    return awords if is_async(function) else words


def _json_of(value: Any) -> Any:
    return value.model_dump_json(by_alias=True) if isinstance(value, BaseModel) else value


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Say whether `value` is a list or a tuple: a text is a sequence, but never what is meant."""
    return isinstance(value, (list, tuple))


def problems_of_tools(tools: object) -> list[str]:
    """Say what is wrong with `tools=`."""
    if not is_list(tools):
        return [f"tools must be a list, got {tools!r}"]
    problems: list[str] = []
    names: list[str] = []
    for given in tools:
        try:
            names.append(as_tool(given).name)
        except DefinitionError as error:
            problems += [f"tools: {error.subject}: {each}" for each in error.problems]
        except Exception as error:  # of a signature, anything may be wrong
            problems.append(f"tools: {given!r}: {error}")
    twice = sorted({name for name in names if names.count(name) > 1})
    return problems + [f"tools: duplicate tool name {name!r}" for name in twice]


class Toolbox:
    """The tools of one generator, by name."""

    def __init__(self, tools: Sequence[BaseTool]) -> None:
        self.tools = list(tools)
        self._by_name: Mapping[str, BaseTool] = {each.name: each for each in tools}

    @property
    def async_tools(self) -> tuple[str, ...]:
        """The names of those that only work on the async path."""
        return tuple(each.name for each in self.tools if _only_async(each))

    def call_all(self, answer: AIMessage, ctx: Context) -> list[ToolMessage]:
        """Run the calls of one answer, one after the other."""
        return [*(self._call(call, ctx) for call in answer.tool_calls), *_unreadable(answer)]

    async def acall_all(self, answer: AIMessage, ctx: Context) -> list[ToolMessage]:
        """Run the calls of one answer at the same time; the answers keep their order."""
        calls = [asyncio.create_task(self._acall(call, ctx)) for call in answer.tool_calls]
        try:
            return [*await asyncio.gather(*calls), *_unreadable(answer)]
        finally:  # an interrupt of one must not leave the others at work unheard
            for call in calls:
                call.cancel()

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
            answer = _failed(call, f"{type(error).__name__}: {error}")
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
            answer = _failed(call, f"{type(error).__name__}: {error}")
        return self._returned(call, answer, ctx)

    def _start(self, call: ToolCall, ctx: Context) -> BaseTool | None:
        emit("tool_called", ctx, tool=call["name"], args=call["args"])
        return self._by_name.get(call["name"])

    def _unknown(self, call: ToolCall) -> ToolMessage:
        return _failed(call, f"no tool {call['name']!r}; there is: {', '.join(self._by_name)}")

    def _returned(self, call: ToolCall, answer: Any, ctx: Context) -> ToolMessage:
        message = answer if isinstance(answer, ToolMessage) else _answered(call, answer)
        emit("tool_returned", ctx, tool=call["name"], text=message.text, status=message.status)
        return message


def _only_async(found: BaseTool) -> bool:
    function: Callable[..., Any] | None = getattr(found, "func", found.run)
    return function is None or is_async(function)


def _unreadable(answer: AIMessage) -> Iterator[ToolMessage]:
    """Answers to calls that are no JSON: providers want one for each call."""
    for call in answer.invalid_tool_calls:
        text = f"the arguments are not valid JSON: {call['args']}"
        wanted = ToolCall(name=call["name"] or "", args={}, id=call["id"])
        yield _failed(wanted, text)


def _failed(call: ToolCall, text: str) -> ToolMessage:
    """Tell the model, which may mend its call: a tool's failure does not end the turn."""
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"] or "", status="error")


def _tells_of_failure(answer: object) -> bool:
    """A LangChain tool may handle its error itself, and say so."""
    return isinstance(answer, ToolMessage) and answer.status == "error"


def _answered(call: ToolCall, answer: Any) -> ToolMessage:
    return ToolMessage(str(answer), name=call["name"], tool_call_id=call["id"] or "")
