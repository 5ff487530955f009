"""Conditions on who contributed: how often, who, with which tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from flowcompose.core.condition import Condition
from flowcompose.core.conditions._checks import check_bool, check_names, check_text, check_whole
from flowcompose.core.conditions._simple import Simple, called, heard
from flowcompose.core.context import Context
from flowcompose.core.definition import Problems


@dataclass(frozen=True, repr=False)
class _MaxMessages(Simple):
    n: int
    nested: bool = False

    def holds(self, ctx: Context) -> bool:
        if len(ctx.contributions) < self.n:
            return False
        return sum(1 for _ in islice(heard(ctx, nested=self.nested), self.n)) == self.n

    def __repr__(self) -> str:
        return called("max_messages", self.n, nested=self.nested)


@dataclass(frozen=True, repr=False)
class _SourceMatch(Simple):
    names: tuple[str, ...]
    nested: bool = False

    def holds(self, ctx: Context) -> bool:
        return any(True for _ in heard(ctx, self.names, nested=self.nested))

    def __repr__(self) -> str:
        return called("source_match", self.names, nested=self.nested)


@dataclass(frozen=True, repr=False)
class _ToolCall(Simple):
    name: str

    def holds(self, ctx: Context) -> bool:
        return any(self.name in each.get("tools", ()) for each in heard(ctx))

    def __repr__(self) -> str:
        return called("tool_call", self.name)


def max_messages(n: int, nested: bool = False) -> Condition:
    """Stop once `n` contributions were made in the run.

    For a plain cap use the pattern's own `max_rounds` or `max_turns`; this one is for combining
    with others. After AutoGen's `MaxMessageTermination`, which counts the task as a message too.

    Args:
        n: Contributions, at least 1. Failed turns do not count.
        nested: Count also what was said inside nested teams whose words are in the transcript
            (`transcript="all"`); else such a team counts for nothing.

    Raises:
        DefinitionError: `n` is not a whole number above 0, or `nested` is no bool.

    Example:
        ```python
        from flowcompose.core.conditions import max_messages, text_mention

        print(max_messages(4) & ~text_mention("WAIT"))
        #> max_messages(4) & ~text_mention('WAIT')
        ```
    """
    problems = Problems("max_messages")
    count = check_whole(problems, "n", n)
    check_bool(problems, "nested", nested)
    problems.raise_if_any()
    return _MaxMessages(count, nested)


def source_match(names: Sequence[str], nested: bool = False) -> Condition:
    """Stop once one of these members has spoken, whatever it said.

    Choose it where it is not fixed who speaks next: a closer, an arbiter. Where all speak in
    order it holds after the first round. For what they say, see `text_mention`. After AutoGen's
    `SourceMatchTermination`.

    Args:
        names: The members, those of nested teams included.
        nested: Take also the names of nested teams whose words are in the transcript
            (`transcript="all"`): with it, a team has spoken once one of its members has.

    Raises:
        DefinitionError: `names` is not a list of names, or `nested` is no bool.

    Example:
        ```python
        from flowcompose.core.conditions import max_messages, source_match

        print(source_match(["judge"]) & max_messages(6))
        #> source_match(['judge']) & max_messages(6)
        ```
    """
    problems = Problems("source_match")
    wanted = check_names(problems, "names", names)
    check_bool(problems, "nested", nested)
    problems.raise_if_any()
    return _SourceMatch(wanted, nested)


def tool_call(name: str) -> Condition:
    """Stop once a member has called the tool of this name.

    Choose it to end on a deed, such as a booking, instead of a word. The member's turn goes on
    to its end, the tool's answer included; the `terminate` tool ends the turn as well. After
    AutoGen's `FunctionCallTermination`.

    Args:
        name: The tool, as models know it. What members of nested teams call does not count.

    Raises:
        DefinitionError: `name` is empty or not a string.

    Example:
        ```python
        from flowcompose.core.conditions import text_mention, tool_call

        print(tool_call("book_room") | text_mention("no room left"))
        #> tool_call('book_room') | text_mention('no room left')
        ```
    """
    problems = Problems("tool_call")
    wanted = check_text(problems, "name", name)
    problems.raise_if_any()
    return _ToolCall(wanted)
