"""One HTTP request of a tool, with limits on time, size, redirects and where they may lead."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from http import HTTPStatus
from ssl import SSLContext

import httpx

from flowcompose.runner.agents.http_answer import read_text
from flowcompose.runner.agents.inward import leads_inward

MAX_REDIRECTS = 5

_HARMLESS = ("accept", "accept-encoding", "accept-language", "content-type", "user-agent")
"""Headers that another server may see: any other one could hold a secret."""

Headers = Sequence[tuple[str, str]]


class HttpError(Exception):
    """Why there is no answer; the message holds nothing of the request but its server."""


@dataclass(frozen=True)
class HttpRequest:
    """What is to be sent."""

    method: str
    url: str = field(repr=False)
    headers: Headers = field(repr=False)
    body: str | None = field(repr=False)
    timeout: float
    """Seconds for all of it, redirects and the answer's text included."""


@dataclass(frozen=True)
class HttpAnswer:
    """What came back."""

    text: str
    cut: bool
    """Whether it was longer than is read."""


async def fetch(request: HttpRequest) -> HttpAnswer:
    """Send a request, and give the text of the answer.

    Raises:
        HttpError: There is none. It has no cause: what the HTTP library raises holds the
            request, and so its headers.
    """
    try:
        async with asyncio.timeout(request.timeout):
            return await _followed(request)
    except HttpError:
        raise
    except TimeoutError:
        problem = f"no answer within {request.timeout:g} s"
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        problem = _words(error, request)
    raise HttpError(problem)


def _words(error: Exception, request: HttpRequest) -> str:
    if isinstance(error, httpx.TimeoutException):
        return f"no answer within {request.timeout:g} s"
    if isinstance(error, httpx.ConnectError | httpx.ProxyError):
        return f"{httpx.URL(request.url).netloc.decode()} was not reached ({error})"
    return f"the exchange with the server failed ({type(error).__name__})"


async def _followed(request: HttpRequest) -> HttpAnswer:
    # A key in .netrc is not the document's; proxies of the environment are the user's wish.
    async with httpx.AsyncClient(
        verify=_verified(), follow_redirects=False, timeout=request.timeout
    ) as client:
        for _ in range(1 + MAX_REDIRECTS):
            answer = await _sent(client, request)
            if isinstance(answer, HttpAnswer):
                return answer
            request = answer
    msg = f"more than {MAX_REDIRECTS} redirects"
    raise HttpError(msg)


@lru_cache(maxsize=1)
def _verified() -> SSLContext:
    return httpx.create_ssl_context()  # 20 ms


async def _sent(client: httpx.AsyncClient, request: HttpRequest) -> HttpAnswer | HttpRequest:
    """Give the answer, or the request to which it redirects."""
    async with client.stream(
        request.method, request.url, headers=list(request.headers), content=request.body
    ) as response:
        if response.has_redirect_location:
            return await _redirected(request, response)
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            reason = response.reason_phrase or httpx.codes.get_reason_phrase(response.status_code)
            msg = f"HTTP error {response.status_code}: {reason}".rstrip(": ")
            raise HttpError(msg)
        return HttpAnswer(*await read_text(response))


async def _redirected(request: HttpRequest, response: httpx.Response) -> HttpRequest:
    here = httpx.URL(request.url)
    there = here.join(response.headers["location"])
    if there.scheme != here.scheme:
        msg = f"a redirect from {here.scheme} to {there.scheme or 'no scheme'} is not followed"
        raise HttpError(msg)
    if there.userinfo or not there.host:
        msg = "a redirect to a URL with credentials, or without a host, is not followed"
        raise HttpError(msg)
    keeps_method = response.status_code in (
        HTTPStatus.TEMPORARY_REDIRECT,
        HTTPStatus.PERMANENT_REDIRECT,
    )
    following = replace(request, url=str(there))
    if not keeps_method:
        following = replace(following, method="GET", body=None)
    return following if _origin(here) == _origin(there) else await _elsewhere(following, here)


async def _elsewhere(request: HttpRequest, here: httpx.URL) -> HttpRequest:
    """Take along to another server only what everybody may see."""
    there = httpx.URL(request.url)
    if request.body is not None:
        msg = f"a redirect to {there.netloc.decode()} would take the body there: not followed"
        raise HttpError(msg)
    if await leads_inward(here, there):
        msg = f"a redirect into this machine or its network ({there.host}) is not followed"
        raise HttpError(msg)
    return replace(request, headers=[each for each in request.headers if _is_harmless(each)])


def _is_harmless(header: tuple[str, str]) -> bool:
    return header[0].lower() in _HARMLESS


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    default = {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.host, url.port or default
