"""Shared state in flows: who sees it, how long it lives, and what does not go together."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from pydantic import BaseModel, SecretStr

from flowcompose import (
    Context,
    DefinitionError,
    Flow,
    Pattern,
    RosterEntry,
    RunError,
    TurnInput,
    create_round_robin_contributions,
    generator,
    handler,
    resource,
    round_robin,
)
from flowcompose.core.testing import ScriptedModel


class Notes(BaseModel):
    count: int = 0
    words: list[str] = []


def panel(name: str, **arguments: Any) -> Pattern[Any]:
    return round_robin(
        name=name,
        roster=[RosterEntry(name="ann", block=lambda turn: f"{turn.goal}, says ann")],
        max_rounds=1,
        synthesizer=lambda shape: shape.contributions[-1].text,
        **arguments,
    )


def entries(key: Any) -> Callable[[Any, Context], list[str]]:
    def read(value: Any, ctx: Context) -> list[str]:
        return [entry.text for entry in ctx.resources[key].state.entries]

    return read


def count(key: str) -> Callable[[Any, Context], Any]:
    def counted(value: Any, ctx: Context) -> Any:
        ctx.resources[key].patch(count=ctx.resources[key].state.count + 1)
        return value

    return counted


def test_a_later_step_reads_a_shared_transcript_that_the_value_does_not_carry() -> None:
    debate = create_round_robin_contributions()
    flow = (
        Flow("f", resources={"debate": debate})
        .step(panel("p", contributions=debate))
        .map(len)
        .map(lambda length, ctx: [entries(key)(length, ctx) for key in ("debate", debate)])
    )
    assert flow.run("go").output == [["go, says ann"]] * 2


def test_a_generator_reads_the_transcript_that_it_names() -> None:
    debate = create_round_robin_contributions()
    model = ScriptedModel(["consolidated"])
    consolidate = generator(
        "consolidate",
        resources={"debate": debate},
        user=lambda value, ctx: "; ".join(entries("debate")(value, ctx)),
        model=model,
    )
    flow = Flow("f").tap(panel("p", contributions=debate)).step(consolidate)
    assert flow.run("go").output == "consolidated"
    assert model.calls[0].messages[-1].text == "go, says ann"


def test_two_patterns_of_one_flow_keep_their_transcripts_under_their_keys() -> None:
    flow = (
        Flow("f")
        .step(panel("p", accessor_key="first"))
        .step(panel("q", accessor_key="second"))
        .map(lambda value, ctx: [entries("first")(value, ctx), entries("second")(value, ctx)])
    )
    assert flow.run("go").output == [["go, says ann"], ["go, says ann, says ann"]]


def test_transcripts_that_nobody_named_do_not_get_in_each_others_way() -> None:
    flow = Flow("f").step(panel("p")).step(panel("q")).parallel([panel("r"), panel("s")])
    assert len(flow.run("go").output) == 2
    inner = [Flow(name).step(panel(name)) for name in ("a", "b")]
    assert len(Flow("f").step(inner[0]).step(inner[1]).parallel(inner).run("go").output) == 2
    with pytest.raises(RunError, match=r"no resource 'contributions' here.*accessor_key="):
        flow.step(entries("contributions")).run("go")


def test_a_transcript_of_an_earlier_run_is_not_read() -> None:
    debate = create_round_robin_contributions()
    flow = (
        Flow("f", resources=[debate])
        .map(lambda goal, ctx: (goal, entries(debate)(goal, ctx)))
        .tap(panel("p", contributions=debate), input=lambda pair: pair[0])
    )
    app = flow.compile(checkpointer=InMemorySaver())
    for goal in ("one", "two"):
        assert app.run(goal, thread_id="t").output == (goal, [])


def test_run_scope_is_gone_with_the_run_and_session_scope_stays_on_the_thread() -> None:
    flow = Flow("f", resources=[resource("run", Notes, scope="run"), resource("thread", Notes)])
    flow = flow.tap(count("run")).tap(Flow("inner").tap(count("run")).tap(count("thread")))
    flow = flow.step(lambda value, ctx: [ctx.resources[k].state.count for k in ("run", "thread")])
    app = flow.compile(checkpointer=InMemorySaver())
    assert [app.run("x", thread_id="t").output for _ in range(2)] == [[2, 1], [2, 2]]
    assert app.run("x", thread_id="other").output == [2, 1]
    kept = app.get_state({"configurable": {"thread_id": "t"}}).values["resource_writes"]
    assert list(kept) == ["thread"]


def test_members_of_a_nested_pattern_write_to_the_resources_of_the_flow() -> None:
    def speak(turn: TurnInput, ctx: Context) -> str:
        words = [*ctx.resources["notes"].state.words, turn.agent_name]
        ctx.resources["notes"].patch(words=words)
        return "said"

    talk = round_robin(
        name="talk",
        roster=[RosterEntry(name=name, block=speak) for name in ("a", "b")],
        max_rounds=2,
        synthesizer=False,
    )
    flow = Flow("f", resources=[resource("notes", Notes, scope="run")])
    flow = flow.step(Flow("inner").step(talk))
    flow = flow.map(lambda value, ctx: ctx.resources["notes"].state.words)
    assert flow.run("go").output == ["a", "b", "a", "b"]


def test_what_items_of_a_for_each_write_is_laid_over_each_other_in_their_order() -> None:
    def note(item: str, ctx: Context) -> str:
        ctx.resources["notes"].patch(words=[item])
        return item

    flow = Flow("f", resources=[resource("notes", Notes)]).for_each(note, max_concurrency=2)
    flow = flow.map(lambda value, ctx: ctx.resources["notes"].state.words)
    assert flow.run(["x", "y", "z"]).output == ["z"]


def test_parts_of_a_parallel_step_write_their_own_fields() -> None:
    flow = Flow("f", resources=[resource("notes", Notes)]).parallel(
        {
            "counts": count("notes"),
            "words": lambda value, ctx: ctx.resources["notes"].patch(words=["w"]),
        }
    )
    flow = flow.map(lambda value, ctx: ctx.resources["notes"].state)
    assert flow.run("x").output == Notes(count=1, words=["w"])


def test_what_a_failed_step_wrote_is_gone_when_it_is_rescued() -> None:
    def write_and_fail(value: Any, ctx: Context) -> Any:
        count("notes")(value, ctx)
        raise ValueError(value)

    flow = Flow("f", resources=[resource("notes", Notes)])
    flow = flow.step(write_and_fail).rescue(lambda error: "saved", on=ValueError)
    flow = flow.map(lambda value, ctx: (value, ctx.resources["notes"].state.count))
    assert flow.run("x").output == ("saved", 0)


def test_a_handler_declares_what_it_uses_and_the_flow_collects_it() -> None:
    notes = resource("notes", Notes)

    @handler(resources=[notes])
    def work(value: Any, ctx: Context) -> Any:
        return count("notes")(value, ctx)

    flow = Flow("f").tap(work).map(lambda value, ctx: ctx.resources[notes].state.count)
    assert flow.run("x").output == 1


@pytest.mark.parametrize("key", ["notes", "other"])
def test_two_resources_of_one_name_are_a_conflict_that_names_both_owners(key: str) -> None:
    first = handler(lambda value: value, name="first", resources=[resource("notes", Notes)])
    second = handler(lambda value: value, name="second", resources={key: resource("notes", Notes)})
    with pytest.raises(DefinitionError, match="(?s)'notes'.*'first'.*'second'"):
        Flow("f").step(first).step(Flow("inner").step(second), name="second")


def test_one_key_for_two_transcripts_is_a_conflict() -> None:
    flow = Flow("f").step(panel("p", accessor_key="debate"))
    with pytest.raises(DefinitionError, match=r"step 2.*'debate'.*step 'p'.*step 'q'"):
        flow.step(panel("q", accessor_key="debate"))


def test_what_is_no_resource_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"made by resource\(\.\.\.\).*got 'notes'"):
        Flow("f", resources=["notes"])  # type: ignore[list-item]  # pyright: ignore - the mistake


def test_a_write_that_does_not_fit_names_step_resource_and_field() -> None:
    flow = Flow("f", resources=[resource("notes", Notes)])
    flow = flow.step(lambda value, ctx: ctx.resources["notes"].patch(count="many"), name="note")
    with pytest.raises(RunError, match="(?s)'note'.*'notes'.*count.*'many'"):
        flow.run("x")


def counting_for_user(store: Any) -> Pattern[Any]:
    flow = Flow("f", resources=[resource("notes", Notes, scope="user")]).tap(count("notes"))
    flow = flow.step(lambda value, ctx: ctx.resources["notes"].state.count)
    return flow.compile(store=store, checkpointer=InMemorySaver())


def user(name: str) -> Any:
    return {"configurable": {"user_id": name}}


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_user_scope_goes_with_the_user_over_threads_and_processes(
    kind: str, tmp_path: Path
) -> None:
    def count_for(name: str) -> Any:
        if kind == "memory":
            return counting_for_user(memory).run("x", config=user(name)).output
        with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
            store.setup()
            return counting_for_user(store).run("x", config=user(name)).output

    memory = InMemoryStore()
    assert [count_for(name) for name in ("ann", "ann", "bob")] == [1, 2, 1]


@asynccontextmanager
async def opened(kind: str, path: Path) -> AsyncGenerator[Any]:
    if kind == "memory":
        yield InMemoryStore()
        return
    async with AsyncSqliteStore.from_conn_string(str(path / "store.db")) as store:
        await store.setup()
        yield store


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_user_scope_on_the_async_path(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as store:
        app = counting_for_user(store)
        runs = [await app.arun("x", config=user(name)) for name in ("ann", "ann", "bob")]
    assert [run.output for run in runs] == [1, 2, 1]


@pytest.mark.parametrize(
    ("store", "config", "wanted"),
    [(None, user("ann"), "store="), (InMemoryStore(), None, "user_id")],
)
def test_user_scope_says_before_the_first_step_what_it_lacks(
    store: Any, config: Any, wanted: str
) -> None:
    with pytest.raises(DefinitionError, match=wanted):
        counting_for_user(store).run("x", config=config)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_blocks_side_by_side_lose_none_of_what_they_write_for_the_user(
    kind: str, tmp_path: Path
) -> None:
    class Pair(BaseModel):
        a: int = 0
        b: int = 0

    pair = resource("pair", Pair, scope="user")

    def add(field: str, ctx: Context) -> None:
        now: int = getattr(ctx.resources[pair].state, field)
        ctx.resources[pair].patch(**{field: now + 1})

    flow = Flow("f", resources=[pair])
    flow = flow.parallel([lambda _, ctx: add("a", ctx), lambda _, ctx: add("b", ctx)])
    flow = flow.map(lambda value: ["a", "b"]).for_each(add)
    flow = flow.step(lambda value, ctx: ctx.resources[pair].state)
    async with opened(kind, tmp_path) as store:
        app = flow.compile(store=store)
        runs = [await app.arun("x", config=user("ann")) for _ in range(3)]
    assert [run.output for run in runs] == [Pair(a=n, b=n) for n in (2, 4, 6)]


def test_a_field_that_json_would_change_is_refused_when_it_is_written() -> None:
    class Login(BaseModel):
        token: SecretStr = SecretStr("")
        data: bytes = b""

    flow = Flow("f", resources=[resource("login", Login, scope="run")])
    for field, value in (("token", SecretStr("pw")), ("data", b"\x89PNG")):
        broken = flow.step(lambda _, ctx, w={field: value}: ctx.resources["login"].patch(**w))
        with pytest.raises(RunError, match=r"'login'.*JSON"):
            broken.run("x")


def test_a_member_pattern_shares_its_transcript_under_whatever_key_the_flow_gave_it() -> None:
    debate = create_round_robin_contributions()
    member = panel("member", contributions=debate, accessor_key="inner")
    outer = round_robin(
        name="outer", roster=[member], max_rounds=1, synthesizer=lambda shape: "done"
    )
    flow = Flow("f", resources={"debate": debate}).step(outer).step(entries(debate))
    assert flow.run("go").output == ["go, says ann"]


def writing_panel() -> Pattern[Any]:
    def speak(turn: TurnInput, ctx: Context) -> str:
        count("notes")(turn, ctx)
        return "said"

    return round_robin(
        name="writing",
        roster=[RosterEntry(name="ann", block=speak)],
        max_rounds=2,
        synthesizer=False,
    )


def in_a_function(value: Any, ctx: Context) -> Any:
    return writing_panel().invoke({"goal": value}, ctx.config)


def in_a_chain() -> Any:
    return RunnableLambda(lambda value: {"goal": value}) | writing_panel()


def in_a_graph() -> Any:
    builder: Any = StateGraph(MessagesState)
    return builder.add_node("panel", writing_panel()).add_edge(START, "panel").compile()


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("scope", ["run", "session", "user"])
@pytest.mark.parametrize("block", [in_a_function, in_a_chain(), in_a_graph()])
def test_a_pattern_writes_to_the_resources_of_the_step_that_it_runs_in(
    block: Any, scope: Any, nested: bool
) -> None:
    notes = resource("notes", Notes, scope=scope)
    step = Flow("inner").step(block) if nested else block
    flow = Flow("f", resources=[notes]).tap(step)
    flow = flow.map(lambda value, ctx: ctx.resources[notes].state.count)
    app = flow.compile(store=InMemoryStore())
    assert app.run("go", config=user("ann")).output == 2
    assert app.run("go", config=user("ann")).output == (4 if scope == "user" else 2)
