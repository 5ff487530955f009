"""From what a user writes as `model=` to a chat model.

A string names a provider's model (`"openai:gpt-4o"`), the built-in `"offline"` one, or an
intent (`"intent/chat"`), which is looked up when a run needs it: first in
`configure_models`, then in the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeGuard, Union

from flowcompose.core.definition import Problems
from flowcompose.core.errors import DefinitionError
from flowcompose.core.providers import build_model
from flowcompose.core.untyped import mapping_of

if TYPE_CHECKING:  # some 25 ms, which only those pay who make a model
    from langchain_core.language_models import BaseChatModel

ModelLike = Union[str, "BaseChatModel"]
"""What `model=` takes."""

CHAT = "intent/chat"
SYNTHESIZE = "intent/synthesize"
_PREFIX = "intent/"

_configured: dict[str, ModelLike] = {}


def configure_models(models: Mapping[str, ModelLike]) -> None:
    """Say, for the whole process, which model stands behind an intent.

    Choose it over `model=` to change the models of many patterns in one place, and over the
    environment to give a model object instead of a name. An intent that is not named here
    falls to `FLOWCOMPOSE_MODEL_<INTENT>`, then to what stands here for `"intent/chat"`, then
    to `FLOWCOMPOSE_MODEL` or `FLOWCOMPOSE_MODEL_CHAT`, then to `OPENAI_MODEL` if
    `OPENAI_API_KEY` is set.

    Args:
        models: From intent (`"intent/chat"` or just `"chat"`) to a chat model, or to a string
            that names one. It replaces what was configured before; an empty mapping clears it.

    Raises:
        DefinitionError: A key is no name, or a value is neither a string nor a chat model.

    Example:
        ```python
        from flowcompose import configure_models

        configure_models({"intent/chat": "offline"})
        ```
    """
    problems = Problems("configure_models")
    problems.check(mapping_of(models) is not None, f"models must be a mapping, got {models!r}")
    problems.raise_if_any()
    for intent, model in models.items():
        problems.check(
            isinstance(intent, str) and bool(intent.removeprefix(_PREFIX).strip()),  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            f"an intent is a name such as 'intent/chat', got {intent!r}",
        )
        problems.extend(f"{intent!r}: {problem}" for problem in problems_of_model(model))
        problems.check(
            not _is_intent(model),
            f"{intent!r} must name a model, not another intent, got {model!r}",
        )
    problems.raise_if_any()
    named = {_PREFIX + intent.removeprefix(_PREFIX): model for intent, model in models.items()}
    problems.check(len(named) == len(models), f"an intent is named twice in {list(models)!r}")
    problems.raise_if_any()
    _configured.clear()
    _configured.update(named)


def _is_intent(model: object) -> bool:
    return isinstance(model, str) and model.startswith(_PREFIX)


def is_chat_model(value: object) -> TypeGuard[BaseChatModel]:
    """Say whether `value` is a chat model object."""
    from langchain_core.language_models import BaseChatModel

    return isinstance(value, BaseChatModel)


def problems_of_model(model: object) -> list[str]:
    """Say what is wrong with a `model=`, as far as can be told before a run."""
    if (isinstance(model, str) and model.strip()) or is_chat_model(model):
        return []
    allowed = "a chat model object, 'provider:name', 'intent/name' or 'offline'"
    return [f"model must be {allowed}, got {model!r}"]


def resolve_model(model: ModelLike) -> BaseChatModel:
    """Give the chat model for `model`, made once per name and used again.

    Raises:
        DefinitionError: Nothing is configured for the intent, or the name cannot be read.
    """
    if not isinstance(model, str):
        return model
    if model.startswith(_PREFIX):
        return resolve_model(model_of_intent(model))
    return build_model(model)


def _of_environment(variable: str) -> str | None:
    model = os.environ.get(variable)
    if _is_intent(model):
        problem = f"{variable} must name a model, not an intent, got {model!r}"
        raise DefinitionError(f"model {model!r}", [problem])
    return model


def model_of_intent(intent: str) -> ModelLike:
    """Give what an intent stands for now: a chat model object or the name of one.

    Raises:
        DefinitionError: Nothing is configured for it.
    """
    named = re.sub(r"\W", "_", intent.removeprefix(_PREFIX)).upper()
    variable = f"FLOWCOMPOSE_MODEL_{named}"
    if found := _configured.get(intent) or _of_environment(variable):
        return found
    for default in ("FLOWCOMPOSE_MODEL", "FLOWCOMPOSE_MODEL_CHAT"):
        if found := _configured.get(CHAT) or _of_environment(default):
            return found
    if os.environ.get("OPENAI_API_KEY"):
        return "openai:" + (os.environ.get("OPENAI_MODEL") or "gpt-4o")
    raise DefinitionError(
        f"model {intent!r}",
        [
            "no model is configured; set OPENAI_API_KEY (and OPENAI_MODEL, OPENAI_BASE_URL if "
            f"needed), or {variable} or FLOWCOMPOSE_MODEL to a name such as 'openai:gpt-4o', or "
            f"call configure_models({{{intent!r}: ...}}), or pass model=...; model='offline' "
            "answers without a language model"
        ],
    )
