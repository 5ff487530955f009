"""Runs kept by a checkpointer: isolation, sessions, resuming, forking."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import interrupt

from flowcompose import (
    Context,
    DefinitionError,
    MaxTurnsReached,
    MemberError,
    Pattern,
    RosterEntry,
    RunError,
    TurnInput,
    configure_models,
    round_robin,
)
from flowcompose.core import events


def echo(turn: TurnInput) -> str:
    return f"{turn.goal}:{turn.agent_name}{turn.round}:{len(turn.contributions)}"


def panel(**options: Any) -> Pattern[Any]:
    roster = [RosterEntry(name=name, block=echo) for name in "ab"]
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    return build(
        **{"name": "p", "roster": roster, "max_rounds": 2, "synthesizer": False, **options}
    )


def expected(goal: str) -> list[str]:
    return [
        f"{goal}:{name}{number}:{i}"
        for i, (number, name) in enumerate([(1, "a"), (1, "b"), (2, "a"), (2, "b")])
    ]


def texts(result: Any) -> list[str]:
    return [c.text for c in result.contributions]


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(tmp_path / "runs.db", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


def test_two_runs_one_after_the_other_do_not_see_each_other() -> None:
    pattern = panel()
    assert texts(pattern.run("x")) == expected("x")
    assert texts(pattern.run("y")) == expected("y")


def test_runs_in_threads_do_not_see_each_other() -> None:
    together = threading.Barrier(8, timeout=30)  # each turn of all eight happens at once

    def speak(turn: TurnInput) -> str:
        together.wait()
        return echo(turn)

    pattern = panel(roster=[RosterEntry(name=name, block=speak) for name in "ab"])
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(pattern.run, [f"g{number}" for number in range(8)]))
    assert [texts(result) for result in results] == [expected(f"g{n}") for n in range(8)]


@pytest.mark.parametrize("saving", [False, True])
async def test_fifty_runs_at_once_do_not_see_each_other(saving: bool) -> None:
    async def speak(turn: TurnInput) -> str:
        await asyncio.sleep(0)
        return echo(turn)

    roster = [RosterEntry(name=name, block=speak) for name in "ab"]
    pattern = panel(roster=roster, checkpointer=InMemorySaver() if saving else None)
    results = await asyncio.gather(*(pattern.arun(f"g{number}") for number in range(50)))
    assert [texts(result) for result in results] == [expected(f"g{n}") for n in range(50)]


def test_a_new_run_on_a_thread_starts_with_an_empty_transcript(saver: SqliteSaver) -> None:
    pattern = panel(checkpointer=saver)
    pattern.run("x", thread_id="t")
    result = pattern.run("y", thread_id="t")
    assert texts(result) == expected("y")
    assert len(result.tasks) == 4


def test_a_thread_used_again_takes_no_old_answer_for_input() -> None:
    pattern = panel(checkpointer=InMemorySaver(), synthesizer=lambda given: "answer", max_rounds=1)
    pattern.run("first", thread_id="t")
    config: Any = {"configurable": {"thread_id": "t"}}
    with pytest.raises(DefinitionError, match="the input must have 'goal'"):
        pattern.invoke({}, config)
    history: list[int] = []

    def look(turn: TurnInput) -> str:
        history.append(len(turn.history))
        return "x"

    looking = panel(
        roster=[RosterEntry(name="a", block=look)],
        checkpointer=pattern.checkpointer,
        synthesizer=lambda given: "answer",
        max_rounds=1,
    )
    looking.run("second", thread_id="t")
    looking.run("third", thread_id="t")
    assert history == [0, 0]


def test_a_run_with_a_checkpointer_tells_its_thread(saver: SqliteSaver) -> None:
    pattern = panel(checkpointer=saver)
    first, second = pattern.run("x"), pattern.run("y")
    assert first.thread_id is not None
    assert first.thread_id != second.thread_id
    assert texts(pattern.resume(first.thread_id)) == expected("x")


def test_thread_id_without_a_checkpointer_names_the_argument() -> None:
    with pytest.raises(
        DefinitionError, match=r"thread_id='t' needs a checkpointer: pass checkpointer=\.\.\."
    ):
        panel().run("x", thread_id="t")
    with pytest.raises(DefinitionError, match="needs a checkpointer"):
        panel().resume("t")


def test_resume_of_an_unknown_thread_says_so(saver: SqliteSaver) -> None:
    with pytest.raises(
        RunError, match="thread 'nope' is not known to this checkpointer; start it with run"
    ):
        panel(checkpointer=saver).resume("nope")


def test_resume_of_a_finished_thread_gives_its_result_and_runs_nothing(saver: SqliteSaver) -> None:
    spoken: list[str] = []

    def speak(turn: TurnInput) -> str:
        spoken.append(turn.agent_name)
        return "x"

    pattern = panel(roster=[RosterEntry(name="a", block=speak)], checkpointer=saver)
    done = pattern.run("x", thread_id="t")
    again = pattern.resume("t")
    assert again == done
    assert len(spoken) == 2


class Failing:
    """A member that fails at one turn until it is told otherwise."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.taken: list[int] = []

    def __call__(self, turn: TurnInput) -> str:
        if turn.turn == self.at:
            raise ValueError("down")
        self.taken.append(turn.turn)
        return str(turn.turn)


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_resume_after_an_error_goes_on_at_the_failed_turn(saver: SqliteSaver, at: int) -> None:
    member = Failing(at)
    roster = [RosterEntry(name=name, block=member) for name in "ab"]
    pattern = panel(roster=roster, checkpointer=saver)
    with pytest.raises(MemberError) as caught:
        pattern.run("x", thread_id="t")
    assert caught.value.result is not None
    assert caught.value.result.thread_id == "t"
    config: Any = {"configurable": {"thread_id": "t"}}
    assert pattern.get_state(config).next == ("ab"[(at - 1) % 2],)
    member.at = 0
    assert texts(pattern.resume("t")) == ["1", "2", "3", "4"]
    assert member.taken == [1, 2, 3, 4]


