"""How the tool calls of an agent of documents are run: in order, up to the first that fails."""

from __future__ import annotations

from collections.abc import Iterator

from langchain_core.messages import AIMessage, ToolCall, ToolMessage

from flowcompose.core.context import Context
from flowcompose.core.toolbox import Called, Toolbox, failed, unreadable, with_response
from flowcompose.runner.teams.failing import words_of


class OrderedToolbox(Toolbox):
    """Runs calls one after the other on both paths; nothing follows a failure or an end.

    Calls that are left have no answer: nothing was said of them.
    """

    def call_all(self, answer: AIMessage, ctx: Context) -> Called:
        """Run the calls of one answer."""
        answers = self._refused(answer)
        for call in self._ready(answer, answers):
            answers.append(self._call(call, ctx))
        return self._called(answers, ctx)

    async def acall_all(self, answer: AIMessage, ctx: Context) -> Called:
        """Run the calls of one answer on the async path."""
        answers = self._refused(answer)
        for call in self._ready(answer, answers):
            answers.append(await self._acall(call, ctx))
        return self._called(answers, ctx)

    def problem_in(self, called: Called) -> str | None:
        """Say what went wrong in the last call, if something did."""
        last = called.answers[-1]
        if last.status != "error":
            return None
        text = str(last.text)
        return f"tool {last.name}: {text}" if last.name in self._by_name else text

    def _refused(self, answer: AIMessage) -> list[ToolMessage]:
        """Answer the first call whose arguments are no JSON.

        Where it stood among the others is not known. So none of them is run: one that should
        not have been could not be taken back.
        """
        first = next(unreadable(answer), None)
        if first is None or first.name in self._by_name:
            return [] if first is None else [first]
        return [self._unknown(ToolCall(name=first.name or "", args={}, id=first.tool_call_id))]

    def _ready(self, answer: AIMessage, answers: list[ToolMessage]) -> Iterator[ToolCall]:
        """Give the calls, each as long as the answers up to it let the agent go on."""
        for call in answer.tool_calls:
            if answers and (answers[-1].status == "error" or answers[-1].name in self._ending):
                return
            yield with_response(call, answer) if call["name"] in self._ending else call

    def _called(self, answers: list[ToolMessage], ctx: Context) -> Called:
        last = answers[-1]
        if last.status == "error" or last.name not in self._ending:
            return Called(answers)
        response = str(last.text)
        ctx.acts.end(response)
        return Called(answers, response)

    def _words_of(self, error: Exception, call: ToolCall) -> str:
        return words_of(error, call["name"])

    def _unknown(self, call: ToolCall) -> ToolMessage:
        return failed(call, f"tool {call['name']} not found")
