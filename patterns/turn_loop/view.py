"""A run at one moment: what the state holds, and what the current node is about to add."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from flowcompose.core.context import Context
from flowcompose.core.handover import lasting_for
from flowcompose.core.ledger import Ledger
from flowcompose.core.panel import Panel
from flowcompose.core.request import Request
from flowcompose.core.source import RunInput
from flowcompose.core.turn_input import TurnInput
from flowcompose.core.turns import Selection, speaker_of, turns_in
from flowcompose.patterns.turn_loop.plan import Plan
from flowcompose.patterns.turn_loop.quiet import quiet
from flowcompose.patterns.turn_loop.shape import SynthesisInput
from flowcompose.resources.contributions import Contribution, Entry
from flowcompose.resources.critiques import CritiqueEntry, Critiques
from flowcompose.resources.selections import SelectionEntry
from flowcompose.resources.tasks import Failure
from flowcompose.resources.usage import Tokens, Usage
from flowcompose.resources.writes import WRITES, Deltas

_NOTHING: Mapping[str, Any] = {}
_NO_REQUEST = Request(goal="", history=[])
_NO_SELECTION = Selection()


class View:
    """Reads state, with an update laid over it that the engine has not applied yet."""

    __slots__ = ("_first", "_ledger", "config", "plan", "started_at", "state", "update")

    def __init__(
        self,
        plan: Plan,
        state: Mapping[str, Any],
        config: RunnableConfig,
        update: Mapping[str, Any] = _NOTHING,
        first: View | None = None,
    ) -> None:
        self.plan = plan
        self.state = state
        self.config = config
        self.update = update
        self.started_at = time.time()
        self._first = first or self
        self._ledger: Ledger | None = None

    def after(self, update: Mapping[str, Any]) -> View:
        """The run as it is once `update` has been applied."""
        return View(self.plan, self.state, self.config, update, self._first)

    @property
    def ledger(self) -> Ledger:
        """The resources of the step, one for all views of it; made when something asks for it."""
        first = self._first
        if first._ledger is None:
            plan, state = first.plan, first.state
            said = {plan.key: state.get(plan.key) or ()}
            first._ledger = Ledger(
                plan.resources, state.get(WRITES), first.config, said, program=plan
            )
        return first._ledger

    def load(self) -> None:
        """Read the user's resources, before the step's block runs; most patterns have none."""
        if self.plan.has_user_resources:
            self.ledger.load()

    async def aload(self) -> None:
        """`load` on the async path."""
        if self.plan.has_user_resources:
            await self.ledger.aload()

    def save(self) -> None:
        """Write what was written to the user's resources."""
        if self.plan.has_user_resources:
            self.ledger.save()

    async def asave(self) -> None:
        """`save` on the async path."""
        if self.plan.has_user_resources:
            await self.ledger.asave()

    def take(self) -> Deltas:
        """Give all that was written to resources, for another step to write."""
        ledger = self._first._ledger
        return {} if ledger is None else ledger.take()

    @property
    def written(self) -> dict[str, Any]:
        """The part of the node's update that is written to resources."""
        ledger = self._first._ledger
        return {} if ledger is None else ledger.update()

    @property
    def entries(self) -> Sequence[Entry]:
        """The transcript."""
        return self._log(self.plan.key)

    @property
    def critiques(self) -> Sequence[CritiqueEntry]:
        """The critiques so far."""
        audits = self.audits
        if any("error" in audit for audit in audits):
            return [audit for audit in audits if "error" not in audit]
        return audits

    @property
    def audits(self) -> Sequence[CritiqueEntry]:
        """The critiques, and the failed attempts at one."""
        return self._log("referee_critiques")

    @property
    def failures(self) -> Sequence[Failure]:
        """The turns that failed."""
        return self._log("failures")

    @property
    def selections(self) -> Sequence[SelectionEntry]:
        """Whom the selector chose."""
        return self._log("selections")

    @property
    def selection(self) -> Selection:
        """What was decided last, where a run keeps that."""
        return self.state.get("selection") or _NO_SELECTION

    @property
    def run_started_at(self) -> float:
        """When the run began, in seconds since 1970."""
        return self.request.get("started_at") or self.started_at

    @property
    def rounds(self) -> int:
        """Rounds that are finished."""
        return self.plan.rounds_after(self.taken)

    @property
    def turns(self) -> int:
        """Turns that were taken."""
        key, new, old = self.plan.key, self.update, self.state
        added = turns_in(new.get(key) or (), new.get("failures") or ()) if new else 0
        return added or turns_in(old.get(key) or (), old.get("failures") or ())

    @property
    def taken(self) -> int:
        """Turns that were taken, one by one: of those at once, some may be missing."""
        return len({each["turn"] for log in (self.entries, self.failures) for each in log})

    @property
    def request(self) -> Request:
        """What the run was started with."""
        return self.update.get("request") or self.state.get("request") or _NO_REQUEST

    @property
    def goal(self) -> str:
        """What the panel works on."""
        return self.request["goal"]

    @property
    def input(self) -> RunInput:
        """What the pattern was started with."""
        return RunInput(goal=self.goal)

    @property
    def history(self) -> Sequence[BaseMessage]:
        """The conversation before the run."""
        if self.request.get("inherits"):
            lasting = lasting_for(self.config, self.plan)
            return () if lasting is None else lasting.history
        return self.request["history"]

    @property
    def session(self) -> dict[str, Any]:
        """What belongs to the thread; a copy: a block that writes to it writes to nothing."""
        return copy.deepcopy(dict(self.state.get("session") or _NOTHING))

    @property
    def panel(self) -> Panel:
        """What the default blocks have in common."""
        return self.plan.panel

    def context(self, agent_name: str, turn: int) -> Context:
        """What a block or a predicate of turn `turn` sees."""
        return Context(self, agent_name, self.plan.round_of(turn), turn)

    def decision_context(self, turn: int) -> Context:
        """What the schedule and `terminate_when` see: it may not write."""
        ctx = self.context("", turn)
        ctx.read_only = True
        return ctx

    def turn_input(self, ctx: Context) -> TurnInput:
        """What the member or the referee of this context receives."""
        return TurnInput(
            goal=ctx.goal,
            round=ctx.state.round,
            turn=ctx.state.turn,
            agent_name=ctx.agent_name,
            contributions=ctx.contributions,
            referee_critiques=ctx.state.referee_critiques,
            history=ctx.history,
            has_rounds=self.plan.panel.has_rounds,
        )

    def synthesis_input(self) -> SynthesisInput:
        """What a synthesizer receives."""
        return SynthesisInput.model_construct(
            goal=self.goal,
            rounds=self.rounds,
            contributions=[Contribution.of_entry(entry) for entry in self.entries],
            referee_critiques=list(Critiques(self.critiques)),
        )

    def usage(self, synthesizer: Tokens | None = None) -> Usage:
        """The tokens spent so far, and by whom; those of the synthesizer are in no state yet."""
        spent: dict[str, list[Mapping[str, int]]] = {name: [] for name in self.plan.nodes}
        for each in (*self.entries, *self.failures):
            if usage := each.get("usage"):
                spent[speaker_of(each)].append(usage)
        by_member = {name: Tokens.total(usages) for name, usages in spent.items()}
        referee = Tokens.total(audit["usage"] for audit in self.audits)
        selector = Tokens.total(choice["usage"] for choice in self.selections)
        return Usage.of_parts(
            by_member, selector=selector, referee=referee, synthesizer=synthesizer
        )

    def unstreamed(self) -> View:
        """The same moment, for a block whose tokens are nobody's to see."""
        return View(self.plan, self.state, quiet(self.config), self.update, self._first)

    def config_for(self, agent_name: str, round: int, turn: int) -> RunnableConfig:
        """The config under which this turn calls models: it says who asks, and when."""
        config = self.config if agent_name else quiet(self.config)
        metadata = {
            **(config.get("metadata") or {}),
            "agent_name": agent_name,
            "lc_agent_name": agent_name,
            "round": round,
            "turn": turn,
        }
        return {**self.ledger.handed_down(config), "metadata": metadata}

    def _log(self, key: str) -> Sequence[Any]:
        old: Sequence[Any] = self.state.get(key) or ()
        new = self.update.get(key)
        return [*old, *new] if new else old
