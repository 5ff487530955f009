"""What a scripted model will say, what it was asked, and what is left over."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from threading import Lock

from flowcompose.core._fake_call import ModelCall
from flowcompose.core._scripted_reply import Replies, Reply

_short = reprlib.Repr()
_short.maxstring, _short.maxother = 80, 160


class ScriptError(AssertionError):
    """The script and the run do not fit together."""


class ScriptExhausted(ScriptError):  # noqa: N818 - reads as what happened
    """A model was asked more often than its script has replies."""


class Script:
    """The replies of one model, given out one by one, and a record of every call."""

    def __init__(self, replies: Replies | None, by_agent: Mapping[str, Replies] | None) -> None:
        if (replies is None) == (by_agent is None):
            raise TypeError("ScriptedModel takes either replies or by_agent=, one of the two")
        scripts: list[tuple[str | None, Replies]] = [*(by_agent or {}).items()]
        if replies is not None:
            scripts.append((None, replies))
        self._lines = {name: _Lines(lines) for name, lines in scripts}
        self._shared = by_agent is None
        self._lock = Lock()
        self._calls: list[ModelCall] = []
        self._failures: list[str] = []

    def __deepcopy__(self, memo: object) -> Script:
        """Copies of a model go on with the same script."""
        return self

    @property
    def calls(self) -> list[ModelCall]:
        """All calls so far, in order."""
        with self._lock:
            return list(self._calls)

    def take(self, call: ModelCall) -> Reply:
        """The next reply for the agent that asks; replies are given in the order of the calls."""
        with self._lock:
            self._calls.append(call)
            try:
                return self._lines_for(call).take(call)
            except ScriptError as error:
                self._failures.append(str(error))
                raise

    def problems(self) -> list[str]:
        """Replies that nobody asked for, and calls that had none."""
        with self._lock:
            left = [lines.left_over(name) for name, lines in self._lines.items()]
            return [*self._failures, *filter(None, left)]

    def _lines_for(self, call: ModelCall) -> _Lines:
        name = None if self._shared else call.agent_name
        if (lines := self._lines.get(name)) is not None:
            return lines
        asked = "a call without agent_name" if name is None else f"agent {name!r}"
        known = ", ".join(map(repr, self._lines)) or "none"
        message = f"{asked} has no replies in by_agent; known agents: {known}"
        raise ScriptError(message)


class _Lines:
    """The replies for one agent."""

    def __init__(self, replies: Replies) -> None:
        if isinstance(replies, str):
            message = f"replies must be a list of replies or a function, not {replies!r}"
            raise TypeError(message)
        self._replies = replies if callable(replies) else tuple(replies)
        self._taken = 0

    def take(self, call: ModelCall) -> Reply:
        if callable(self._replies):
            return self._replies
        self._taken += 1
        if self._taken <= len(self._replies):
            return self._replies[self._taken - 1]
        agent = "the model" if call.agent_name is None else f"agent {call.agent_name!r}"
        end = call.messages[-1].text[-200:] if call.messages else ""
        message = (
            f"{agent} asked for reply {self._taken}, but the script holds {len(self._replies)}; "
            f"the last message ends: {end!r}"
        )
        raise ScriptExhausted(message)

    def left_over(self, name: str | None) -> str | None:
        if callable(self._replies) or not (left := self._replies[self._taken :]):
            return None
        whose = "" if name is None else f"agent {name!r}: "
        listed = "".join(f"\n    {_short.repr(reply)}" for reply in left)
        return f"{whose}{len(left)} of {len(self._replies)} replies left over:{listed}"
