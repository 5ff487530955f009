"""Test doubles for flows: a chat model that says what the test wrote down.

model = ScriptedModel(by_agent={"writer": ["A draft."], "critic": ["Add a date."]})
...
model.assert_complete()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage
from pydantic import PrivateAttr

from flowcompose.core._fake import FakeChatModel
from flowcompose.core._fake_call import ModelCall
from flowcompose.core._scripted import Script, ScriptError, ScriptExhausted
from flowcompose.core._scripted_reply import Replies, Reply, as_message

__all__ = ["ModelCall", "Replies", "Reply", "ScriptError", "ScriptExhausted", "ScriptedModel"]


class ScriptedModel(FakeChatModel):
    """A chat model that gives written replies in order and keeps every request.

    It streams, calls tools, answers structured requests and counts usage, sync and async, as a
    provider's model does. Copies and bound versions go on with the same script, also from several
    threads at once.

    A reply is a `str`; a `dict` or a pydantic model (the structured answer: a call of the bound
    tool if a tool call is demanded, else JSON as text); an `AIMessage`, sent as it is; an
    exception, raised; or a function of the messages that gives one of these. The function also
    gets the bound arguments (`tools`, `stop`, ...) if it takes `**kwargs`.

    Args:
        replies: The replies in order, or one function that is asked every time.
        by_agent: The same for each agent by its name, for runs in which the order of the calls
            is not fixed. The name is read from the call's metadata (`agent_name`).
        latency: Seconds that every call takes before its first word.
        chunk_size: Characters per streamed chunk; `None` streams word by word.
        **kwargs: Fields of every chat model, such as `metadata`, `tags`, `disable_streaming`.

    Raises:
        TypeError: With both or neither of `replies` and `by_agent`.

    Example:
        >>> model = ScriptedModel(["Hello.", ValueError("overloaded")])
        >>> model.invoke("Say hello").text
        'Hello.'
        >>> [call.messages[0].text for call in model.calls]
        ['Say hello']
    """

    _script: Script = PrivateAttr()

    def __init__(
        self,
        replies: Replies | None = None,
        *,
        by_agent: Mapping[str, Replies] | None = None,
        latency: float = 0.0,
        chunk_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(latency=latency, chunk_size=chunk_size, **kwargs)
        self._script = Script(replies, by_agent)

    @property
    def calls(self) -> list[ModelCall]:
        """Every request so far, in order of arrival; also those that failed."""
        return self._script.calls

    def assert_complete(self) -> None:
        """Fail if replies are left over, or if a call found none.

        The second half matters where a run goes on after errors: there the failed call would
        pass unseen.

        Raises:
            AssertionError: With the replies left over, for each agent.
        """
        if problems := self._script.problems():
            message = "the script does not fit the run:" + "".join(f"\n  {p}" for p in problems)
            raise ScriptError(message)

    def _begin(self, call: ModelCall) -> Callable[[], AIMessage]:
        return partial(as_message, self._script.take(call), call)

    @property
    def _llm_type(self) -> str:
        return "scripted"
