"""A plain function as a named block, which says what resources it uses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from langchain_core.tools import BaseTool

from flowcompose.core.blocks import FunctionBlock
from flowcompose.core.definition import Problems
from flowcompose.core.functions import describe, takes_context
from flowcompose.core.resource_use import (
    ResourceMap,
    ResourcesLike,
    problems_of_resources,
    read_resources,
)
from flowcompose.core.untyped import unchecked

ParamsT = ParamSpec("ParamsT")
ReturnT = TypeVar("ReturnT")


class Handler(FunctionBlock, Generic[ParamsT, ReturnT]):
    """A function as a block. Made by `handler`; called, it is the function."""

    def __init__(
        self, function: Callable[ParamsT, ReturnT], name: str | None, resources: ResourceMap
    ) -> None:
        super().__init__(function, name)
        self.resources = resources
        self.__doc__ = function.__doc__
        self.__name__ = self.name
        self.__wrapped__ = function

    def __call__(self, *args: ParamsT.args, **kwargs: ParamsT.kwargs) -> ReturnT:
        """Call the function itself, outside any run."""
        return self.__wrapped__(*args, **kwargs)

    def as_tool(self, *, name: str | None = None, description: str | None = None) -> BaseTool:
        """Give a LangChain tool that runs the function.

        The model gives one text, `input`; or, where the first parameter is annotated with a
        pydantic model of its module, the fields of that model.

        Args:
            name: What the model calls it by; by default the handler's name as a slug.
            description: What the model goes by; by default the docstring.

        Raises:
            DefinitionError: There is neither a description nor a docstring.
        """
        from flowcompose.core.block_tool import block_tool

        return block_tool(self, name, description)


@overload
def handler(
    function: Callable[ParamsT, ReturnT],
    /,
    *,
    name: str | None = None,
    resources: ResourcesLike = (),
) -> Handler[ParamsT, ReturnT]: ...
@overload
def handler(
    *, name: str | None = None, resources: ResourcesLike = ()
) -> Callable[[Callable[ParamsT, ReturnT]], Handler[ParamsT, ReturnT]]: ...
def handler(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    resources: ResourcesLike = (),
) -> Any:
    """Make a function into a block with a name and resources of its own.

    A plain function is a block as it stands. Choose `handler` when it uses resources, when it
    needs another name than its own, or when it is to be a tool.

    Args:
        function: Takes the value, and the `Context` if it has a second parameter; sync or
            async. Left out, `handler` is a decorator.
        name: Shown in errors and as the step's name; by default the function's own.
        resources: What it uses: a list of resources, or a mapping of the key for
            `ctx.resources` to the resource.

    Returns:
        The block. Called, it is still the function.

    Raises:
        DefinitionError: It is no function of one or two arguments, or an argument is not of its
            kind; all problems are listed.

    Example:
        ```python
        from flowcompose import handler

        @handler(name="word-count")
        def count(text: str) -> int:
            return len(text.split())

        print(count.name, count("a b c"))
        #> word-count 3
        ```
    """

    def decorate(given: Callable[..., Any]) -> Handler[..., Any]:
        return _handler(given, name, resources)

    return decorate if function is None else decorate(function)


def _handler(
    function: Callable[..., Any], name: str | None, resources: object
) -> Handler[..., Any]:
    given, named = unchecked(function), unchecked(name)
    inner = given.function if isinstance(given, FunctionBlock) else given
    plain = callable(inner) and not isinstance(inner, type)
    problems = Problems(f"handler {named or (describe(inner) if plain else repr(given))!r}")
    problems.extend(
        _problems_of_function(inner) if plain else [f"must be a function, got {given!r}"]
    )
    problems.check(
        named is None or (isinstance(named, str) and bool(named.strip())),
        f"name must be a non-empty string or None, got {named!r}",
    )
    problems.extend(problems_of_resources(resources))
    problems.raise_if_any()
    return Handler(inner, name, read_resources(resources))


def _problems_of_function(function: Callable[..., Any]) -> list[str]:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return [f"{describe(function)} is a generator function; give the whole with return"]
    try:
        takes_context(function)
    except TypeError as error:
        return [str(error)]
    return []
