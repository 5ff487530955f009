"""Typed state that blocks share: what it holds, how long it lives, what a failed step leaves."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

from flowcompose import (
    Context,
    DefinitionError,
    Flow,
    MemberError,
    Pattern,
    RosterEntry,
    RunError,
    TurnInput,
    capability,
    create_round_robin_contributions,
    generator,
    handler,
    resource,
    round_robin,
)
from flowcompose.core.testing import ScriptedModel


class Notes(BaseModel):
    count: int = Field(default=0, ge=0)
    lines: list[str] = Field(default_factory=list)


class Required(BaseModel):
    count: int
    title: str


Act = Callable[[Any, Context], Any]


def panel(*acts: Act, **options: Any) -> Pattern[Any]:
    """A round of members that are the given functions, all using `resources=`."""
    used = options.pop("resources", [])
    roster = [
        RosterEntry(name=f"m{n}", block=handler(act, resources=used))
        for n, act in enumerate(acts, 1)
    ]
    given = {"name": "p", "roster": roster, "max_rounds": 1, "synthesizer": False}
    build: Callable[..., Pattern[Any]] = round_robin  # the options vary
    return build(**{**given, **options})


def texts(pattern: Pattern[Any], **options: Any) -> list[str]:
    return [c.text for c in pattern.run("go", **options).contributions]


def counting(notes: Any) -> Act:
    """A member that counts up and says the number."""

    def count(turn: TurnInput, ctx: Context) -> str:
        number = ctx.resources[notes].state.count + 1
        ctx.resources[notes].patch(count=number)
        return str(number)

    return count


# --- the definition


def test_a_resource_begins_with_the_defaults_of_its_schema() -> None:
    notes = resource("notes", Notes)
    assert texts(panel(lambda _, ctx: repr(ctx.resources[notes].state), resources=[notes])) == [
        "Notes(count=0, lines=[])"
    ]


@pytest.mark.parametrize(
    "default", [Notes(count=3), {"count": 3}, lambda: Notes(count=3), lambda: {"count": 3}]
)
def test_a_default_may_be_an_object_a_mapping_or_a_function_that_gives_one(default: Any) -> None:
    notes = resource("notes", Notes, default=default)
    assert texts(panel(counting(notes), resources=[notes])) == ["4"]


def test_a_default_that_is_changed_later_is_not_changed_for_the_resource() -> None:
    mine = Notes(count=3)
    notes = resource("notes", Notes, default=mine)
    mine.count = 9
    assert texts(panel(counting(notes), resources=[notes])) == ["4"]


def test_a_schema_that_needs_values_needs_a_default() -> None:
    with pytest.raises(
        DefinitionError, match="Required has no default for 'count', 'title', got None"
    ):
        resource("notes", Required)


def test_all_problems_of_a_resource_are_told_at_once() -> None:
    with pytest.raises(DefinitionError) as caught:
        resource("__notes", dict, scope="thread")  # type: ignore[type-var, arg-type]  # pyright: ignore[reportArgumentType] - wrong on purpose
    assert caught.value.problems == (
        "name must not begin with '__', got '__notes'",
        "scope must be one of 'run', 'session', 'user', got 'thread'",
        "schema must be a pydantic model class with fields, got <class 'dict'>",
    )


class Listed(RootModel[list[int]]):
    pass


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("", Notes), "name must be a non-empty string, got ''"),
        ((7, Notes), "name must be a non-empty string, got 7"),
        (("n", Notes()), r"schema must be a pydantic model class with fields, got Notes\("),
        (("n", Listed), "schema must be a pydantic model class with fields, got"),
    ],
)
def test_a_wrong_name_or_schema_is_refused(arguments: Any, problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        resource(*arguments)


def _broken() -> Notes:
    raise OSError("no disk")


async def _later() -> Notes:
    return Notes()


@pytest.mark.parametrize(
    ("default", "problem"),
    [
        ({"count": -1}, r"got \{'count': -1\}: ValidationError: count: Input should be greater"),
        (7, "default must give an object of Notes or a mapping that fits it, got 7"),
        (_broken, "_broken .*: OSError: no disk"),
        (_later, "default must give an object of Notes"),
    ],
)
def test_a_default_that_does_not_fit_is_refused(default: Any, problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        resource("notes", Notes, default=default)


# --- reading and writing


def test_what_one_member_writes_the_next_one_reads() -> None:
    notes = resource("notes", Notes)
    act = counting(notes)
    assert texts(panel(act, act, act, resources=[notes])) == ["1", "2", "3"]


async def test_what_one_member_writes_the_next_one_reads_on_the_async_path() -> None:
    notes = resource("notes", Notes)

    async def count(turn: TurnInput, ctx: Context) -> str:
        await asyncio.sleep(0)
        ctx.resources[notes].patch(count=ctx.resources[notes].state.count + 1)
        return str(ctx.resources[notes].state.count)

    result = await panel(count, counting(notes), resources=[notes]).arun("go")
    assert [c.text for c in result.contributions] == ["1", "2"]


def test_a_patch_leaves_the_other_fields_and_set_leaves_none() -> None:
    notes = resource("notes", Notes, default={"count": 1, "lines": ["a"]})

    def write(turn: TurnInput, ctx: Context) -> str:
        ctx.resources["notes"].patch(lines=["b"])
        first = ctx.resources["notes"].state
        ctx.resources["notes"].set({"count": 7})
        second = ctx.resources["notes"].state
        ctx.resources["notes"].set(Notes(lines=["c"]))
        return f"{first} / {second} / {ctx.resources['notes'].state}"

    last = "count=0 lines=['c']"
    assert texts(
        panel(write, lambda _, ctx: str(ctx.resources["notes"].state), resources=[notes])
    ) == [
        f"count=1 lines=['b'] / count=7 lines=[] / {last}",
        last,
    ]


def test_changing_the_state_writes_nothing() -> None:
    notes = resource("notes", Notes)

    def change(turn: TurnInput, ctx: Context) -> str:
        ctx.resources[notes].state.lines.append("x")
        return str(ctx.resources[notes].state.lines)

    assert texts(panel(change, change, resources=[notes])) == ["[]", "[]"]


class Order(BaseModel):
    model_config = ConfigDict(strict=True)

    low: int = 0
    high: int = 0
    sums: int = 0

    @model_validator(mode="after")
    def _ordered(self) -> Order:
        if self.low > self.high:
            msg = "low must not be above high"
            raise ValueError(msg)
        object.__setattr__(self, "sums", self.low + self.high)
        return self


def write_of(write: Callable[[Any], None], schema: type[BaseModel] = Notes) -> str:
    """What is said of a write that must not be; the member survives to tell."""
    target = resource("notes", schema)

    def act(turn: TurnInput, ctx: Context) -> str:
        with pytest.raises(RunError) as caught:
            write(ctx.resources[target])
        assert isinstance(caught.value, ValueError)
        assert ctx.resources[target].state == schema()
        return str(caught.value)

    return texts(panel(act, resources=[target]))[0]


@pytest.mark.parametrize(
    ("write", "parts"),
    [
        (lambda view: view.patch(count=-5), ("resource 'notes'", "field 'count'", "got -5")),
        (lambda view: view.patch(cuont=1), ("'cuont' (got 1)", "there is: count, lines")),
        (lambda view: view.set({"lines": [3]}), ("field 'lines.0'", "got 3")),
        (lambda view: view.set(7), ("must be an object of Notes or a mapping", "got 7")),
        (
            lambda view: view.set(Required(count=1, title="t")),
            ("an object of Notes", "got Required"),
        ),
        (lambda view: view.set(Notes.model_construct(count="x")), ("field 'count'", "got 'x'")),
    ],
)
def test_a_write_that_does_not_fit_says_where_and_writes_nothing(
    write: Callable[[Any], None], parts: tuple[str, ...]
) -> None:
    said = write_of(write)
    assert [part for part in parts if part not in said] == []


def test_validators_of_the_whole_state_see_a_patch_and_may_change_other_fields() -> None:
    assert "low must not be above high" in write_of(lambda view: view.patch(low=1), Order)
    order = resource("order", Order)

    def act(turn: TurnInput, ctx: Context) -> str:
        ctx.resources[order].patch(low=1, high=2)
        return ""

    def tell(turn: TurnInput, ctx: Context) -> str:
        return str(ctx.resources[order].state)

    assert texts(panel(act, tell, resources=[order]))[1] == "low=1 high=2 sums=3"


def test_an_unknown_resource_names_those_that_there_are() -> None:
    notes, other = resource("notes", Notes), resource("other", Notes)

    def act(turn: TurnInput, ctx: Context) -> str:
        with pytest.raises(
            KeyError, match="no resource 'other' here; there is: contributions, notes"
        ):
            _ = ctx.resources[other]
        return f"{other in ctx.resources} {'notes' in ctx.resources} {notes in ctx.resources}"

    assert texts(panel(act, resources=[notes])) == ["False True True"]


def test_resources_can_be_listed() -> None:
    notes = resource("notes", Notes)

    def act(turn: TurnInput, ctx: Context) -> str:
        return f"{len(ctx.resources)} {sorted(ctx.resources)}"

    assert texts(panel(act, resources={"mine": notes})) == ["2 ['contributions', 'mine']"]


def test_the_key_of_a_mapping_is_how_a_block_asks() -> None:
    notes = resource("notes", Notes)

    def act(turn: TurnInput, ctx: Context) -> str:
        ctx.resources["mine"].patch(count=5)
        return f"{ctx.resources[notes].state.count} {'notes' in ctx.resources}"

    assert texts(panel(act, resources={"mine": notes})) == ["5 False"]


@pytest.mark.parametrize("write", [lambda view: view.patch(entries=[]), lambda view: view.set({})])
def test_a_transcript_is_written_by_its_pattern_alone(write: Callable[[Any], None]) -> None:
    debate = create_round_robin_contributions()

    def act(turn: TurnInput, ctx: Context) -> str:
        with pytest.raises(RunError, match="'debate' is read-only: its pattern writes"):
            write(ctx.resources[debate])
        return "x"

    texts(panel(act, contributions=debate, accessor_key="debate"))


def test_the_referee_and_the_synthesizer_write_too() -> None:
    notes = resource("notes", Notes)

    @handler(resources=[notes])
    def referee(turn: TurnInput, ctx: Context) -> dict[str, str]:
        return {"critique": counting(notes)(turn, ctx)}

    @handler(resources=[notes])
    def synthesizer(given: Any, ctx: Context) -> str:
        return str(counting(notes)(given, ctx))

    pattern = panel(counting(notes), referee=referee, synthesizer=synthesizer, resources=[notes])
    assert pattern.run("go").output == "3"
    assert pattern.invoke({"goal": "go"})["resource_writes"] == {
        "notes": {"whole": False, "fields": {"count": 3}}
    }


async def test_the_referee_and_the_synthesizer_write_on_the_async_path() -> None:
    notes = resource("notes", Notes)

    @handler(resources=[notes])
    async def referee(turn: TurnInput, ctx: Context) -> dict[str, str]:
        return {"critique": counting(notes)(turn, ctx)}

    @handler(resources=[notes])
    async def synthesizer(given: Any, ctx: Context) -> str:
        return str(counting(notes)(given, ctx))

    pattern = panel(counting(notes), referee=referee, synthesizer=synthesizer, resources=[notes])
    assert (await pattern.arun("go")).output == "3"


def test_an_output_has_no_key_for_writes_where_nothing_was_written() -> None:
    notes = resource("notes", Notes)
    output = panel(lambda turn, ctx: "x", resources=[notes]).invoke({"goal": "go"})
    assert "resource_writes" not in output


def test_a_condition_reads_resources_and_may_not_write_them() -> None:
    notes = resource("notes", Notes)
    pattern = panel(
        counting(notes),
        resources=[notes],
        max_rounds=5,
        terminate_when=lambda ctx: ctx.resources[notes].state.count == 2,
    )
    assert pattern.run("go").rounds == 2
    writing = panel(
        counting(notes),
        resources=[notes],
        max_rounds=5,
        terminate_when=lambda ctx: ctx.resources[notes].patch(count=9),
    )
    with pytest.raises(RunError, match="a condition reads resources, it does not write them"):
        writing.run("go")


def test_a_prompt_function_reads_what_was_written() -> None:
    notes = resource("notes", Notes)
    model = ScriptedModel(["said"])
    block = generator(
        "g",
        lambda value, ctx: f"count is {ctx.resources[notes].state.count}",
        model=model,
        resources=[notes],
    )
    roster = [
        RosterEntry(name="a", block=handler(counting(notes), resources=[notes])),
        RosterEntry(name="b", block=block),
    ]
    round_robin(name="p", roster=roster, max_rounds=1, synthesizer=False).run("go")
    assert model.calls[0].messages[0].text == "count is 1"


# --- scopes


def test_a_run_scoped_state_lives_for_one_run() -> None:
    notes = resource("notes", Notes, scope="run")
    pattern = panel(
        counting(notes), counting(notes), resources=[notes], checkpointer=InMemorySaver()
    )
    assert texts(pattern, thread_id="t") == ["1", "2"]
    assert texts(pattern, thread_id="t") == ["1", "2"]


def test_a_session_scoped_state_lives_as_long_as_its_thread() -> None:
    notes = resource("notes", Notes)
    pattern = panel(
        counting(notes), counting(notes), resources=[notes], checkpointer=InMemorySaver()
    )
    assert texts(pattern, thread_id="t") == ["1", "2"]
    assert texts(pattern, thread_id="t") == ["3", "4"]
    assert texts(pattern, thread_id="other") == ["1", "2"]


async def test_a_session_scoped_state_lives_in_sqlite() -> None:
    notes, last = resource("notes", Notes), resource("last", Notes, scope="run")

    def act(turn: TurnInput, ctx: Context) -> str:
        return f"{counting(notes)(turn, ctx)} {counting(last)(turn, ctx)}"

    saver = SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))
    sync = panel(act, resources=[notes, last], checkpointer=saver)
    assert [texts(sync, thread_id="t") for _ in range(3)] == [["1 1"], ["2 1"], ["3 1"]]
    async with AsyncSqliteSaver.from_conn_string(":memory:") as asaver:
        pattern = panel(act, resources=[notes, last], checkpointer=asaver)
        for number in (1, 2, 3):
            result = await pattern.arun("go", thread_id="t")
            assert result.contributions[0].text == f"{number} 1"


def test_runs_at_the_same_time_do_not_see_each_other() -> None:
    async def scenario() -> None:
        notes = resource("notes", Notes, scope="run")
        both = asyncio.Barrier(2)

        async def count(turn: TurnInput, ctx: Context) -> str:
            ctx.resources[notes].patch(lines=[*ctx.resources[notes].state.lines, ctx.goal])
            await both.wait()
            return str(ctx.resources[notes].state.lines)

        pattern = panel(count, count, resources=[notes])
        first, second = await asyncio.gather(pattern.arun("a"), pattern.arun("b"))
        assert first.contributions[-1].text == "['a', 'a']"
        assert second.contributions[-1].text == "['b', 'b']"

    asyncio.run(scenario())


def as_user(name: object) -> Any:
    return {"config": {"configurable": {"user_id": name}}}


def test_a_user_scoped_state_lives_in_the_store_for_all_runs_of_the_user() -> None:
    notes = resource("notes", Notes, scope="user")
    store = InMemoryStore()
    pattern = panel(counting(notes), counting(notes), resources=[notes], store=store)
    assert texts(pattern, **as_user("ann.b@example.org")) == ["1", "2"]
    assert texts(pattern, **as_user("ann.b@example.org")) == ["3", "4"]
    assert texts(pattern, **as_user("bob")) == ["1", "2"]
    kept = store.get(("flowcompose", "resources", "bob"), "notes")
    assert kept is not None
    assert kept.value == {"count": 2, "lines": []}


def test_a_user_scoped_state_lives_in_an_sqlite_store() -> None:
    notes = resource("notes", Notes, scope="user")
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        pattern = panel(counting(notes), resources=[notes], store=store)
        assert [texts(pattern, **as_user("u")) for _ in range(2)] == [["1"], ["2"]]


async def test_a_user_scoped_state_is_never_read_or_saved_synchronously_on_the_event_loop() -> None:
    notes = resource("notes", Notes, scope="user")

    @handler(resources=[notes])
    def referee(turn: TurnInput, ctx: Context) -> dict[str, str]:
        return {"critique": counting(notes)(turn, ctx)}

    async with AsyncSqliteStore.from_conn_string(":memory:") as store:
        await store.setup()  # a sync call on its own loop raises
        pattern = panel(
            counting(notes),
            resources=[notes],
            store=store,
            referee=referee,
            synthesizer=handler(counting(notes), resources=[notes]),
        )
        outputs = [(await pattern.arun("go", **as_user(7))).output for _ in range(2)]
    assert outputs == ["3", "6"]


def test_a_write_of_a_user_is_laid_over_what_another_run_saved_meanwhile() -> None:
    notes = resource("notes", Notes, scope="user")
    store = InMemoryStore()
    place = ("flowcompose", "resources", "u")

    def act(turn: TurnInput, ctx: Context) -> str:
        ctx.resources[notes].patch(count=1)
        store.put(place, "notes", {"count": 8, "lines": ["theirs"]})
        return "x"

    panel(act, resources=[notes], store=store).run("go", **as_user("u"))
    kept = store.get(place, "notes")
    assert kept is not None
    assert kept.value == {"count": 1, "lines": ["theirs"]}


def test_a_user_scoped_resource_needs_a_store_and_a_user() -> None:
    notes = resource("notes", Notes, scope="user")
    called: list[str] = []
    pattern = panel(lambda turn, ctx: called.append("x"), resources=[notes])
    with pytest.raises(DefinitionError) as caught:
        pattern.run("go")
    first, second = caught.value.problems
    assert "store=InMemoryStore()" in first
    assert "config={'configurable': {'user_id': ...}}" in second
    assert "got None" in second
    assert called == []


# --- failures


def failing(notes: Any, turns: set[int]) -> Act:
    def act(turn: TurnInput, ctx: Context) -> str:
        number = counting(notes)(turn, ctx)
        if turn.turn in turns:
            raise ValueError("no")
        return str(number)

    return act


class Capped(BaseModel):
    count: int = 0
    cap: int = 5

    @model_validator(mode="after")
    def below(self) -> Any:
        if self.count > self.cap:
            raise ValueError("over the cap")
        return self


@pytest.mark.parametrize("path", ["sync", "async"])
async def test_what_a_step_writes_for_a_user_is_saved_as_a_whole_or_not_at_all(path: str) -> None:
    notes = resource("notes", Notes, scope="user")
    capped = resource("capped", Capped, scope="user")
    store, place = InMemoryStore(), ("flowcompose", "resources", "u")

    def act(turn: TurnInput, ctx: Context) -> str:
        ctx.resources[notes].patch(count=1)
        ctx.resources[capped].patch(count=4)
        store.put(place, "capped", {"count": 0, "cap": 3})  # another run, meanwhile
        return "x"

    pattern = panel(act, resources=[notes, capped], store=store)
    with pytest.raises(MemberError, match="over the cap"):
        if path == "sync":
            pattern.run("go", **as_user("u"))
        else:
            await pattern.arun("go", **as_user("u"))
    assert store.get(place, "notes") is None


class Broken(InMemoryStore):
    def batch(self, ops: Any) -> Any:
        ops = list(ops)
        if any(isinstance(op, PutOp) and op.key == "two" for op in ops):
            raise OSError("no room")
        return super().batch(ops)


def test_a_store_that_refuses_one_resource_of_a_step_gets_none_of_them() -> None:
    one, two = resource("one", Notes, scope="user"), resource("two", Notes, scope="user")
    store = Broken()

    def act(turn: TurnInput, ctx: Context) -> str:
        ctx.resources[one].patch(count=1)
        ctx.resources[two].patch(count=1)
        return "x"

    with pytest.raises(MemberError, match="no room"):
        panel(act, resources=[one, two], store=store).run("go", **as_user("u"))
    assert store.get(("flowcompose", "resources", "u"), "one") is None


def test_what_a_failed_member_wrote_is_gone() -> None:
    notes = resource("notes", Notes)
    act = failing(notes, {2})
    assert texts(panel(act, act, act, resources=[notes], on_error="skip")) == ["1", "2"]


def test_what_a_failed_member_wrote_is_gone_for_conditions_too() -> None:
    notes = resource("notes", Notes)
    seen: list[int] = []
    panel(
        failing(notes, {1}),
        resources=[notes],
        on_error="skip",
        max_rounds=2,
        terminate_when=lambda ctx: seen.append(ctx.resources[notes].state.count),
    ).run("go")
    assert seen == [0]


def test_a_user_keeps_nothing_of_a_member_that_failed() -> None:
    notes = resource("notes", Notes, scope="user")
    act = failing(notes, {2})
    pattern = panel(act, act, act, resources=[notes], on_error="skip", store=InMemoryStore())
    assert texts(pattern, **as_user("u")) == ["1", "2"]


def test_a_resumed_run_has_what_was_written_before_the_failure_and_once() -> None:
    notes = resource("notes", Notes, scope="run")
    broken = {3}
    act = failing(notes, broken)
    pattern = panel(act, act, act, resources=[notes], checkpointer=InMemorySaver())
    with pytest.raises(MemberError):
        pattern.run("go", thread_id="t")
    broken.clear()
    assert [c.text for c in pattern.resume("t").contributions] == ["1", "2", "3"]


def test_a_block_that_asks_a_person_writes_once() -> None:
    notes = resource("notes", Notes)

    def act(turn: TurnInput, ctx: Context) -> str:
        number = counting(notes)(turn, ctx)
        return f"{number} {interrupt('go on?')}"

    pattern = panel(act, resources=[notes], checkpointer=InMemorySaver())
    assert pattern.run("go", thread_id="t").interrupts == ["go on?"]
    assert pattern.resume("t", "yes").contributions[0].text == "1 yes"


def test_a_condition_that_failed_leaves_the_turns_writes() -> None:
    notes = resource("notes", Notes)
    fail = [True]

    def until(ctx: Context) -> bool:
        if fail:
            raise ValueError("no")
        return ctx.resources[notes].state.count == 1

    pattern = panel(
        counting(notes),
        resources=[notes],
        max_rounds=3,
        terminate_when=until,
        checkpointer=InMemorySaver(),
    )
    with pytest.raises(RunError, match="terminate_when failed"):
        pattern.run("go", thread_id="t")
    fail.clear()
    assert pattern.resume("t").turns == 1


def test_a_late_block_writes_to_nothing() -> None:
    notes = resource("notes", Notes)
    raised: list[str] = []
    gave_up, done = threading.Event(), threading.Event()

    def slow(turn: TurnInput, ctx: Context) -> str:
        if turn.agent_name == "m1":
            gave_up.wait(10)
            try:
                ctx.resources[notes].patch(count=50)
            except RunError as error:
                raised.append(str(error))
            done.set()
            return "late"
        gave_up.set()
        done.wait(10)
        return str(ctx.resources[notes].state.count)

    pattern = panel(slow, slow, resources=[notes], turn_timeout=0.2, on_error="skip")
    assert texts(pattern) == ["0"]
    assert raised == ["the turn was given up: what it writes now is nobody's"]


# --- one inside another


def test_a_pattern_inside_reads_and_writes_the_resources_of_the_one_outside() -> None:
    notes = resource("notes", Notes)
    inner = panel(counting(notes), counting(notes), name="inner", resources=[notes])
    outer = panel(counting(notes), resources=[notes], name="outer", max_rounds=2)
    roster: list[Any] = [RosterEntry(name="m", block=handler(counting(notes), resources=[notes]))]
    outer = round_robin(name="o", roster=[*roster, inner], max_rounds=2, synthesizer=False)
    output = outer.invoke({"goal": "go"})
    assert [e["text"] for e in output["contributions"] if e["agent_name"] == "m"] == ["1", "4"]
    assert output["resource_writes"]["notes"]["fields"] == {"count": 6}


async def test_a_pattern_inside_writes_on_the_async_path() -> None:
    notes = resource("notes", Notes)
    inner = panel(counting(notes), name="inner", resources=[notes])
    roster: list[Any] = [inner, RosterEntry(name="m", block=handler(counting(notes)))]
    outer = round_robin(name="o", roster=roster, max_rounds=1, synthesizer=False)
    assert (await outer.arun("go")).contributions[-1].text == "2"


def test_a_pattern_inside_that_was_interrupted_loses_nothing_and_repeats_nothing() -> None:
    notes = resource("notes", Notes)

    def ask(turn: TurnInput, ctx: Context) -> str:
        return str(interrupt("?"))

    inner = panel(counting(notes), ask, counting(notes), name="inner", resources=[notes])
    roster: list[Any] = [inner, RosterEntry(name="m", block=handler(counting(notes)))]
    saver = SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))
    outer = round_robin(
        name="o", roster=roster, max_rounds=1, synthesizer=False, checkpointer=saver
    )
    assert outer.run("go", thread_id="t").interrupts == ["?"]
    assert outer.resume("t", "yes").contributions[-1].text == "3"


def test_what_a_failed_pattern_inside_wrote_is_gone_and_resumes_where_it_failed() -> None:
    notes = resource("notes", Notes)
    broken = {2}
    act = failing(notes, broken)
    inner = panel(act, act, name="inner", resources=[notes])
    roster: list[Any] = [inner, RosterEntry(name="m", block=handler(counting(notes)))]
    saver = InMemorySaver()
    outer = round_robin(
        name="o", roster=roster, max_rounds=1, synthesizer=False, checkpointer=saver
    )
    with pytest.raises(MemberError):
        outer.run("go", thread_id="t")
    assert not outer.get_state({"configurable": {"thread_id": "t"}}).values["resource_writes"]
    broken.clear()
    assert outer.resume("t").contributions[-1].text == "3"


def test_what_a_pattern_inside_writes_for_a_user_is_saved_with_the_step_outside() -> None:
    notes = resource("notes", Notes, scope="user")
    broken = {2}
    act = failing(notes, broken)
    inner = panel(act, act, name="inner", resources=[notes])
    roster: list[Any] = [inner, RosterEntry(name="m", block=handler(counting(notes)))]
    saver, store = InMemorySaver(), InMemoryStore()
    outer = round_robin(
        name="o",
        roster=roster,
        max_rounds=1,
        synthesizer=False,
        store=store,
        checkpointer=saver,
    )
    with pytest.raises(MemberError):
        outer.run("go", thread_id="t", **as_user("u"))
    assert store.get(("flowcompose", "resources", "u"), "notes") is None
    broken.clear()
    assert outer.resume("t", **as_user("u")).contributions[-1].text == "3"
    assert texts(outer, **as_user("u"))[-1] == "6"


def test_a_pattern_inside_has_a_transcript_of_its_own_and_reads_that_of_the_one_outside() -> None:
    def tell(turn: TurnInput, ctx: Context) -> str:
        inner, outer = (ctx.resources[key].state.entries for key in ("contributions", "debate"))
        return f"{len(inner)} {[each.text for each in outer]}"

    inner = panel(tell, tell, name="inner")
    roster: list[Any] = [RosterEntry(name="m", block=lambda turn: "said"), inner]
    outer = round_robin(
        name="o", roster=roster, max_rounds=1, synthesizer=False, accessor_key="debate"
    )
    said = outer.run("go").contributions[-1].data.contributions
    assert [each.text for each in said] == ["0 ['said']", "1 ['said']"]


class Held(BaseModel):
    word: str = "inner"


def test_of_two_resources_of_one_name_a_graph_inside_uses_its_own() -> None:
    outside, inside = resource("notes", Notes), resource("notes", Held)

    def act(turn: TurnInput, ctx: Context) -> str:
        ctx.resources["notes"].patch(word="mine")
        return str(ctx.resources[inside].state.word)

    inner = panel(act, name="inner", resources=[inside])

    def call(state: Any) -> Any:
        # A graph of the user's hides the pattern from the one outside, so nobody sees a conflict.
        return {"messages": [("ai", inner.invoke({"goal": "x"})["contributions"][0]["text"])]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("call", call)
    builder.add_edge(START, "call")
    graph: Any = builder.compile(name="mine")
    roster: list[Any] = [
        graph,
        RosterEntry(name="m", block=handler(counting(outside), resources=[outside])),
    ]
    outer = round_robin(name="o", roster=roster, max_rounds=1, synthesizer=False)
    assert [c.text for c in outer.run("go").contributions] == ["mine", "1"]


def test_a_run_that_a_function_starts_in_a_flow_inside_is_a_run_of_its_own() -> None:
    notes, store = resource("notes", Notes, scope="user"), InMemoryStore()
    other = panel(counting(notes), name="other", resources=[notes], store=store)

    def call(value: Any) -> list[str]:
        return [*texts(other), *texts(other)]

    flow = Flow("outer", resources=[notes]).step(Flow("inner").step(call)).compile(store=store)
    assert flow.run("go", **as_user("u")).output == ["1", "2"]
    assert texts(other, **as_user("u")) == ["3"]


async def test_a_run_that_a_function_starts_is_its_own_on_the_async_path() -> None:
    notes, store = resource("notes", Notes, scope="user"), InMemoryStore()
    other = panel(counting(notes), name="other", resources=[notes], store=store)

    async def call(value: Any) -> str:
        await other.arun("go")
        return (await other.arun("go")).contributions[-1].text

    flow = Flow("outer", resources=[notes]).step(Flow("inner").step(call)).compile(store=store)
    assert (await flow.arun("go", **as_user("u"))).output == "2"


# --- in a chain


class Pair(BaseModel):
    left: int = 0
    right: int = 0


def writing(pair: Any, field: str, before: asyncio.Event, after: asyncio.Event) -> Any:
    """A generator whose tool writes a field: not before one event, and it sets the other."""

    @handler(name="write", resources=[pair])
    async def write(text: str, ctx: Context) -> str:
        """Write."""
        await before.wait()
        ctx.resources[pair].patch(**{field: 1})
        after.set()
        return "written"

    call = AIMessage("", tool_calls=[tool_call(name="write", args={"input": "x"}, id="1")])
    return generator(field, model=ScriptedModel([call, "done"]), tools=[write])


class Slow(InMemoryStore):
    """Says when something is to be stored, and waits, so that others can write meanwhile."""

    def __init__(self, asked: asyncio.Event, until: asyncio.Event) -> None:
        super().__init__()
        self.asked = asked
        self.until = until

    async def abatch(self, ops: Any) -> Any:
        ops = list(ops)
        if any(isinstance(op, PutOp) for op in ops):
            self.asked.set()
            await self.until.wait()
        return await super().abatch(ops)


async def test_generators_side_by_side_in_a_chain_lose_nothing_of_each_other() -> None:
    pair = resource("pair", Pair, scope="user")
    start, saving, written = asyncio.Event(), asyncio.Event(), asyncio.Event()
    start.set()
    store = Slow(asked=saving, until=written)
    left = writing(pair, "left", start, asyncio.Event()) | RunnableLambda(lambda _: saving.set())
    chain = RunnableParallel(left=left, right=writing(pair, "right", saving, written))
    flow = Flow("f", resources=[pair]).step(chain, name="both").compile(store=store)
    await flow.arun("go", **as_user("u"))
    kept = store.get(("flowcompose", "resources", "u"), "pair")
    assert kept is not None
    assert kept.value == {"left": 1, "right": 1}


def _boom(value: Any) -> Any:
    raise ValueError(value)


@pytest.mark.parametrize("last", [_boom, None])
async def test_what_a_chain_writes_takes_effect_with_its_step(last: Any) -> None:
    pair = resource("pair", Pair, scope="user")
    start, store = asyncio.Event(), InMemoryStore()
    start.set()
    chain = writing(pair, "left", start, asyncio.Event())
    chain = chain | RunnableLambda(last) if last else chain
    flow = Flow("f", resources=[pair]).step(chain, name="c").rescue(lambda error: "rescued")
    await flow.compile(store=store).arun("go", **as_user("u"))
    kept = store.get(("flowcompose", "resources", "u"), "pair")
    assert (kept and kept.value) == (None if last else {"left": 1, "right": 0})


def test_a_generator_in_a_chain_with_a_resource_of_its_own_shares_the_others() -> None:
    tally, own = resource("tally", Notes), resource("own", Notes)

    @handler(resources=[tally, own])
    def count(text: str, ctx: Context) -> str:
        """Count."""
        ctx.resources[own].patch(count=7)
        ctx.resources[tally].patch(count=1)
        return "counted"

    call = AIMessage("", tool_calls=[tool_call(name="count", args={"input": "x"}, id="1")])
    inside = generator("g", model=ScriptedModel([call, "done"]), tools=[count])
    flow = Flow("f", resources=[tally]).step(RunnableLambda(str) | inside, name="c")
    after = flow.step(lambda value, ctx: (ctx.resources[tally].state.count, [*ctx.resources]))
    assert after.run("go").output == (1, ["tally"])


# --- what does not go together


def test_one_key_for_two_resources_names_both_owners() -> None:
    one, two = resource("one", Notes), resource("two", Notes)
    roster = [
        RosterEntry(name="a", block=handler(lambda turn, ctx: "", resources={"notes": one})),
        RosterEntry(name="b", block=handler(lambda turn, ctx: "", resources={"notes": two})),
    ]
    with pytest.raises(
        DefinitionError, match="'notes' is two different resources, of member 'a' and of member 'b'"
    ):
        round_robin(name="p", roster=roster, max_rounds=1, synthesizer=False)


def test_two_resources_of_one_name_name_both_owners() -> None:
    one, two = resource("notes", Notes), resource("notes", Notes)
    with pytest.raises(DefinitionError) as caught:
        panel(
            counting(one),
            resources={"x": one},
            referee=handler(lambda turn, ctx: {"critique": ""}, resources={"y": two}),
        )
    assert "two different resources are named 'notes', of member 'm1' and of the referee" in str(
        caught.value
    )


def test_a_transcript_of_another_pattern_under_the_patterns_key_is_a_conflict() -> None:
    other = create_round_robin_contributions()
    with pytest.raises(
        DefinitionError,
        match="'contributions' is two different resources, of round_robin 'p' and of member 'm1'",
    ):
        panel(lambda turn, ctx: "", resources=[other])


def test_a_block_inside_a_pattern_inside_counts_for_conflicts() -> None:
    one, two = resource("notes", Notes), resource("notes", Notes)
    inner = panel(counting(one), name="inner", resources=[one])
    roster: list[Any] = [
        inner,
        RosterEntry(name="m", block=handler(counting(two), resources=[two])),
    ]
    with pytest.raises(DefinitionError, match="of member 'inner' and of member 'm'"):
        round_robin(name="o", roster=roster, max_rounds=1, synthesizer=False)


@pytest.mark.parametrize(
    ("resources", "problem"),
    [
        (7, "resources must be a list of resources or a mapping of them, got 7"),
        (["notes"], "resources must hold resources made by .*, got 'notes'"),
        ({"n": Notes}, "resources must hold resources made by .*, got <class"),
        ({"": resource("notes", Notes)}, "a key must be a non-empty string, got ''"),
        ([resource("n", Notes), resource("n", Notes)], "of entry 1 and of entry 2"),
    ],
)
def test_what_is_no_resource_is_refused(resources: Any, problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        generator("g", model="offline", resources=resources)
    with pytest.raises(DefinitionError, match=problem):
        handler(lambda value: value, resources=resources)
    with pytest.raises(DefinitionError, match=problem):
        capability("c", resources=resources)


def test_a_generator_used_alone_has_its_resources_at_their_defaults() -> None:
    notes = resource("notes", Notes, default={"count": 4})
    model = ScriptedModel(["said"])
    alone = generator(
        "g",
        lambda value, ctx: f"{ctx.resources[notes].state.count}",
        model=model,
        resources=[notes],
    )
    alone.invoke("x")
    assert model.calls[0].messages[0].text == "4"


async def test_a_generator_in_a_chain_shares_the_resources_of_the_step() -> None:
    notes = resource("notes", Notes)
    model = ScriptedModel(["one", "two"])
    inside = generator(
        "g",
        lambda value, ctx: f"{ctx.resources[notes].state.count}",
        model=model,
        resources=[notes],
    )

    def words(turn: TurnInput) -> str:
        return turn.goal

    chain = RunnableLambda(words) | inside
    roster = [
        RosterEntry(name="a", block=handler(counting(notes), resources=[notes])),
        RosterEntry(name="b", block=chain),
    ]
    pattern = round_robin(name="p", roster=roster, max_rounds=1, synthesizer=False)
    pattern.run("go")
    await pattern.arun("go")
    assert [call.messages[0].text for call in model.calls] == ["1", "1"]


def test_the_resources_of_a_capability_come_with_it() -> None:
    notes = resource("notes", Notes, default={"count": 4})
    model = ScriptedModel(["said"])
    tally = capability(
        "tally",
        context=lambda value, ctx: f"so far {ctx.resources[notes].state.count}",
        resources=[notes],
    )
    panel_of: Mapping[str, Any] = {"roster": [{"name": "a"}], "max_rounds": 1, "synthesizer": False}
    round_robin(name="p", model=model, uses=[tally], **panel_of).run("go")
    assert "so far 4" in model.calls[0].messages[0].text