@pytest.mark.parametrize("referee", [None, lambda turn: {"critique": "c"}])
def test_a_failing_predicate_costs_no_turn(saver: SqliteSaver, referee: Any) -> None:
    broken = [True]
    taken: list[int] = []

    def stop(ctx: Context) -> bool:
        if broken[0]:
            raise ValueError("down")
        return False

    def speak(turn: TurnInput) -> str:
        taken.append(turn.turn)
        return str(turn.turn)

    roster = [RosterEntry(name=name, block=speak) for name in "ab"]
    pattern = panel(roster=roster, checkpointer=saver, terminate_when=stop, referee=referee)
    with pytest.raises(RunError, match="terminate_when failed after turn 2"):
        pattern.run("x", thread_id="t")
    broken[0] = False
    result = pattern.resume("t")
    assert texts(result) == ["1", "2", "3", "4"]
    assert taken == [1, 2, 3, 4]
    assert len(result.referee_critiques) == (2 if referee else 0)


async def test_resume_works_on_the_async_path(tmp_path: Path) -> None:
    member = Failing(3)
    roster = [RosterEntry(name=name, block=member) for name in "ab"]
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as saver:
        pattern = panel(roster=roster, checkpointer=saver)
        with pytest.raises(MemberError):
            await pattern.arun("x", thread_id="t")
        member.at = 0
        assert texts(await pattern.aresume("t")) == ["1", "2", "3", "4"]
        assert texts(await pattern.aresume("t")) == ["1", "2", "3", "4"]
    assert member.taken == [1, 2, 3, 4]


async def test_a_cancelled_run_can_be_resumed() -> None:
    hang, taken = [True], list[int]()

    async def speak(turn: TurnInput) -> str:
        if turn.turn == 3 and hang[0]:
            waiting.set()
            await asyncio.Event().wait()
        taken.append(turn.turn)
        return str(turn.turn)

    waiting = asyncio.Event()
    roster = [RosterEntry(name=name, block=speak) for name in "ab"]
    pattern = panel(roster=roster, checkpointer=InMemorySaver())
    running = asyncio.create_task(pattern.arun("x", thread_id="t"))
    await waiting.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    hang[0] = False
    assert texts(await pattern.aresume("t")) == ["1", "2", "3", "4"]
    assert taken == [1, 2, 3, 4]


