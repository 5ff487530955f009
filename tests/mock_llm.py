"""A model server on this machine that answers by rules, as those of ARK's own tests do.

    with MockLLM(rules_of(path)) as server:
        ...  # base_url=server.base_url

A rule says for which requests it holds (`path`, `method`, and `match`, a JMESPath expression on
`body`) and what is answered. The last rule that holds wins. A rule with a `sequence` gives one
answer after the other and stays at the last.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Self

import jmespath
import yaml

Rule = Mapping[str, Any]

PIECE = 7
"""Characters per streamed chunk."""

CHAT = "/v1/chat/completions"


def rules_of(path: Path) -> list[Rule]:
    """The rules of a `mock-llm-values.yaml`."""
    rules: list[Rule] = yaml.safe_load(path.read_text())["config"]["rules"]
    return rules


def says(where: int, text: str, *answers: str | Mapping[str, Any], usage: int = 0) -> Rule:
    """A rule of ours: where message number `where` holds `text`, these are the answers.

    Args:
        where: Number of a message, negative from the end.
        text: What stands in it.
        answers: In order, the last one for good; a mapping is a message.
        usage: Tokens of each answer, a third of them in the completion; 0 for none told.
    """
    given = [{"status": 200, "content": completion(answer, usage)} for answer in answers]
    held = f"contains(body.messages[{where}].content || '', '{text}')"
    return {"path": CHAT, "match": held, "sequence": given}


def completion(answer: str | Mapping[str, Any], usage: int = 0) -> str:
    """A chat completion with a text, or with a message as given."""
    message = {"content": answer} if isinstance(answer, str) else dict(answer)
    reason = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"message": {"role": "assistant", **message}, "finish_reason": reason}
    out = usage // 3
    spent = {"prompt_tokens": usage - out, "completion_tokens": out, "total_tokens": usage}
    return json.dumps({"choices": [choice]} | ({"usage": spent} if usage else {}))


def calls(*named: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A message that calls tools."""
    made = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for number, (name, arguments) in enumerate(named, 1)
    ]
    return {"content": None, "tool_calls": made}


class MockLLM:
    """The server. `requests` holds the bodies of the chat requests, in order of arrival."""

    def __init__(self, rules: Sequence[Rule], *, streams: bool = True) -> None:
        self._rules = list(rules)
        self._streams = streams
        self._asked: dict[int, int] = {}
        self._lock = Lock()
        self.requests: list[dict[str, Any]] = []
        self.methods: list[str] = []
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,))
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def streams(self, body: Mapping[str, Any]) -> bool:
        """Whether a request is answered piece by piece."""
        return self._streams and bool(body.get("stream"))

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, str]:
        """Status and content for a request; what no rule is for is a 404."""
        with self._lock:
            self.methods.append(f"{method} {path}")
            if path == CHAT:
                self.requests.append(body)
            for number in reversed(range(len(self._rules))):
                if _holds(self._rules[number], method, path, body):
                    return self._given(number)
        return 404, json.dumps({"error": {"message": f"no rule for {method} {path}"}})

    def _given(self, number: int) -> tuple[int, str]:
        rule = self._rules[number]
        answers: Sequence[Rule] = rule.get("sequence") or [rule["response"]]
        turn = self._asked.get(number, 0)
        self._asked[number] = turn + 1
        answer = answers[min(turn, len(answers) - 1)]
        answer = answer.get("response", answer)
        return int(answer["status"]), str(answer["content"])


def _holds(rule: Rule, method: str, path: str, body: dict[str, Any]) -> bool:
    if rule["path"] != path or rule.get("method", method) != method:
        return False
    seen = {"method": method, "path": path, "body": body}
    return "match" not in rule or bool(jmespath.search(rule["match"], seen))


def chunks(content: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A completion as the events of a stream, its usage last where it was asked for."""
    whole: dict[str, Any] = json.loads(content)
    choice: dict[str, Any] = whole["choices"][0]
    head = {"id": "chatcmpl-mock", "object": "chat.completion.chunk", "created": 0}
    head["model"] = body.get("model", "mock")
    for delta in _deltas(choice["message"]):
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    ended = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield {**head, "choices": [ended]}
    options: Mapping[str, Any] = body.get("stream_options") or {}
    if options.get("include_usage") and "usage" in whole:
        yield {**head, "choices": [], "usage": whole["usage"]}


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": None}
    text = message.get("content") or ""
    for start in range(0, len(text), PIECE):
        yield {"content": text[start : start + PIECE]}
    for index, call in enumerate(message.get("tool_calls") or []):
        function = call["function"]
        begun = {**call, "index": index, "function": {**function, "arguments": ""}}
        yield {"tool_calls": [begun]}
        yield {"tool_calls": [{"index": index, "function": {"arguments": function["arguments"]}}]}


class _Server(ThreadingHTTPServer):
    owner: MockLLM

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that goes away in the middle is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    # HTTP/1.0: a connection ends with its answer, so no thread waits for another request.

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test output clean."""

    def do_GET(self) -> None:
        self._reply({})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        self._reply(json.loads(raw))

    def _reply(self, body: dict[str, Any]) -> None:
        assert isinstance(self.server, _Server)
        owner = self.server.owner
        status, content = owner.answer(self.command, self.path, body)
        streamed = status == 200 and owner.streams(body)
        self.send_response(status)
        self.send_header("content-type", "text/event-stream" if streamed else "application/json")
        self.end_headers()
        self.wfile.write((_as_events(content, body) if streamed else content).encode())


def _as_events(content: str, body: Mapping[str, Any]) -> str:
    events = [json.dumps(event) for event in chunks(content, body)]
    return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])
