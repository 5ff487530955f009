"""Making a resource: checking what was written, and what its state begins as."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, RootModel, ValidationError

from flowcompose.core.definition import Problems
from flowcompose.core.explain import explain
from flowcompose.core.untyped import mapping_of, unchecked
from flowcompose.resources.resource import Resource, Scope
from flowcompose.resources.structured_data import from_json, to_json

ModelT = TypeVar("ModelT", bound=BaseModel)


def resource(
    name: str,
    schema: type[ModelT],
    *,
    scope: Scope = "session",
    default: ModelT | Mapping[str, Any] | Callable[[], ModelT | Mapping[str, Any]] | None = None,
) -> Resource[ModelT]:
    """Make a typed piece of state that blocks share.

    Choose it over `ctx.session` when blocks write, or when the state needs a schema; for what
    a step hands to the next one, return it instead.

    Args:
        name: Where the state is kept, and the key by which blocks ask for it.
        schema: A pydantic model: the state is an object of it, and each write must fit.
        scope: How long the state lives: for one `"run"`, for a `"session"` (a LangGraph
            thread, which needs a checkpointer and a `thread_id`), or with the `"user"`, in the
            store of the pattern or flow, for all runs with
            `config={"configurable": {"user_id": ...}}` of that user.
        default: The state before anything was written: an object of the schema, a mapping that
            fits it, or a function that gives one of these. None makes it of the schema's own
            defaults.

    Returns:
        The resource. A block that names it in `resources=[...]` reads it as
        `ctx.resources[it].state`, and writes with `.patch(field=...)` or `.set(state)`. A write
        takes effect with the step: if the block fails, what it wrote is gone, unless it was of
        scope `"user"` and saved by then.

    Raises:
        DefinitionError: An argument is not of its kind; all problems are listed.

    Example:
        ```python
        from pydantic import BaseModel

        from flowcompose import RosterEntry, handler, resource, round_robin

        class Score(BaseModel):
            points: int = 0

        score = resource("score", Score, scope="run")

        @handler(resources=[score])
        def play(turn, ctx):
            points = ctx.resources[score].state.points + 10
            ctx.resources[score].patch(points=points)
            return f"{points} points"

        game = round_robin(
            name="game",
            roster=[RosterEntry(name="ann", block=play), RosterEntry(name="bob", block=play)],
            max_rounds=1,
            synthesizer=False,
        )
        print(game.run("play").contributions[-1].text)
        #> 20 points
        ```
    """
    problems = Problems(f"resource {name!r}")
    _check_name(problems, name)
    problems.check(
        scope in get_args(Scope),
        f"scope must be one of {', '.join(map(repr, get_args(Scope)))}, got {scope!r}",
    )
    fits = problems.check(
        _is_schema(schema),
        f"schema must be a pydantic model class with fields, got {schema!r}",
    )
    initial = _initial(problems, schema, default) if fits else dict[str, Any]
    problems.raise_if_any()
    return Resource(name, schema, scope, initial)


def _check_name(problems: Problems, name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        problems.add(f"name must be a non-empty string, got {name!r}")
    elif name.startswith("__"):
        problems.add(f"name must not begin with '__', got {name!r}")


def _is_schema(schema: object) -> bool:
    if not isinstance(schema, type) or not issubclass(schema, BaseModel):
        return False
    return schema is not BaseModel and not issubclass(schema, RootModel)


def _initial(
    problems: Problems, schema: type[BaseModel], default: Any
) -> Callable[[], dict[str, Any]]:
    """Give what makes the first state as JSON, after one try that shows what is wrong with it."""
    make: Callable[[], Any] | None = None
    if callable(default) and not isinstance(default, BaseModel):
        make = unchecked(default)
    try:
        first = _as_json(schema, make() if make else default)
        from_json(schema, first)
    except ValidationError as error:
        problems.add(_unfit(schema, default, error))
    except Exception as error:  # of the user's function, or of validators
        problems.add(f"default must give {_allowed(schema)}, got {default!r}: {explain(error)}")
    else:
        # An object is written down now: the user may go on changing it.
        return (lambda: _as_json(schema, make())) if make else (lambda: first)
    return dict[str, Any]


def _as_json(schema: type[BaseModel], value: Any) -> dict[str, Any]:
    if inspect.iscoroutine(value):
        value.close()
    keys = {} if value is None else mapping_of(value)
    if keys is None and not isinstance(value, schema):
        msg = f"it is {value!r}"
        raise TypeError(msg)
    state = schema.model_validate(value if keys is None else keys, by_alias=True, by_name=True)
    json: dict[str, Any] = to_json(state)
    return json


def _unfit(schema: type[BaseModel], default: Any, error: ValidationError) -> str:
    lacking = [".".join(map(str, e["loc"])) for e in error.errors() if e["type"] == "missing"]
    if default is None and len(lacking) == len(error.errors()):
        fields = ", ".join(map(repr, lacking))
        return f"default is needed: {schema.__name__} has no default for {fields}, got None"
    return f"default must give {_allowed(schema)}, got {default!r}: {explain(error)}"


def _allowed(schema: type[BaseModel]) -> str:
    return f"an object of {schema.__name__} or a mapping that fits it"
