"""What an http Tool document says of its request, read for the tool that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from flowcompose.runner.agents.http_body import BodyTemplate, body_type
from flowcompose.runner.agents.http_tool import HttpCall, arguments_schema, defaults_of
from flowcompose.runner.manifest.durations import seconds_of_tool
from flowcompose.runner.manifest.http_url import UrlTemplate
from flowcompose.runner.manifest.kinds.tool import METHODS, HttpSpec
from flowcompose.runner.secrets import Redactor

if TYPE_CHECKING:
    from flowcompose.runner.manifest import Manifest


def http_call(
    manifest: Manifest,
    namespace: str,
    http: HttpSpec,
    declared: Mapping[str, Any] | None,
    parameters: Mapping[str, str],
) -> tuple[HttpCall, dict[str, Any]]:
    """Give the request that a document describes, and the JSON schema of its arguments.

    Args:
        manifest: The documents.
        namespace: That of the Tool document.
        http: The request in it.
        declared: The schema in it, if there is one.
        parameters: Those of the query.

    Raises:
        ValueError: The request cannot be made.
    """
    url = _url(http)
    timeout = seconds_of_tool(http.timeout)
    if http.method not in METHODS:
        msg = f"the method must be one of {', '.join(METHODS)}"
        raise ValueError(msg)
    schema = arguments_schema(declared, url.names)
    value = partial(manifest.value, parameters=parameters, namespace=namespace)
    headers = tuple((each.name, value(each.value)) for each in http.headers)
    call = HttpCall(
        method=http.method,
        url=url,
        headers=headers,
        body=_body(manifest, namespace, http, dict(headers), parameters),
        timeout=timeout,
        defaults=defaults_of(schema),
        redactor=_redactor(manifest.secrets),
    )
    return call, schema


@lru_cache(maxsize=8)
def _redactor(secrets: frozenset[str]) -> Redactor:
    return Redactor(secrets)


def _url(http: HttpSpec) -> UrlTemplate:
    try:
        return UrlTemplate(http.url)
    except ValueError as error:
        msg = f"its URL: {error}"
        raise ValueError(msg) from None


def _body(
    manifest: Manifest,
    namespace: str,
    http: HttpSpec,
    headers: Mapping[str, str | None],
    given: Mapping[str, str],
) -> BodyTemplate | None:
    if not http.body:
        return None
    declared = {name.lower(): value for name, value in headers.items()}.get("content-type")
    parameters = manifest.parameters_of(http.body_parameters, given, namespace)
    lacks = manifest.lacks_of(http.body_parameters, given, namespace)
    return BodyTemplate(http.body, body_type(http.body, declared), parameters, lacks)
