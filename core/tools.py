"""Tools of a generator: what is accepted."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from flowcompose.core.blocks import Block
from flowcompose.core.errors import DefinitionError
from flowcompose.core.functions import is_async
from flowcompose.core.graph_block import AnyGraph, HasGraph, is_graph

if TYPE_CHECKING:
    from flowcompose.core.terminate import terminate as terminate

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


def is_terminate(given: object) -> bool:
    """Say whether this is the tool `terminate`, which ends a team."""
    if not isinstance(given, BaseTool):
        return False
    from flowcompose.core.terminate import Terminate  # a millisecond, which only tools cost

    return isinstance(given, Terminate)


def __getattr__(name: str) -> object:
    """Load `terminate` when it is first asked for: making a tool takes a millisecond."""
    if name == "terminate":
        from flowcompose.core.terminate import terminate

        globals()[name] = terminate
        return terminate
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
