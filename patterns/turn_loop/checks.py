"""What may be wrong with the arguments of a pattern."""

from __future__ import annotations

import inspect
from typing import Any, get_args

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from flowcompose.core.blocks import Block, BlockLike, as_block
from flowcompose.core.condition import Condition
from flowcompose.core.definition import Problems
from flowcompose.core.generator_checks import problems_of_generator
from flowcompose.core.models import problems_of_model
from flowcompose.core.prompt import problems_of_text
from flowcompose.core.retry import Retry
from flowcompose.core.untyped import unchecked
from flowcompose.patterns.turn_loop.options import Written
from flowcompose.patterns.turn_loop.policies import OnError, OnLimit, Visibility
from flowcompose.patterns.turn_loop.state import RESERVED_KEYS
from flowcompose.resources.resource import ContributionsState, Resource


def check_shared(problems: Problems, written: Written) -> None:
    """Note what is wrong with the shared arguments."""
    problems.extend(problems_of_text("instructions", written.instructions))
    problems.extend(problems_of_model(written.model))
    problems.extend(
        problems_of_generator(
            None,
            written.context,
            None,
            written.output_schema,
            written.tools,
            written.uses,
        )
    )
    problems.check(
        not (written.synthesizer is False and written.output_schema is not None),
        f"cannot set output_schema when synthesizer is False, got {written.output_schema!r}",
    )
    if written.terminate_when is not None:
        check_predicate(problems, "terminate_when", written.terminate_when)
    _check_choices(problems, written)
    _check_kinds(problems, written)
    _check_timeout(problems, written.turn_timeout)
    _check_key(problems, written.accessor_key)
    _check_contributions(problems, written.contributions)


def check_cap(problems: Problems, argument: str, cap: object) -> None:
    """A cap is a whole number above 0."""
    whole = isinstance(cap, int) and not isinstance(cap, bool)
    problems.check(
        whole and isinstance(cap, int) and cap > 0,
        f"{argument} must be > 0 and a whole number, got {cap!r}",
    )


def check_choice(problems: Problems, argument: str, allowed: Any, value: object) -> None:
    """One of the words of a Literal."""
    words = get_args(allowed)
    problems.check(
        value in words,
        f"{argument} must be one of {', '.join(map(repr, words))}, got {value!r}",
    )


def check_predicate(problems: Problems, argument: str, predicate: object) -> None:
    """A condition, or a function that can be called with the context."""
    if not isinstance(predicate, Condition):
        check_function(problems, argument, predicate, "a condition or a function (ctx) -> bool")


def check_function(problems: Problems, argument: str, function: object, allowed: str) -> None:
    """A function that can be called with the context; `allowed` says what it is to give."""
    if not callable(function) or isinstance(function, type):
        problems.add(f"{argument} must be {allowed}, got {function!r}")
        return
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        problems.add(f"{argument} must be {allowed}, got {function!r}, which takes other arguments")
    except ValueError:
        return  # a built-in without a signature: it shows when it is called


def read_block(problems: Problems, argument: str, block: BlockLike | None) -> Block | None:
    """Give the block of an argument that takes one, noting why it is none."""
    if block is None:
        return None
    try:
        return as_block(block)
    except TypeError as error:
        problems.add(f"{argument}: {error}")
        return None


def _check_choices(problems: Problems, written: Written) -> None:
    check_choice(problems, "on_error", OnError, written.on_error)
    check_choice(problems, "on_limit", OnLimit, written.on_limit)


def _check_kinds(problems: Problems, written: Written) -> None:
    kinds: dict[str, tuple[type, str]] = {
        "synthesizer_visibility": (Visibility, "a Visibility(client=..., history=...)"),
        "retry": (Retry, "a Retry(...) or None"),
        "collection_id": (str, "a string or None"),
        "checkpointer": (BaseCheckpointSaver, "a LangGraph checkpointer or None"),
        "store": (BaseStore, "a LangGraph store or None"),
    }
    name = unchecked(written.name)
    problems.check(
        isinstance(name, str) and bool(name.strip()),
        f"name must be a non-empty string, got {name!r}",
    )
    problems.check(
        written.synthesizer_visibility is not unchecked(None),
        "synthesizer_visibility must be a Visibility(client=..., history=...), got None",
    )
    for argument, (kind, allowed) in kinds.items():
        value: object = getattr(written, argument)
        problems.check(
            value is None or isinstance(value, kind), f"{argument} must be {allowed}, got {value!r}"
        )


def _check_timeout(problems: Problems, seconds: object) -> None:
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and seconds > 0
    problems.check(
        seconds is None or number, f"turn_timeout must be seconds > 0 or None, got {seconds!r}"
    )


def _check_key(problems: Problems, key: object) -> None:
    if not isinstance(key, str) or not key.strip():
        problems.add(f"accessor_key must be a non-empty string, got {key!r}")
    elif key.startswith("__") or ":" in key:
        problems.add(f"accessor_key must not begin with '__' or hold ':', got {key!r}")
    elif key in RESERVED_KEYS:
        problems.add(f"accessor_key must be none of the pattern's own keys, got {key!r}")


def _check_contributions(problems: Problems, resource: object) -> None:
    problems.check(
        resource is None
        or (isinstance(resource, Resource) and resource.schema is ContributionsState),  # pyright: ignore[reportUnknownMemberType] - any resource
        "contributions must be made by create_round_robin_contributions(), or None, "
        f"got {resource!r}",
    )
