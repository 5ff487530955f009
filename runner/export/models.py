"""Model documents: which model, where it is reached, and a Secret for a key that is not written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from flowcompose.core.errors import DefinitionError
from flowcompose.core.models import ModelLike, model_of_intent
from flowcompose.runner.export.book import Book
from flowcompose.runner.export.texts import listed

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

STAND_IN = "gpt-4o"
"""Named where a model cannot be: documents are of no use without one."""

REPLACE_ME = "REPLACE_ME"

_OPENAI = "https://api.openai.com/v1"
_INTENT = "intent/"
_PROPERTIES = (
    "temperature",
    "max_tokens",
    "top_p",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "reasoning_effort",
)
_UNWRITTEN = (
    "model_kwargs",
    "extra_body",
    "default_headers",
    "default_query",
    "openai_organization",
    "openai_proxy",
    "reasoning",
    "logit_bias",
    "logprobs",
    "n",
    "stop",
    "verbosity",
    "service_tier",
    "use_responses_api",
)
"""Settings of a ChatOpenAI that change an answer, and for which a Model has no field."""


@dataclass(frozen=True)
class Wanted:
    """What a Model document says."""

    name: str
    base_url: str = _OPENAI
    properties: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Models:
    """The Model documents of one export."""

    book: Book
    _named: dict[str, str] = field(default_factory=dict[str, str], init=False)
    """By what they say. The first one is what agents take that name none."""

    def ref(self, where: str, model: ModelLike) -> dict[str, str]:
        """Give the reference to a model's document, which is written if need be."""
        wanted = self._wanted(where, model)
        key = repr(wanted)
        if key not in self._named:
            called = wanted.name if self._named else "default"
            self._named[key] = self.book.add("Model", called, self._content(wanted))
        return {"name": self._named[key]}

    def _content(self, wanted: Wanted) -> dict[str, Any]:
        secret = self._secret(wanted.base_url)
        config: dict[str, Any] = {
            "baseUrl": {"value": wanted.base_url},
            "apiKey": {"valueFrom": {"secretKeyRef": {"name": secret, "key": "token"}}},
        }
        if wanted.properties:
            config["properties"] = {k: {"value": v} for k, v in wanted.properties.items()}
        return {
            "provider": "openai",
            "model": {"value": wanted.name},
            "config": {"openai": config},
        }

    def _secret(self, base_url: str) -> str:
        """Each endpoint has a key of its own."""
        host = "openai" if base_url == _OPENAI else urlsplit(base_url).hostname
        name = self.book.add("Secret", f"{host}-token", {"token": REPLACE_ME})
        self.book.note(f"Secret {name!r}", "no key is written", f"put it in for {REPLACE_ME}")
        return name

    def _wanted(self, where: str, model: ModelLike) -> Wanted:
        if isinstance(model, str) and model.startswith(_INTENT):
            return self._of_intent(where, model)
        if isinstance(model, str):
            provider, _, name = model.partition(":")
            return Wanted(name) if provider == "openai" and name else self._other(where, model)
        from langchain_openai import ChatOpenAI

        if isinstance(model, ChatOpenAI):
            return self._of_object(where, model)
        named = getattr(model, "model_name", None) or getattr(model, "model", None)
        shown = f"{type(model).__name__}({named})" if isinstance(named, str) else type(model)
        return self._other(where, shown if isinstance(shown, str) else shown.__name__)

    def _of_intent(self, where: str, intent: str) -> Wanted:
        try:
            found = model_of_intent(intent)
        except DefinitionError:
            what = f"no model is configured for {intent!r}"
            self.book.note(where, what, f"{STAND_IN} is named")
            return Wanted(STAND_IN)
        return self._wanted(where, found)

    def _other(self, where: str, shown: str) -> Wanted:
        what = f"the model {shown!r} is not one of OpenAI's that a Model could name"
        self.book.lose(where, what, f"{STAND_IN} is named")
        return Wanted(STAND_IN)

    def _of_object(self, where: str, model: ChatOpenAI) -> Wanted:
        values = {name: getattr(model, name, None) for name in _PROPERTIES}
        properties = {name: str(each) for name, each in values.items() if each is not None}
        unwritten = [name for name in _UNWRITTEN if getattr(model, name, None)]
        if unwritten:
            what = f"a Model has no field for {listed(unwritten)} of ChatOpenAI"
            self.book.lose(where, what, "left out")
        url = self._plain(where, model.openai_api_base or _OPENAI)
        return Wanted(model.model_name, url, properties)

    def _plain(self, where: str, url: str) -> str:
        """A user, a password or a query in an address may be secrets."""
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        plain = urlunsplit((parts.scheme, host, parts.path, "", ""))
        if plain != url:
            self.book.lose(where, "the address of its model holds what may be a secret", "left out")
        return plain