def test_a_member_can_ask_a_person_and_go_on_with_the_answer(saver: SqliteSaver) -> None:
    def ask(turn: TurnInput) -> str:
        return f"they said {interrupt('shall we?')}" if turn.turn == 2 else "x"

    roster = [RosterEntry(name=name, block=ask) for name in "ab"]
    pattern = panel(roster=roster, checkpointer=saver, max_rounds=1)
    waiting = pattern.run("x", thread_id="t")
    assert (waiting.stop.reason, waiting.interrupts) == ("interrupted", ["shall we?"])
    assert texts(waiting) == ["x"]
    assert texts(pattern.resume("t", "yes")) == ["x", "they said yes"]


def test_a_run_can_be_forked_from_an_earlier_turn(saver: SqliteSaver) -> None:
    pattern = panel(checkpointer=saver)
    pattern.run("x", thread_id="t")
    config: Any = {"configurable": {"thread_id": "t"}}
    after_two = next(
        s for s in pattern.get_state_history(config) if len(s.values["contributions"]) == 2
    )
    forked = pattern.invoke(None, after_two.config)
    assert [entry["text"] for entry in forked["contributions"]] == expected("x")


def test_the_session_stays_on_the_thread(saver: SqliteSaver) -> None:
    def tell(turn: TurnInput, ctx: Context) -> str:
        return str(dict(ctx.session.state))

    roster = [RosterEntry(name="a", block=tell)]
    pattern = panel(roster=roster, checkpointer=saver, max_rounds=1)
    assert texts(pattern.run("x", thread_id="t", session={"a": 1, "b": 1})) == ["{'a': 1, 'b': 1}"]
    assert texts(pattern.run("x", thread_id="t", session={"b": 2})) == ["{'a': 1, 'b': 2}"]
    assert texts(pattern.run("x", thread_id="t")) == ["{'a': 1, 'b': 2}"]
    assert texts(pattern.run("x", thread_id="other")) == ["{}"]


def test_checkpoints_grow_by_what_a_turn_adds(tmp_path: Path) -> None:
    def bytes_of(turns: int) -> int:
        connection = sqlite3.connect(tmp_path / f"{turns}.db", check_same_thread=False)
        roster = [RosterEntry(name="a", block=lambda turn: "x" * 1000)]
        pattern = panel(roster=roster, max_rounds=turns, checkpointer=SqliteSaver(connection))
        pattern.run("x" * 20_000, thread_id="t")
        connection.close()
        return (tmp_path / f"{turns}.db").stat().st_size

    small, large = bytes_of(50), bytes_of(200)
    assert (large - small) / 150 < 4_000


def test_a_run_in_another_thread_of_the_process_resumes_what_this_one_left() -> None:
    member = Failing(2)
    roster = [RosterEntry(name=name, block=member) for name in "ab"]
    pattern = panel(roster=roster, checkpointer=InMemorySaver())
    with pytest.raises(MemberError):
        pattern.run("x", thread_id="t")
    member.at = 0
    results: list[Any] = []
    worker = threading.Thread(target=lambda: results.append(pattern.resume("t")))
    worker.start()
    worker.join()
    assert texts(results[0]) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("use_async", [False, True])
async def test_a_run_whose_events_were_left_early_can_be_resumed(use_async: bool) -> None:
    taken: list[int] = []

    def speak(turn: TurnInput) -> str:
        taken.append(turn.turn)
        return str(turn.turn)

    roster = [RosterEntry(name=name, block=speak) for name in "ab"]
    pattern = panel(roster=roster, checkpointer=InMemorySaver())
    if use_async:
        async for event in pattern.aevents("x", thread_id="t"):
            if isinstance(event, events.TurnCompleted) and event.turn == 2:
                break
        await asyncio.sleep(0)
        result = await pattern.aresume("t")
    else:
        for event in pattern.events("x", thread_id="t"):
            if isinstance(event, events.TurnCompleted) and event.turn == 2:
                break
        result = pattern.resume("t")
    assert texts(result) == ["1", "2", "3", "4"]
    assert taken == [1, 2, 3, 4]


