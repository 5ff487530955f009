"""Conditions on what was said: a word in it, or nothing new in it."""

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
class _TextMention(Simple):
    text: str
    sources: tuple[str, ...] | None = None
    nested: bool = False

    def holds(self, ctx: Context) -> bool:
        text = self.text
        return any(text in each["text"] for each in heard(ctx, self.sources, nested=self.nested))

    def __repr__(self) -> str:
        return called("text_mention", self.text, sources=self.sources, nested=self.nested)


@dataclass(frozen=True, repr=False)
class _Repetition(Simple):
    window: int

    def holds(self, ctx: Context) -> bool:
        count, different = 0, set[tuple[str, str]]()
        for each in islice(heard(ctx), self.window):
            count += 1
            different.add((each["agent_name"], " ".join(each["text"].casefold().split())))
            if 2 * len(different) > self.window:
                return False
        return count == self.window

    def __repr__(self) -> str:
        return called("repetition", window=self.window)


def text_mention(
    text: str, sources: Sequence[str] | None = None, nested: bool = False
) -> Condition:
    """Stop once a member has said `text`.

    Choose it when members are told to say a word such as APPROVE. If they have a tool for it,
    `tool_call` cannot mistake a quote for the word itself. For anything finer, write a function
    of the context. After AutoGen's `TextMentionTermination`.

    Args:
        text: What to look for, case-sensitive, anywhere in a contribution. The goal, critiques
            and earlier conversations are not searched.
        sources: Only what these members said, those of nested teams included; None for all.
        nested: Search also what was said inside nested teams whose words are in the transcript
            (`transcript="all"`); such a team may then be named in `sources`.

    Raises:
        DefinitionError: `text` is empty or not a string, `sources` is not a list of names, or
            `nested` is no bool.

    Example:
        ```python
        from flowcompose.core.conditions import max_messages, text_mention

        print(text_mention("APPROVE", sources=["editor"]) | max_messages(12))
        #> text_mention('APPROVE', sources=['editor']) | max_messages(12)
        ```
    """
    problems = Problems("text_mention")
    wanted = check_text(problems, "text", text)
    names = None if sources is None else check_names(problems, "sources", sources)
    check_bool(problems, "nested", nested)
    problems.raise_if_any()
    return _TextMention(wanted, names, nested)


def repetition(window: int = 6) -> Condition:
    """Stop once the members go round in circles: they say again what they have just said.

    It holds when at most half of the last `window` contributions are different. Two are the same
    if the same member said the same words; case and white space do not count. Choose it to save
    turns that bring nothing new; a cap still has to end what goes on in ever new words. AutoGen
    has no such condition; its answer to members who only agree with each other is a cap.

    Args:
        window: Contributions to look at, at least 2; with fewer in the run it does not hold. Let
            it be twice the number of members or more: in a smaller one each may speak only once.

    Raises:
        DefinitionError: `window` is not a whole number above 1.

    Example:
        ```python
        from flowcompose import RosterEntry, round_robin
        from flowcompose.core.conditions import repetition

        polite = [RosterEntry(name=name, block=lambda turn: "After you!") for name in "ab"]
        panel = round_robin(
            name="door",
            roster=polite,
            max_rounds=9,
            terminate_when=repetition(window=4),
            synthesizer=False,
        )
        result = panel.run("Go through the door.")
        print(result.rounds, result.stop.by)
        #> 2 repetition(window=4)
        ```
    """
    problems = Problems("repetition")
    size = check_whole(problems, "window", window, least=2)
    problems.raise_if_any()
    return _Repetition(size)
