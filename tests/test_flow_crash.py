"""Flows that are killed, fail, are cancelled or ask a person: how they go on, in any process."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import interrupt

from flowcompose import (
    Context,
    Flow,
    Pattern,
    Result,
    RosterEntry,
    RunError,
    TurnInput,
    round_robin,
)

both_paths = pytest.mark.parametrize("use_async", [False, True])

STEPS = [
    *("outline", "draft", "log"),
    *("first-a1", "first-b1", "first-a2", "first-b2"),
    *("note", "deep-a1", "deep-b1"),
    *("left-a-a1", "left-a-b1", "right-a-a1", "right-a-b1"),
    *("item-x-a1", "item-x-b1", "item-y-a1", "item-y-b1"),
    "publish",
]
IN_A_ROW = STEPS[: STEPS.index("left-a-a1")]
SCRIPT = Path(__file__).with_name("crash_flow.py")


def start(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(folder / "runs.db"), str(folder / "effects")]
    strict = {**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"}
    return subprocess.run(
        [*command, *arguments], env=strict, capture_output=True, text=True, check=False
    )


def effects(folder: Path) -> list[str]:
    path = folder / "effects"
    return path.read_text().split() if path.exists() else []


@pytest.mark.parametrize("kill_at", STEPS)
def test_a_killed_flow_resumes_in_another_process_with_nothing_lost_or_repeated(
    tmp_path: Path, kill_at: str
) -> None:
    assert start(tmp_path, "run", kill_at).returncode == -signal.SIGKILL
    before = effects(tmp_path)
    assert kill_at not in before
    if kill_at in IN_A_ROW:
        assert before == IN_A_ROW[: IN_A_ROW.index(kill_at)]
    resumed = start(tmp_path, "resume")
    assert resumed.stderr == ""
    assert sorted(effects(tmp_path)) == sorted(STEPS)
    assert effects(tmp_path)[: len(IN_A_ROW)] == IN_A_ROW
    assert resumed.stdout.strip() == "['a1b1', 'a1b1'] completed"


@pytest.mark.parametrize("kill_at", ["draft", "first-a2", "deep-b1", "right-a-b1", "item-y-a1"])
def test_the_same_on_the_async_path(tmp_path: Path, kill_at: str) -> None:
    assert start(tmp_path, "arun", kill_at).returncode == -signal.SIGKILL
    resumed = start(tmp_path, "aresume")
    assert resumed.stderr == ""
    assert sorted(effects(tmp_path)) == sorted(STEPS)
    assert resumed.stdout.strip() == "['a1b1', 'a1b1'] completed"


@pytest.mark.parametrize("step", range(1, 8))
def test_a_flow_killed_while_it_saves_a_step_loses_and_repeats_none(
    tmp_path: Path, step: int
) -> None:
    assert start(tmp_path, "run", f"save{step}").returncode == -signal.SIGKILL
    resumed = start(tmp_path, "resume")
    assert resumed.stderr == ""
    assert sorted(effects(tmp_path)) == sorted(STEPS)
    assert resumed.stdout.strip() == "['a1b1', 'a1b1'] completed"


# In one process


async def run(
    flow: Flow[Any] | Pattern[Any], value: Any, *, use_async: bool, **options: Any
) -> Result[Any]:
    return await flow.arun(value, **options) if use_async else flow.run(value, **options)


async def resume(app: Pattern[Any], *given: Any, use_async: bool) -> Result[Any]:
    return await app.aresume(*given) if use_async else app.resume(*given)


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(tmp_path / "runs.db", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


class Work:
    """A function that notes its calls, and fails at one value until it is told otherwise."""

    def __init__(self, bad: Any = None) -> None:
        self.bad = bad
        self.taken: list[Any] = []

    def __call__(self, value: Any) -> Any:
        if self.bad is not None and value == self.bad:
            raise ValueError("down")
        self.taken.append(value)
        return value + 1


@both_paths
@pytest.mark.parametrize("bad", [0, 1, 2, 3])
async def test_resume_after_an_error_goes_on_at_the_failed_step(bad: int, use_async: bool) -> None:
    work = Work(bad)
    flow = Flow("f").step(work, name="a").step(Flow("inner").step(work).step(work)).step(work)
    app = flow.compile(checkpointer=InMemorySaver())
    with pytest.raises(RunError, match="down") as caught:
        await run(app, 0, use_async=use_async, thread_id="t")
    assert caught.value.result is not None
    assert caught.value.result.thread_id == "t"
    work.bad = None
    assert (await resume(app, "t", use_async=use_async)).output == 4
    assert work.taken == [0, 1, 2, 3]


@both_paths
async def test_a_failed_condition_costs_no_step(use_async: bool) -> None:
    work, asked = Work(), Work(bad=2)
    flow = Flow("f").step(work, name="a").step(work, name="b").step_if(asked, work, name="c")
    app = flow.compile(checkpointer=InMemorySaver())
    with pytest.raises(RunError, match="step 'c' failed"):
        await run(app, 0, use_async=use_async, thread_id="t")
    asked.bad = None
    assert (await resume(app, "t", use_async=use_async)).output == 3
    assert work.taken == [0, 1, 2]


@both_paths
async def test_items_that_are_finished_are_not_run_again(use_async: bool) -> None:
    work = Work(bad=3)
    app = Flow("f").for_each(work, max_concurrency=1).compile(checkpointer=InMemorySaver())
    with pytest.raises(RunError, match="down"):
        await run(app, [1, 2, 3, 4, 5], use_async=use_async, thread_id="t")
    work.bad = None
    assert (await resume(app, "t", use_async=use_async)).output == [2, 3, 4, 5, 6]
    assert sorted(work.taken) == [1, 2, 3, 4, 5]


@both_paths
async def test_a_loop_goes_on_in_the_round_in_which_it_failed(use_async: bool) -> None:
    work = Work(bad=3)
    flow = Flow("f").step(work, name="count").loop_back("count", max_iterations=5)
    app = flow.compile(checkpointer=InMemorySaver())
    with pytest.raises(RunError, match="down"):
        await run(app, 0, use_async=use_async, thread_id="t")
    work.bad = None
    assert (await resume(app, "t", use_async=use_async)).output == 6
    assert work.taken == [0, 1, 2, 3, 4, 5]


async def test_resume_works_with_an_async_store(tmp_path: Path) -> None:
    work = Work(bad=1)
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as saver:
        app = Flow("f").step(work, name="a").step(work, name="b").compile(checkpointer=saver)
        with pytest.raises(RunError, match="step 'b' failed"):
            await app.arun(0, thread_id="t")
        work.bad = None
        assert (await app.aresume("t")).output == 2
    assert work.taken == [0, 1]


async def test_a_cancelled_flow_can_be_resumed() -> None:
    hang, taken, waiting = [True], list[str](), asyncio.Event()

    async def slow(value: str) -> str:
        if hang[0]:
            waiting.set()
            await asyncio.Event().wait()
        taken.append("slow")
        return value

    def quick(value: str) -> str:
        taken.append("quick")
        return value

    app = Flow("f").step(quick).step(slow).compile(checkpointer=InMemorySaver())
    running = asyncio.create_task(app.arun("x", thread_id="t"))
    await waiting.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    hang[0] = False
    assert (await app.aresume("t")).output == "x"
    assert taken == ["quick", "slow"]


def test_resume_of_a_finished_flow_gives_its_result_and_runs_nothing(saver: SqliteSaver) -> None:
    work = Work()
    app = Flow("f").step(work).exit_if(bool, name="done").step(work).compile(checkpointer=saver)
    done = app.run(0, thread_id="t")
    assert app.resume("t") == done
    assert done.stop.by is not None
    assert work.taken == [0]


def test_resume_of_an_unknown_thread_says_so(saver: SqliteSaver) -> None:
    app = Flow("f").step(Work()).compile(checkpointer=saver)
    with pytest.raises(RunError, match="thread 'nope' is not known to this checkpointer"):
        app.resume("nope")


def test_a_new_run_on_a_thread_starts_anew(saver: SqliteSaver) -> None:
    work = Work(bad=11)
    app = Flow("f").step(work, name="a").step(work, name="b").compile(checkpointer=saver)
    with pytest.raises(RunError, match="step 'b' failed"):
        app.run(10, thread_id="t")
    assert app.run(0, thread_id="t").output == 2
    assert app.run(5, thread_id="t").output == 7
    assert app.run(0, thread_id="other").output == 2
    assert app.resume("t").output == 7


def test_a_run_with_a_checkpointer_tells_its_thread(saver: SqliteSaver) -> None:
    app = Flow("f").step(Work()).compile(checkpointer=saver)
    first, second = app.run(0), app.run(1)
    assert first.thread_id is not None
    assert first.thread_id != second.thread_id
    assert app.resume(first.thread_id).output == 1


# Asking a person


def ask(value: Any) -> str:
    return f"{value}: {interrupt('shall we?')}"


@both_paths
@pytest.mark.parametrize(
    "asking",
    [
        lambda flow: flow.step(ask),
        lambda flow: flow.map(ask),
        lambda flow: flow.step_if(lambda value: True, ask),
        lambda flow: flow.branch({"x": (lambda value: True, ask)}),
        lambda flow: flow.step(Flow("inner").step(ask)),
        lambda flow: flow.step(Flow("inner").step(Flow("innermost").step(ask))),
        lambda flow: flow.for_each(ask, input=lambda value: [value]).map(lambda values: values[0]),
        lambda flow: flow.parallel([ask]).map(lambda values: values[0]),
        lambda flow: flow.step(lambda text: text, name="plain", input=ask),
    ],
)
async def test_a_flow_can_ask_a_person_and_go_on_with_the_answer(
    asking: Any, use_async: bool
) -> None:
    taken: list[str] = []

    def before(value: str) -> str:
        taken.append(value)
        return value

    app = asking(Flow("f").step(before)).map(str.upper).compile(checkpointer=InMemorySaver())
    waiting = await run(app, "go", use_async=use_async, thread_id="t")
    assert (waiting.stop.reason, waiting.interrupts) == ("interrupted", ["shall we?"])
    assert waiting.thread_id == "t"
    done = await resume(app, "t", "yes", use_async=use_async)
    assert (done.output, done.stop.reason, done.interrupts) == ("GO: YES", "completed", [])
    assert taken == ["go"]


@both_paths
async def test_a_tap_can_wait_for_a_person(use_async: bool) -> None:
    app = Flow("f").tap(ask).compile(checkpointer=InMemorySaver())
    waiting = await run(app, "go", use_async=use_async, thread_id="t")
    assert waiting.interrupts == ["shall we?"]
    assert (await resume(app, "t", "yes", use_async=use_async)).output == "go"


@both_paths
@pytest.mark.parametrize("answer", ["yes", "", 0, False, {"a": 1}])
async def test_any_answer_can_be_given(answer: Any, use_async: bool) -> None:
    app = Flow("f").step(lambda value: interrupt("?")).compile(checkpointer=InMemorySaver())
    await run(app, "go", use_async=use_async, thread_id="t")
    assert (await resume(app, "t", answer, use_async=use_async)).output == answer


@both_paths
async def test_a_person_can_be_asked_one_thing_after_another(use_async: bool) -> None:
    def twice(value: Any) -> str:
        return f"{interrupt('first?')} {interrupt('second?')}"

    flow = Flow("f").step(twice).for_each(ask, input=lambda value: [value, "z"], max_concurrency=1)
    app = flow.compile(checkpointer=InMemorySaver())
    asked = [(await run(app, "go", use_async=use_async, thread_id="t")).interrupts]
    for answer in "abc":
        asked.append((await resume(app, "t", answer, use_async=use_async)).interrupts)
    assert asked == [["first?"], ["second?"], ["shall we?"], ["shall we?"]]
    assert (await resume(app, "t", "d", use_async=use_async)).output == ["a b: c", "z: d"]


@both_paths
async def test_parts_that_are_done_wait_for_the_answer_of_another(use_async: bool) -> None:
    work = Work()
    app = Flow("f").parallel([work, ask]).compile(checkpointer=InMemorySaver())
    waiting = await run(app, 1, use_async=use_async, thread_id="t")
    assert waiting.interrupts == ["shall we?"]
    assert (await resume(app, "t", "yes", use_async=use_async)).output == [2, "1: yes"]
    assert work.taken == [1]


def asking_panel(taken: list[str]) -> Pattern[Any]:
    def speak(turn: TurnInput) -> str:
        said = str(interrupt("shall we?")) if turn.agent_name == "b" else "x"
        taken.append(turn.agent_name)
        return said

    return round_robin(
        name="panel",
        roster=[RosterEntry(name=name, block=speak) for name in "ab"],
        max_rounds=1,
        synthesizer=lambda given: [each.text for each in given.contributions],
    )


@both_paths
async def test_a_member_of_a_pattern_step_can_ask_a_person(use_async: bool) -> None:
    taken: list[str] = []
    flow = Flow("f").tap(lambda value: taken.append("tap"), name="tap")
    flow = flow.step(Flow("inner").step(asking_panel(taken))).step("".join)
    app = flow.compile(checkpointer=InMemorySaver())
    waiting = await run(app, "go", use_async=use_async, thread_id="t")
    assert (waiting.stop.reason, waiting.interrupts) == ("interrupted", ["shall we?"])
    assert (await resume(app, "t", "yes", use_async=use_async)).output == "xyes"
    assert taken == ["tap", "a", "b"]


def test_the_session_is_there_after_a_resume(saver: SqliteSaver) -> None:
    def tell(value: Any, ctx: Context) -> str:
        return f"{value} {ctx.session.state['who']}"

    inner = Flow("inner").step(tell, name="one").step(ask).step(tell, name="two")
    app = Flow("f").step(inner).step(tell).compile(checkpointer=saver)
    app.run("go", thread_id="t", session={"who": "me"})
    assert app.resume("t", "yes").output == "go me: yes me me"