def test_a_member_cannot_write_to_the_session_of_others() -> None:
    def write(turn: TurnInput, ctx: Context) -> str:
        seen = str(dict(ctx.session.state))
        with pytest.raises(TypeError):
            ctx.session.state["user"] = turn.goal  # type: ignore[index]  # pyright: ignore - the point
        if "deep" in ctx.session.state:
            ctx.session.state["deep"].append(turn.turn)
        return seen

    roster = [RosterEntry(name="a", block=write)]
    pattern = panel(roster=roster)
    assert texts(pattern.run("x")) == texts(pattern.run("y")) == ["{}", "{}"]
    given: dict[str, Any] = {"deep": []}
    assert texts(pattern.run("x", session=given)) == ["{'deep': []}"] * 2
    assert given == {"deep": []}


@pytest.mark.parametrize("session", [5, "abc", [1]])
def test_a_session_that_is_no_mapping_is_refused(session: Any) -> None:
    with pytest.raises(DefinitionError, match="session: must be a mapping or None, got"):
        panel().run("x", session=session)


def test_a_long_session_costs_checkpoints_nothing(tmp_path: Path) -> None:
    def bytes_of(session: dict[str, Any]) -> int:
        path = tmp_path / f"{len(session)}.db"
        connection = sqlite3.connect(path, check_same_thread=False)
        pattern = panel(max_rounds=50, checkpointer=SqliteSaver(connection))
        pattern.run("x", thread_id="t", session=session)
        connection.close()
        return path.stat().st_size

    assert bytes_of({"document": "x" * 50_000}) - bytes_of({}) < 400_000


@pytest.mark.parametrize("referee", [None, lambda turn: {"critique": "c"}])
def test_a_person_can_be_asked_by_the_predicate_without_a_turn_taken_twice(referee: Any) -> None:
    taken: list[int] = []

    def speak(turn: TurnInput) -> str:
        taken.append(turn.turn)
        return str(turn.turn)

    roster = [RosterEntry(name=name, block=speak) for name in "ab"]
    pattern = panel(
        roster=roster,
        terminate_when=lambda ctx: interrupt("enough?"),
        referee=referee,
        checkpointer=InMemorySaver(),
    )
    waiting = pattern.run("x", thread_id="t")
    assert (waiting.stop.reason, waiting.interrupts) == ("interrupted", ["enough?"])
    assert texts(waiting) == ["1", "2"]
    assert pattern.resume("t", "yes").stop.reason == "terminate_when"
    assert taken == [1, 2]


def test_a_predicate_that_fails_is_asked_once_until_the_resume() -> None:
    asked: list[int] = []

    def stop(ctx: Context) -> bool:
        asked.append(ctx.state.round)
        if len(asked) == 1:
            raise ValueError("down")
        return False

    pattern = panel(terminate_when=stop, checkpointer=InMemorySaver())
    with pytest.raises(RunError, match="terminate_when failed after turn 2") as caught:
        pattern.run("x", thread_id="t")
    assert asked == [1]
    assert isinstance(caught.value.__cause__, ValueError)
    assert pattern.resume("t").rounds == 2
    assert asked == [1, 1]


def test_a_static_breakpoint_gives_what_there_is_and_goes_on() -> None:
    graph = panel().builder.compile(checkpointer=InMemorySaver(), interrupt_before=["b"])
    waiting: Any = graph
    result = waiting.run("x", thread_id="t")
    assert (result.stop.reason, texts(result)) == ("interrupted", expected("x")[:1])
    again = waiting.resume("t")
    while again.stop.reason == "interrupted":
        again = waiting.resume("t")
    assert texts(again) == expected("x")


