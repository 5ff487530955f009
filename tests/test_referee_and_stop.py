"""The referee, the predicate, and the reasons for which a run ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flowcompose import (
    Context,
    DefinitionError,
    MaxTurnsReached,
    Pattern,
    RosterEntry,
    RunError,
    TurnInput,
    Visibility,
    round_robin,
)
from flowcompose.core.conditions import max_messages, text_mention


def echo(turn: TurnInput) -> str:
    return f"{turn.agent_name}{turn.round}"


def panel(names: str = "ab", **options: Any) -> Pattern[Any]:
    roster = [RosterEntry(name=name, block=echo) for name in names]
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    return build(**{"name": "panel", "roster": roster, "synthesizer": False, **options})


def critic(turn: TurnInput) -> dict[str, str]:
    return {"critique": f"on {turn.round}", "verdict": "ignored"}


def test_without_referee_there_is_no_referee_node() -> None:
    assert "referee" not in panel().nodes
    assert "referee" in panel(referee=critic).nodes


def test_the_referee_speaks_once_after_every_round_the_last_included() -> None:
    result = panel(max_rounds=3, referee=critic).run("go")
    assert [(c.round, c.critique) for c in result.referee_critiques] == [
        (1, "on 1"),
        (2, "on 2"),
        (3, "on 3"),
    ]


def test_members_read_the_critiques_of_earlier_rounds() -> None:
    seen: list[list[str]] = []

    def look(turn: TurnInput) -> str:
        seen.append([c.critique for c in turn.referee_critiques])
        return "x"

    entry = RosterEntry(name="a", block=look)
    pattern = round_robin(name="p", roster=[entry], max_rounds=3, referee=critic, synthesizer=False)
    pattern.run("go")
    assert seen == [[], ["on 1"], ["on 1", "on 2"]]


def test_the_referee_sees_the_whole_round() -> None:
    seen: list[int] = []

    def audit(turn: TurnInput) -> dict[str, str]:
        seen.append(len(turn.contributions))
        return {"critique": "c"}

    panel(max_rounds=2, referee=audit).run("go")
    assert seen == [2, 4]


def test_a_referee_without_critique_in_its_answer_is_a_run_error() -> None:
    with pytest.raises(
        RunError, match="referee failed after round 1: .*critique: Field required"
    ) as caught:
        panel(referee=lambda _: {"judgement": "x"}).run("go")
    assert caught.value.result is not None
    assert len(caught.value.result.contributions) == 2


@pytest.mark.parametrize(
    ("policy", "rounds", "reason"), [("skip", 2, "max_rounds"), ("stop", 1, "member_failed")]
)
def test_a_failing_referee_follows_on_error(policy: Any, rounds: int, reason: str) -> None:
    def broken(turn: TurnInput) -> dict[str, str]:
        raise ValueError("no view")

    result = panel(referee=broken, on_error=policy, max_rounds=2).run("go")
    assert (result.rounds, result.stop.reason, result.referee_critiques) == (rounds, reason, [])


def test_the_predicate_ends_the_loop_early() -> None:
    result = panel("a", terminate_when=lambda ctx: ctx.state.round >= 2).run("go")
    assert (result.rounds, len(result.contributions)) == (2, 2)
    assert (result.stop.reason, result.stop.by) == ("terminate_when", "<lambda>")


def test_the_predicate_is_asked_after_each_round_but_the_last() -> None:
    asked: list[tuple[int, int]] = []

    def never(ctx: Context) -> bool:
        asked.append((ctx.state.round, len(ctx.contributions)))
        return False

    result = panel("ab", max_rounds=3, terminate_when=never).run("go")
    assert asked == [(1, 2), (2, 4)]
    assert result.stop.reason == "max_rounds"


def test_the_predicate_sees_the_critique_of_its_round() -> None:
    asked: list[list[str]] = []

    def look(ctx: Context) -> bool:
        asked.append([c.critique for c in ctx.state.referee_critiques])
        return False

    panel("a", max_rounds=3, referee=critic, terminate_when=look).run("go")
    assert asked == [["on 1"], ["on 1", "on 2"]]


def test_ask_turn_asks_after_every_turn() -> None:
    result = panel("abc", terminate_when=lambda ctx: ctx.state.turn == 2, ask="turn").run("go")
    assert [c.agent_name for c in result.contributions] == ["a", "b"]


async def test_an_async_predicate_is_awaited() -> None:
    async def second(ctx: Context) -> bool:
        return ctx.state.round >= 2

    result = await panel("a", terminate_when=second).arun("go")
    assert (result.rounds, result.stop.by) == (2, "second")


def test_an_async_predicate_under_run_says_arun_before_anything_runs() -> None:
    spoke: list[str] = []

    async def never(ctx: Context) -> bool:
        return False

    def speak(turn: TurnInput) -> str:
        spoke.append(turn.agent_name)
        return "x"

    roster = [RosterEntry(name="a", block=speak)]
    pattern = round_robin(name="p", roster=roster, terminate_when=never, synthesizer=False)
    with pytest.raises(RunError, match=r"async parts \(terminate_when \(never\)\): use arun"):
        pattern.run("go")
    assert spoke == []


def test_the_predicate_reads_the_session() -> None:
    def capped(ctx: Context) -> bool:
        return bool(ctx.state.round >= ctx.session.state.get("max_debate_rounds", 1))

    pattern = panel("a", terminate_when=capped)
    assert pattern.run("go", session={"max_debate_rounds": 3}).rounds == 3
    assert pattern.run("go").rounds == 1


def test_a_raising_predicate_is_a_run_error_that_keeps_the_round() -> None:
    def broken(ctx: Context) -> bool:
        raise ZeroDivisionError("oops")

    with pytest.raises(
        RunError, match="terminate_when failed after turn 2: ZeroDivisionError: oops"
    ) as caught:
        panel(terminate_when=broken).run("go")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.result is not None
    assert [c.text for c in caught.value.result.contributions] == ["a1", "b1"]


def test_text_mention_looks_at_members_never_at_the_goal() -> None:
    pattern = panel("ab", terminate_when=text_mention("b2"), max_rounds=4)
    result = pattern.run("say b2 please, b2!")
    assert (result.rounds, result.stop.by) == (2, "text_mention('b2')")


def test_text_mention_can_listen_to_some_members_only() -> None:
    result = panel("ab", terminate_when=text_mention("2", sources=["b"]), max_rounds=4).run("go")
    assert result.rounds == 2
    assert (
        panel("ab", terminate_when=text_mention("b", sources=["a"]), max_rounds=3).run("go").rounds
        == 3
    )


def test_max_messages_counts_contributions() -> None:
    result = panel("ab", terminate_when=max_messages(3)).run("go")
    assert (len(result.contributions), result.stop.by) == (4, "max_messages(3)")


def test_the_stop_names_the_part_of_a_combined_condition_that_fired() -> None:
    either = text_mention("never") | max_messages(4)
    assert panel("ab", terminate_when=either).run("go").stop.by == "max_messages(4)"


def test_both_parts_of_an_and_must_hold() -> None:
    both = max_messages(2) & text_mention("a2")
    result = panel("ab", terminate_when=both).run("go")
    assert (result.rounds, result.stop.by) == (2, "max_messages(2) & text_mention('a2')")


def test_not_turns_a_condition_around() -> None:
    result = panel("ab", terminate_when=~text_mention("zzz")).run("go")
    assert (result.rounds, result.stop.by) == (1, "~text_mention('zzz')")


def test_conditions_combine_with_functions_on_either_side() -> None:
    def long_enough(ctx: Context) -> bool:
        return len(ctx.contributions) >= 4

    assert (
        panel("ab", terminate_when=long_enough | text_mention("no")).run("go").stop.by
        == "long_enough"
    )
    assert panel("ab", terminate_when=text_mention("no") | long_enough).run("go").rounds == 2


async def test_combined_conditions_await_their_async_parts() -> None:
    async def later(ctx: Context) -> bool:
        return ctx.state.round == 2

    for condition in (
        text_mention("no") | later,
        max_messages(1) & later,
        ~~(max_messages(99) | later),
    ):
        assert (await panel("ab", terminate_when=condition).arun("go")).rounds == 2


def test_condition_reprs_read_as_they_were_written() -> None:
    a, b, c = max_messages(1), text_mention("x"), max_messages(3)
    assert repr((a | b) & ~c) == "(max_messages(1) | text_mention('x')) & ~max_messages(3)"
    assert repr(~(a & b)) == "~(max_messages(1) & text_mention('x'))"
    assert a == max_messages(1)
    assert (a | b) == (a | b)


@pytest.mark.parametrize("n", [0, -1, True, 1.5, "3", None])
def test_max_messages_refuses_what_is_no_count(n: Any) -> None:
    with pytest.raises(DefinitionError, match="n must be a whole number > 0, got"):
        max_messages(n)


def test_text_mention_lists_all_that_is_wrong() -> None:
    bad: Any = ""
    with pytest.raises(DefinitionError) as caught:
        text_mention(bad, sources="writer")
    assert len(caught.value.problems) == 2


def test_reaching_the_cap_raises_only_when_asked() -> None:
    with pytest.raises(MaxTurnsReached, match="reached its cap after 2 turns") as caught:
        panel("ab", max_rounds=1, on_limit="raise").run("go")
    assert caught.value.result is not None
    assert len(caught.value.result.contributions) == 2


def test_stopping_early_raises_nothing_with_on_limit_raise() -> None:
    result = panel("a", on_limit="raise", terminate_when=max_messages(1)).run("go")
    assert result.stop.reason == "terminate_when"


def test_the_synthesizer_runs_after_every_kind_of_end() -> None:
    pattern = panel("a", terminate_when=max_messages(1), synthesizer=lambda given: given.rounds)
    assert pattern.run("go").output == 1


@pytest.mark.parametrize("other", ["x", 5, None, str])
def test_a_condition_combines_with_nothing_else(other: Any) -> None:
    with pytest.raises(DefinitionError, match="must be a condition or a function"):
        _ = max_messages(1) | other
    with pytest.raises(DefinitionError, match="must be a condition or a function"):
        _ = max_messages(1) & other


@pytest.mark.parametrize("value", ["no", 1, None])
def test_visibility_is_true_or_false(value: Any) -> None:
    with pytest.raises(DefinitionError, match="client must be True or False, got"):
        Visibility(client=value)
