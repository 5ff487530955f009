"""Which model answers for an agent: the command line, the documents, the environment.

A document's key and headers go to the document's own server only, and what the environment
holds to no server that a document names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flowcompose.core.errors import DefinitionError
from flowcompose.runner.agents.declared import Declared, declared_for
from flowcompose.runner.agents.header import problem_of_header
from flowcompose.runner.agents.place import AZURE_VERSION, NO_KEY, Place, options_text
from flowcompose.runner.agents.properties import options_of
from flowcompose.runner.manifest.base_url import problem_of_url

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from flowcompose.runner.manifest import Document, Manifest
    from flowcompose.runner.secrets import Redactor

_DEFAULT_MODEL = "gpt-4o"
_OPENAI = "https://api.openai.com/v1"
_OFFLINE = "offline"


@dataclass(frozen=True)
class Endpoint:
    """What the command line says of models: each overrides every Model document."""

    base_url: str | None = None
    """A server that speaks OpenAI's API; it answers for all models."""
    model: str | None = None
    """The name of the model there; `offline` without a server answers from no model at all."""
    api_key: str | None = field(default=None, repr=False)


def model_for(
    manifest: Manifest,
    agent: Document | None,
    endpoint: Endpoint,
    ref: str | None,
    redactor: Redactor | None = None,
) -> BaseChatModel:
    """Give the chat model that answers.

    The server is that of `endpoint`, else the Model document's; where that cannot be asked
    (it is missing, or full of placeholders), OpenAI's own if `endpoint` names a model or a
    key. The environment's OPENAI_API_KEY is used where a server is not a document's.

    Args:
        manifest: The documents.
        agent: Who asks; None if nobody in particular does.
        endpoint: What the command line says.
        ref: The name of a Model document; None for that of the agent, which is `default` if
            it names none.
        redactor: Knows what it must not repeat, besides its own keys in errors.

    Raises:
        DefinitionError: There is none; it says what to give.
    """
    if endpoint.base_url is None and endpoint.model == _OFFLINE:
        from flowcompose.core.offline import OfflineModel

        return OfflineModel()
    choice = _Choice(declared_for(manifest, agent, ref), endpoint, agent.name if agent else None)
    chat = choice.place().chat()
    return chat if redactor is None else chat.keeping(redactor)


@dataclass(frozen=True)
class _Choice:
    declared: Declared
    endpoint: Endpoint
    agent: str | None

    def place(self) -> Place:
        """Decide where the model is.

        Raises:
            DefinitionError: Nowhere.
        """
        if self.endpoint.base_url is not None:
            return self._of_command_line(self.endpoint.base_url)
        if not (missing := self._missing()):
            return self._of_document()
        if self.endpoint.model or self.endpoint.api_key:
            return self._openai()
        raise self._error([*missing, _ADVICE])

    def _of_command_line(self, base_url: str) -> Place:
        if problem := problem_of_url(base_url):
            raise DefinitionError("the model", [f"--base-url: {problem}"])
        key = self.endpoint.api_key or os.environ.get("OPENAI_API_KEY") or NO_KEY
        model = self.endpoint.model or self.declared.model or _DEFAULT_MODEL
        return self._place(base_url, model, key)

    def _openai(self) -> Place:
        key = self.endpoint.api_key or os.environ.get("OPENAI_API_KEY")
        if not key:
            lacking = "OPENAI_API_KEY is not set: give --api-key, or --base-url for another server"
            raise self._error([lacking])
        base_url = os.environ.get("OPENAI_BASE_URL") or _OPENAI
        if problem := problem_of_url(base_url):
            raise DefinitionError("the model", [f"OPENAI_BASE_URL: {problem}"])
        of_document = self.declared.model if self.declared.is_openai_like else None
        return self._place(base_url, self.endpoint.model or of_document or _DEFAULT_MODEL, key)

    def _place(self, base_url: str, model: str, key: str) -> Place:
        """Give a place that is the user's: nothing secret of a document goes there."""
        only_known = not self.declared.is_openai_like
        options = options_of(self.declared.public_properties, only_known=only_known)
        return Place(base_url, model, self._checked(key), options_text(options))

    def _of_document(self) -> Place:
        found = self.declared
        azure = found.provider == "azure"
        return Place(
            base_url=(found.base_url or "").rstrip("/"),
            model=self.endpoint.model or found.model or _DEFAULT_MODEL,
            key=self._checked(self.endpoint.api_key or found.key or ""),
            options=options_text(options_of(found.properties)),
            headers=found.headers,
            azure_version=(found.version or AZURE_VERSION) if azure else None,
            of_document=True,
        )

    def _missing(self) -> list[str]:
        """Say what is lacking for the document's own server to be asked."""
        missing, found = list(self.declared.missing), self.declared
        if missing:
            return missing
        if not (self.endpoint.model or found.model):
            missing.append(f"Model {found.name!r}: model: it has no value here")
        if not (self.endpoint.api_key or found.key):
            missing.append(f"Model {found.name!r}: apiKey: it has no value here")
        return missing

    def _checked(self, key: str) -> str:
        if problem_of_header("Authorization", key.strip()):
            raise self._error(["the key holds line breaks or other than ASCII characters"])
        return key.strip()

    def _error(self, problems: list[str]) -> DefinitionError:
        who = f"agent {self.agent!r}" if self.agent else f"Model {self.declared.name!r}"
        return DefinitionError(f"the model of {who}", problems)


_ADVICE = (
    "give --base-url URL for a server that speaks OpenAI's API, or --model NAME or --api-key KEY "
    "for OpenAI's own, or --model offline for none at all"
)