def test_a_thread_bound_to_the_pattern_is_used() -> None:
    bound = panel(checkpointer=InMemorySaver()).with_config({"configurable": {"thread_id": "mine"}})
    assert bound.run("x").thread_id == "mine"


@pytest.mark.parametrize("thread_id", ["", 5])
def test_a_thread_id_that_is_no_name_is_refused(thread_id: Any) -> None:
    with pytest.raises(DefinitionError, match="thread_id must be a non-empty string or None, got"):
        panel(checkpointer=InMemorySaver()).run("x", thread_id=thread_id)


def test_a_cap_that_raised_is_no_error_of_the_finished_thread() -> None:
    pattern = panel(checkpointer=InMemorySaver(), on_limit="raise")
    with pytest.raises(MaxTurnsReached):
        pattern.run("x", thread_id="t")
    assert texts(pattern.resume("t")) == expected("x")


def test_a_second_run_streams_no_counts_of_the_first() -> None:
    pattern = panel(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    pattern.invoke({"goal": "x"}, config)
    counts = [
        part.get("turns") for part in pattern.stream({"goal": "y"}, config, stream_mode="values")
    ]
    assert counts[-1] == 4
    assert set(counts[1:-1]) == {None}


def test_a_second_run_that_died_at_its_start_is_what_resume_goes_on_with() -> None:
    class Dying(InMemorySaver):
        """Stops once it has stored the input of a run."""

        armed = False

        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            stored = super().put(config, checkpoint, metadata, new_versions)
            if self.armed and metadata["source"] == "input":
                raise KeyboardInterrupt
            return stored

    saver = Dying()
    pattern = panel(checkpointer=saver)
    pattern.run("first", thread_id="t")
    saver.armed = True
    with pytest.raises(KeyboardInterrupt):
        pattern.run("second", thread_id="t")
    saver.armed = False
    assert texts(pattern.resume("t")) == expected("second")


def test_a_run_that_found_no_model_goes_on_once_there_is_one() -> None:
    configure_models({"chat": "offline"})
    pattern = round_robin(
        name="p", roster=[{"name": "a"}], max_rounds=1, checkpointer=InMemorySaver()
    )
    pattern.run("first", thread_id="t")
    configure_models({})
    with pytest.raises(DefinitionError, match="no model is configured"):
        pattern.run("second one", thread_id="t")
    configure_models({"chat": "offline"})
    assert "second one" in pattern.resume("t").contributions[0].text
    configure_models({})


@pytest.mark.parametrize("door", ["run", "invoke"])
def test_a_session_is_kept_as_json_whichever_way_it_came(door: str, saver: SqliteSaver) -> None:
    def tell(turn: TurnInput, ctx: Context) -> str:
        return str(dict(ctx.session.state))

    given: dict[str, Any] = {"when": date(2026, 1, 2), "who": ("a", "b")}
    pattern = panel(roster=[RosterEntry("a", block=tell)], max_rounds=1, checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    if door == "run":
        pattern.run("x", thread_id="t", session=given)
    else:
        pattern.invoke({"goal": "x", "session": given}, config)
    assert texts(pattern.run("x", thread_id="t")) == ["{'when': '2026-01-02', 'who': ['a', 'b']}"]


def test_a_session_that_cannot_be_written_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    with pytest.raises(DefinitionError, match="session: cannot be written as JSON"):
        panel().run("x", session=circle)


@pytest.mark.parametrize(("argument", "value"), [("durability", "bogus"), ("thread_id", "")])
def test_settings_of_a_run_that_are_none_are_refused(argument: str, value: str) -> None:
    given: dict[str, Any] = {argument: value}
    with pytest.raises(DefinitionError, match=f"{argument} must be"):
        panel(checkpointer=InMemorySaver()).run("x", **given)


def test_resume_without_a_thread_is_refused() -> None:
    none: Any = None
    with pytest.raises(DefinitionError, match="thread_id must be a non-empty string"):
        panel(checkpointer=InMemorySaver()).resume(none)
