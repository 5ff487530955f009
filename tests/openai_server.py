"""An OpenAI-compatible server on this machine, so that the real client can be tested.

    with OpenAIServer(["Hello.", HttpError(429, "slow down")]) as server:
        model = ChatOpenAI(model="gpt-4o", base_url=server.base_url, api_key="x")

It speaks `POST /v1/chat/completions`: plain and streamed, text, tool calls and JSON answers.
`server.requests` holds the bodies that arrived.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, Self

from tests.openai_wire import (
    Answer,
    Dropped,
    Hang,
    HttpError,
    Refusal,
    Replies,
    Reply,
    ToolCalls,
    Truncated,
    completion,
    error,
    events,
)

__all__ = [
    "Dropped",
    "Hang",
    "HttpError",
    "OpenAIServer",
    "Refusal",
    "Replies",
    "Reply",
    "ToolCalls",
    "Truncated",
]


class OpenAIServer:
    """A server with its replies: a list, consumed in order, or a function of the request.

    One that does not stream gives whole answers to whoever asks for a stream, as some do.
    """

    def __init__(self, replies: Replies, *, streams: bool = True) -> None:
        self._replies = replies
        self.streams = streams
        self._lock = Lock()
        self._requests: list[dict[str, Any]] = []
        self._http = _HttpServer(("127.0.0.1", 0), _Handler)
        self._http.api = self
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,))
        self.closing = Event()
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.drop_connections()
        self._http.server_close()

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies that arrived, in order."""
        with self._lock:
            return list(self._requests)

    def next_reply(self, body: dict[str, Any]) -> Reply:
        """What to say to a request; a script that ran out is an error that no client retries."""
        with self._lock:
            self._requests.append(body)
            number = len(self._requests)
        if callable(self._replies):
            return self._replies(body)
        if number > len(self._replies):
            return HttpError(400, f"request {number}, but the server has {len(self._replies)}")
        return self._replies[number - 1]


class _HttpServer(ThreadingHTTPServer):
    api: OpenAIServer
    # The handler threads are joined on close, so that none outlives its test.
    daemon_threads = False

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[socket.socket] = set()
        self._open_lock = Lock()
        super().__init__(address, handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        with self._open_lock:
            self._open.add(connection)
        return connection, address

    def close_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().close_request(request)

    def drop_connections(self) -> None:
        """Wake the threads that wait for the next request on a kept-alive connection."""
        with self._open_lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that goes away in the middle is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else every small chunk waits for the acknowledgement of the one before.
    disable_nagle_algorithm = True

    @property
    def _api(self) -> OpenAIServer:
        assert isinstance(self.server, _HttpServer)
        return self.server.api

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test output clean."""

    def do_GET(self) -> None:
        self._send_error(HttpError(404, f"unknown path {self.path}"))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path != "/v1/chat/completions":
            self._send_error(HttpError(404, f"unknown path {self.path}"))
            return
        body = json.loads(raw)
        try:
            reply = self._api.next_reply(body)
        except Exception as failure:
            reply = HttpError(400, f"the reply function failed: {failure!r}")
        self._send(reply, body)

    def _send(self, reply: Reply, body: dict[str, Any]) -> None:
        if isinstance(reply, Hang):
            self._api.closing.wait(reply.seconds)
            self.close_connection = True
        elif isinstance(reply, HttpError):
            self._send_error(reply)
        elif body.get("stream") and self._api.streams:
            self._send_stream(reply, body)
        else:
            self._send_whole(reply, body)

    def _send_error(self, reply: HttpError) -> None:
        self._send_json(error(reply), reply.status, reply.headers)

    def _send_whole(self, reply: Answer, body: dict[str, Any]) -> None:
        self._send_json(completion(reply, body), cut=isinstance(reply, Dropped))

    def _send_json(
        self,
        content: Mapping[str, Any],
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> None:
        data = json.dumps(content).encode()
        fields = {"content-type": "application/json", "content-length": str(len(data))}
        self._start(status, {**fields, **(headers or {})})
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection = self.close_connection or cut

    def _send_stream(self, reply: Answer, body: dict[str, Any]) -> None:
        self._start(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for event in events(reply, body):
            self._write_chunk(f"data: {json.dumps(event)}\n\n")
        if isinstance(reply, Dropped):
            self.close_connection = True
            return
        self._write_chunk("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _start(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _write_chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
