"""An http Tool document as a tool: a request that a model may have made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.tools import BaseTool, ToolException
from pydantic import Field

from flowcompose.core.untyped import mapping_of
from flowcompose.runner.agents.header import is_framing, problem_of_header
from flowcompose.runner.agents.http_body import BodyTemplate
from flowcompose.runner.agents.http_call import HttpAnswer, HttpError, HttpRequest, fetch
from flowcompose.runner.agents.in_thread import in_thread
from flowcompose.runner.manifest.http_url import UrlTemplate
from flowcompose.runner.secrets import Redactor

WITH_BODY = ("POST", "PUT", "PATCH")
"""Methods whose requests have a body; upstream sends none with the others."""

_AGENT = (("User-Agent", "flowcompose"), ("Accept-Encoding", "identity"))


@dataclass(frozen=True)
class HttpCall:
    """What a document says of the request."""

    method: str
    url: UrlTemplate
    headers: tuple[tuple[str, str | None], ...] = field(default=(), repr=False)
    """With values, or None where a value is nowhere."""
    body: BodyTemplate | None = field(default=None, repr=False)
    timeout: float = 30
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arguments that the model need not give."""
    redactor: Redactor = field(default_factory=lambda: Redactor([]))

    def request(self, arguments: Mapping[str, Any]) -> HttpRequest:
        """Give the request for some arguments.

        Raises:
            ValueError: The arguments do not do, or a header.
        """
        given = {**self.defaults, **arguments}
        body = self.body if self.method in WITH_BODY else None
        return HttpRequest(
            method=self.method,
            url=self.url.filled(given),
            headers=self._headers(body),
            body=body.filled(given) if body else None,
            timeout=self.timeout,
        )

    def _headers(self, body: BodyTemplate | None) -> list[tuple[str, str]]:
        own = [(name, self._value(name, value)) for name, value in self.headers]
        kept = [(name, value) for name, value in own if not is_framing(name)]
        names = {name.lower() for name, _ in kept}
        added = [*_AGENT, *([("Content-Type", body.content_type)] if body else [])]
        return [*kept, *(each for each in added if each[0].lower() not in names)]

    def _value(self, name: str, value: str | None) -> str:
        # Files of secrets end with a line break, which no header may hold.
        text = (value or "").strip()
        problem = "has no value here" if value is None else problem_of_header(name, text)
        if problem:
            msg = f"the header {name!r} {problem}" if value is None else problem
            raise ValueError(msg)
        return text

    def shown(self, answer: HttpAnswer) -> str:
        """Give an answer as the model may read it: servers repeat what they were sent."""
        if not answer.cut:
            return self.redactor.clean(answer.text)
        # Where it is cut, the beginning of a secret may stand.
        return self.redactor.split(answer.text)[0] + "\n[the answer is longer]"


class HttpTool(BaseTool):
    """Makes the request of a document. An error that it raises holds no header."""

    args_schema: Any = None
    call: HttpCall = Field(repr=False, exclude=True)

    def _run(self, /, **arguments: Any) -> str:
        problem = ""
        try:
            request = self.call.request(arguments)
            return self.call.shown(in_thread(lambda: fetch(request)))
        except (HttpError, ValueError) as error:
            problem = str(error)
        raise self._failed(problem)

    async def _arun(self, /, **arguments: Any) -> str:
        problem = ""
        try:
            return self.call.shown(await fetch(self.call.request(arguments)))
        except (HttpError, ValueError) as error:
            problem = str(error)
        raise self._failed(problem)

    def _failed(self, problem: str) -> ToolException:
        """Give the error; it is raised where no other one is being handled, and so has no cause."""
        return ToolException(self.call.redactor.clean(f"{self.name}: {problem}"))


def arguments_schema(given: Mapping[str, Any] | None, names: list[str]) -> dict[str, Any]:
    """Give the JSON schema of a tool's arguments.

    Args:
        given: What the document declares.
        names: What the URL asks for, which counts where a document declares nothing.
    """
    if given is not None:
        # A field without a value is one that is not there.
        written = {name: each for name, each in given.items() if each is not None}
        return {"type": "object", "properties": {}, **written}
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names,
    }


def defaults_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Give the values that a schema has for arguments that are not given."""
    properties = mapping_of(schema.get("properties")) or {}
    declared = {str(name): mapping_of(each) or {} for name, each in properties.items()}
    return {name: each["default"] for name, each in declared.items() if "default" in each}
