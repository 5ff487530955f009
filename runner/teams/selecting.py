"""Who speaks next in a selector team, as its era has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import convert_to_openai_messages

from flowcompose.core.context import Context
from flowcompose.core.conversation import Conversation, Steps
from flowcompose.core.results import Stop
from flowcompose.core.retry import Retry
from flowcompose.patterns.turn_loop.schedule import Speak
from flowcompose.patterns.turn_loop.selection_input import SelectionInput
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.teams.choosers import Chooser
from flowcompose.runner.teams.eras import Rules
from flowcompose.runner.teams.failing import TurnError, failing_as, failure_of
from flowcompose.runner.teams.messages import Message, of_entries, selector_history
from flowcompose.runner.teams.selector_prompt import rendered
from flowcompose.runner.teams.wording import Wording


@dataclass(frozen=True)
class Selection:
    """How the speakers of one team are chosen."""

    members: Mapping[str, str]
    """All of them with their descriptions, which may be empty."""
    rules: Rules
    chooser: Chooser
    template: str
    """The prompt, not yet filled."""
    openers: tuple[str, ...]
    """Who may open the team, where edges say it; else empty."""
    constrained: bool
    """Whether edges say who may follow whom."""
    redactor: Redactor
    wording: Wording


class SelectingBlock:
    """The selector of a team, as a block."""

    async_only = False
    name = "selector"

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    def run(self, value: SelectionInput, ctx: Context) -> Speak | Stop:
        """Choose on the sync path."""
        turn = _Turn(self.selection, value, ctx)
        if (settled := turn.settled) is not None:
            return settled
        with failing_as(turn.failed, self.selection.redactor):
            answer = Conversation(ctx, ctx.config, Retry()).run(turn.steps())
        return turn.decided(answer)

    async def arun(self, value: SelectionInput, ctx: Context) -> Speak | Stop:
        """Choose on the async path."""
        turn = _Turn(self.selection, value, ctx)
        if (settled := turn.settled) is not None:
            return settled
        with failing_as(turn.failed, self.selection.redactor):
            answer = await Conversation(ctx, ctx.config, Retry()).arun(turn.steps())
        return turn.decided(answer)


@dataclass(frozen=True)
class _Turn:
    """One choice."""

    selection: Selection
    value: SelectionInput
    ctx: Context

    @property
    def opens(self) -> bool:
        """Whether nobody spoke yet."""
        return self.value.turn == 1

    @property
    def candidates(self) -> tuple[str, ...]:
        """Who may be named."""
        openers = self.selection.openers if self.opens else ()
        return openers or self.value.candidates

    @property
    def settled(self) -> Speak | None:
        """Who speaks where nobody is asked."""
        rules, names = self.selection.rules, self.candidates
        if self.opens and rules.opens_with_first and not self.selection.openers:
            return Speak(names[:1], "only_candidate")
        if len(names) == 1 and (self.selection.constrained or not rules.selects_by_tool):
            return Speak(names, "only_candidate")
        return None

    def steps(self) -> Steps:
        """Ask."""
        members = {name: self.selection.members[name] for name in self.candidates}
        history = selector_history(self._conversation())
        prompt = rendered(self.selection.template, members, history)
        return self.selection.chooser.steps(prompt, self.candidates)

    def decided(self, answer: str | Stop) -> Speak | Stop:
        """Take a name, or do what the era does with one that is none."""
        if isinstance(answer, Stop):
            return self._stop(answer)
        named = self._named(answer)
        if named is not None and self._may_follow(named):
            return Speak((named,), "exact")
        if self.selection.rules.selects_by_tool:
            problem = f"Selector returned invalid agent name: {answer}"
            chooser = self.selection.chooser.name
            return self._stop(Stop(reason="invalid_selection", by=chooser, detail=problem))
        others = tuple(name for name in self.candidates if name != self._last)
        return Speak((others or self.candidates)[:1], "fallback")

    def failed(self, error: Exception) -> TurnError:
        """Give the failure of a choice."""
        what = f"selector {self.selection.chooser.who} call"
        return failure_of(what, error, self.selection.redactor)

    def _stop(self, stop: Stop) -> Stop:
        """A model may repeat a secret, and state holds why a team ended."""
        return stop.model_copy(
            update={"detail": self.selection.redactor.clean(stop.detail or "") or None}
        )

    def _named(self, answer: str) -> str | None:
        """Give the member that is meant; a name that holds a secret may come without it."""
        clean = self.selection.redactor.clean
        meant = [each for each in self.candidates if answer in (each, clean(each))]
        return answer if answer in meant else meant[0] if len(meant) == 1 else None

    def _may_follow(self, name: str) -> bool:
        free = self.selection.rules.repeats or self.selection.constrained
        return free or name != self._last or len(self.candidates) == 1

    @property
    def _last(self) -> str | None:
        entries = self.ctx.contributions.raw
        return entries[-1]["agent_name"] if entries else None

    def _conversation(self) -> list[Message]:
        """All that was said; the user's input stands in it only where the era has it there."""
        wording = self.selection.wording
        before = convert_to_openai_messages(wording.revealed(self.ctx.history))
        asked: Sequence[Message] = ()
        if self.selection.rules.selects_by_tool:
            asked = [{"role": "user", "content": wording.reveal(self.ctx.goal)}]
        return [*before, *asked, *of_entries(self.ctx.contributions.raw)]
