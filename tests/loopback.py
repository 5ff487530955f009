"""A server on this machine that answers as a function of the request says.

    with Loopback(lambda request: Answer(200, b"hello")) as server:
        httpx.get(server.url)

`server.requests` holds what arrived.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    """What arrived."""

    method: str
    path: str
    """With the query, as it was sent."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What is answered."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    reason: str | None = None
    pieces: Sequence[bytes] | None = None
    """Sent one after the other in place of a body, with `pause` between them, without a length."""
    pause: float = 0
    hang: bool = False
    """Say nothing at all."""


class Loopback:
    """A server with its behaviour."""

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.closing = Event()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self.host = f"127.0.0.1:{self._http.server_port}"
        self.url = f"http://{self.host}"
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    owner: Loopback
    daemon_threads = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that goes away in the middle is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test output clean."""

    def do_GET(self) -> None:
        self._answer()

    do_POST = do_PUT = do_DELETE = do_PATCH = do_GET  # noqa: N815 - the base class calls them so

    def _answer(self) -> None:
        assert isinstance(self.server, _Server)
        owner = self.server.owner
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, body)
        owner.requests.append(request)
        answer = owner.answer(request)
        if answer.hang:
            owner.closing.wait(30)
            return
        with suppress(OSError):
            self._send(answer, owner)

    def _send(self, answer: Answer, owner: Loopback) -> None:
        self.send_response(answer.status, answer.reason)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.pieces is None:
            self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        for piece in [answer.body] if answer.pieces is None else answer.pieces:
            self.wfile.write(piece)
            self.wfile.flush()
            if answer.pause and owner.closing.wait(answer.pause):
                return
