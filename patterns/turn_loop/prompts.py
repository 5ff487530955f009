"""The texts of the default blocks. Data: each can be replaced by an argument.

Every request of a panel begins with the same system message and goes through the same
transcript; only the last message says who is asked, and for what. See `core/messages.py`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Process:
    """How a pattern works, as its members are told."""

    text: str
    heading: str = "The members"
    """What the list of the members is called."""
    has_rounds: bool = True
    """Whether it works in rounds, so that they are worth telling."""


SYSTEM = """\
You take part in a panel that works on one goal. {process} After the transcript you are told \
which part is yours; speak only for that part, and do not repeat its heading.

{heading}:
{members}

A contribution adds something: it is specific, it takes up what others said by name, and \
builds on it or argues against it."""

INSTRUCTIONS = "## Instructions\n\n{instructions}"

MEMBER = """\
You are {name}{role}. {moment} Give your contribution now: only its text, no heading with \
your name."""

IN_ROUND = "It is round {round}, and your turn."

IN_TURN = "It is your turn."

SELECTOR = """\
You decide who speaks next. These members may:
{roles}

Choose the one whose contribution the goal needs now, judged by what was said so far.{stop} \
Answer with the name of one member, as it is written here, and nothing else."""

MAY_STOP = " If the goal is met and nobody needs to speak any more, answer {word} instead."

NO_CHOICE = """\
That names nobody who may speak now: {answer}. Answer with exactly one of these: {names}."""

REFEREE = """\
You are the referee. Round {round} is complete. Judge how the members argued in this round, \
and say it in a short, specific critique that names the member and quotes the passage. Look \
for these failures:
- evidence is exaggerated to defend a stance that was fixed beforehand;
- a strong opposing point is dismissed without an answer;
- a claim has no support in what was supplied;
- a member retreats into vagueness;
- arguments of earlier rounds are repeated instead of answering the strongest objection.
If there is none of these, say so in one sentence. You do not name a winner, you do not ask \
new questions or redirect the panel, and you have no say in whether it goes on."""

SYNTHESIZER = """\
The panel is finished{rounds}. You write its deliverable: merge what was \
contributed into one coherent piece that meets the goal, resolve what conflicts by the better \
argument, and take the critiques into account if there are any. Give the deliverable itself, \
without speaking of the panel."""

AFTER_ROUNDS = " after {rounds} round(s)"

EXTRA = "{text}\n\nBesides:\n{extra}"
