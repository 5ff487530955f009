"""Which model the demo asks: the one that the environment names, else the offline one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from flowcompose.core.models import CHAT, SYNTHESIZE, model_of_intent, resolve_model

_NAMED_BY = ("FLOWCOMPOSE_MODEL", "FLOWCOMPOSE_MODEL_CHAT", "FLOWCOMPOSE_MODEL_SYNTHESIZE")
_OFFLINE = (
    "offline, built in, which thinks nothing; for a real one set OPENAI_API_KEY "
    "(and OPENAI_MODEL, OPENAI_BASE_URL if needed)"
)


@dataclass(frozen=True)
class Choice:
    """A model, and how to speak of it."""

    model: str
    said: str


def chosen_model() -> Choice:
    """Choose by the environment.

    Raises:
        DefinitionError: The environment names a model that cannot be had.
    """
    if not any(map(os.environ.get, (*_NAMED_BY, "OPENAI_API_KEY"))):
        return Choice("offline", _OFFLINE)
    # Here and not in the first turn: a name that cannot be read is no failure of a run.
    resolve_model(CHAT)
    resolve_model(SYNTHESIZE)
    chat, review = _described(CHAT), _described(SYNTHESIZE)
    return Choice(CHAT, chat if chat == review else f"{chat}; for critiques and review: {review}")


def _described(intent: str) -> str:
    name = str(model_of_intent(intent))
    if name == "offline":
        return _OFFLINE
    base_url = os.environ.get("OPENAI_BASE_URL")
    return f"{name} at {_host(base_url)}" if base_url and name.startswith("openai:") else name


def _host(url: str) -> str:
    """The host and port only: the rest of an address may hold a password."""
    return urlsplit(url).netloc.rpartition("@")[2] or url
