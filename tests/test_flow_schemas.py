"""Schemas of a flow, and the values that a thread keeps."""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import BaseModel, Field

from flowcompose import (
    DefinitionError,
    Flow,
    FlowComposeError,
    OutputError,
    Pattern,
    Result,
    RunError,
    generator,
)
from flowcompose.core.testing import ScriptedModel

both_paths = pytest.mark.parametrize("use_async", [False, True])


async def run(
    flow: Flow[Any] | Pattern[Any], value: Any, *, use_async: bool, **options: Any
) -> Result[Any]:
    return await flow.arun(value, **options) if use_async else flow.run(value, **options)


class Author(BaseModel):
    name: str


class Brief(BaseModel):
    title: str
    words: int = Field(default=100, gt=0)
    authors: list[Author] = []


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


@dataclasses.dataclass(frozen=True)
class Line:
    points: tuple[Point, ...]


class Colour(Enum):
    RED = "red"


def same(value: Any) -> Any:
    return value


def raiser(ran: list[Any]) -> Callable[[Any], Any]:
    def note(value: Any) -> Any:
        ran.append(value)
        return value

    return note


# What goes in


@both_paths
@pytest.mark.parametrize(
    "given", [{"title": "bees"}, '{"title": "bees", "words": 100}', Brief(title="bees")]
)
async def test_the_first_step_gets_an_object_of_the_input_schema(
    given: Any, use_async: bool
) -> None:
    result = await run(Flow("f", input_schema=Brief).step(same), given, use_async=use_async)
    assert result.output == Brief(title="bees")


def test_an_object_of_the_input_schema_is_taken_as_it_is() -> None:
    brief = Brief(title="bees")
    assert Flow("f", input_schema=Brief).step(same).run(brief).output is brief


@both_paths
@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({}, ["title"]),
        ({"title": "x", "words": "many"}, ["words", "'many'"]),
        ({"title": "x", "words": -5}, ["words", "-5"]),
        ({"title": "x", "authors": [{"name": 7}]}, ["authors", "name", "7"]),
        ("about bees", ["'about bees'"]),
        ('{"title": 7}', ["title", "7"]),
        (42, ["42"]),
        (None, ["None"]),
        (Author(name="x"), ["Brief"]),
    ],
)
async def test_an_input_that_does_not_fit_is_refused_before_anything_runs(
    given: Any, parts: list[str], use_async: bool
) -> None:
    ran: list[Any] = []
    flow = Flow("f", input_schema=Brief).step(raiser(ran), name="outline")
    with pytest.raises(DefinitionError) as caught:
        await run(flow, given, use_async=use_async)
    assert [part for part in ["'f'", "outline", *parts] if part not in str(caught.value)] == []
    assert ran == []


def test_all_problems_of_an_input_are_told() -> None:
    with pytest.raises(DefinitionError) as caught:
        Flow("f", input_schema=Brief).step(same).run({"words": "many"})
    assert "title" in str(caught.value)
    assert "words" in str(caught.value)


@both_paths
async def test_invoke_validates_its_input_too(use_async: bool) -> None:
    app = Flow("f", input_schema=Brief).step(lambda brief: brief.title).compile()
    good: Any = {"input": {"title": "bees"}}
    out = await app.ainvoke(good) if use_async else app.invoke(good)
    assert out["output"] == "bees"
    with pytest.raises(DefinitionError, match="title"):
        await app.ainvoke({"input": {}}) if use_async else app.invoke({"input": {}})


@both_paths
async def test_a_nested_flow_validates_what_it_is_given(use_async: bool) -> None:
    inner = Flow("inner", input_schema=Brief).step(lambda brief: brief.title)
    flow = Flow("f").step(same).step(inner)
    assert (await run(flow, {"title": "bees"}, use_async=use_async)).output == "bees"
    with pytest.raises(FlowComposeError, match="'inner'") as caught:
        await run(flow, {"words": 5}, use_async=use_async)
    assert "title" in str(caught.value)
    saved = flow.rescue(lambda error: "saved")
    assert (await run(saved, {"words": 5}, use_async=use_async)).output == "saved"


# What comes out


@both_paths
@pytest.mark.parametrize(
    "given", [{"title": "bees"}, '{"title": "bees", "words": 100}', Brief(title="bees")]
)
async def test_the_output_is_an_object_of_the_output_schema(given: Any, use_async: bool) -> None:
    flow = Flow("f", output_schema=Brief).step(lambda value: given)
    assert (await run(flow, 1, use_async=use_async)).output == Brief(title="bees")


@both_paths
@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({}, ["title"]),
        ({"title": "x", "words": "many"}, ["words"]),
        ({"title": "x", "authors": [{"name": 7}]}, ["authors", "name"]),
        ("prose", ["Brief"]),
        (None, ["Brief"]),
        (7, ["Brief"]),
    ],
)
@pytest.mark.parametrize(
    "leave",
    [
        lambda flow: flow.step(same),
        lambda flow: flow.exit_if(lambda value: True).step(same),
        lambda flow: flow.step(lambda value: 1 / 0).rescue(lambda error, value: value),
    ],
    ids=["end", "exit", "rescue"],
)
async def test_an_output_that_does_not_fit_is_an_error_whichever_way_the_flow_ends(
    leave: Callable[[Any], Any], given: Any, parts: list[str], use_async: bool
) -> None:
    flow = leave(Flow("f", output_schema=Brief).map(lambda value: given))
    with pytest.raises(OutputError, match="'f'") as caught:
        await run(flow, 1, use_async=use_async)
    assert [part for part in parts if part not in str(caught.value)] == []


def test_the_output_of_a_nested_flow_is_validated_and_can_be_rescued() -> None:
    inner = Flow("inner", output_schema=Brief).map(lambda value: {"title": value})
    flow = Flow("f").step(inner).map(lambda brief: brief.title)
    assert flow.run("bees").output == "bees"
    with pytest.raises(RunError, match="'inner'"):
        flow.run(5)
    saved = flow.rescue(lambda error: "saved", on=OutputError)
    assert saved.run(5).output == "saved"


def test_both_schemas_at_once() -> None:
    flow = Flow("f", input_schema=Brief, output_schema=Author)
    flow = flow.step(lambda brief: {"name": brief.title})
    assert flow.run({"title": "bees"}).output == Author(name="bees")


@both_paths
async def test_an_output_is_typed_after_a_resume_too(use_async: bool) -> None:
    app = (
        Flow("f", output_schema=Brief)
        .step(lambda v: {"title": v})
        .compile(checkpointer=InMemorySaver())
    )
    done = await run(app, "bees", use_async=use_async, thread_id="t")
    again = await app.aresume("t") if use_async else app.resume("t")
    assert done.output == again.output == Brief(title="bees")
    assert again == done


# What a thread keeps

VALUES: dict[str, Any] = {
    "none": None,
    "text": "é\n",
    "numbers": [0, -1, 1.5, True, 2**40],
    "mapping": {"a": {"b": [1, {"c": None}]}},
    "int_keys": {1: "a", 2: {3: "b"}},
    "bytes": b"\x00\xff",
    "model": Brief(title="x", authors=[Author(name="y")]),
    "models": [Author(name="x"), Author(name="y")],
    "by_key": {"left": Brief(title="x"), "right": [Author(name="z")]},
    "dataclass": Point(1, 2),
    "nested_dataclass": Line((Point(1), Point(2))),
    "datetime": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    "date": date(2026, 1, 2),
    "time": time(3, 4),
    "timedelta": timedelta(days=1, seconds=2),
    "tuple": (1, ("a", [2])),
    "tuple_of_models": (Author(name="x"), {"when": date(2026, 1, 2)}),
    "set": {1, 2, 3},
    "frozenset": frozenset({"a"}),
    "empty": [[], {}, (), set[int](), ""],
    "uuid": UUID(int=7),
    "decimal": Decimal("1.10"),
    "enum": Colour.RED,
    "human": HumanMessage("hello", id="1"),
    "ai": AIMessage("x", tool_calls=[{"name": "t", "args": {"a": 1}, "id": "1"}]),
    "messages": [SystemMessage("s"), HumanMessage("h"), ToolMessage("r", tool_call_id="1")],
    "looks_like_ours": {"__type__": "x", "lc": 1, "type": "constructor", "input": 5, "goal": "y"},
}


class Flaky:
    """A step that fails until it is told otherwise."""

    def __init__(self) -> None:
        self.down = True
        self.seen: list[Any] = []

    def __call__(self, value: Any) -> Any:
        if self.down:
            raise ValueError("down")
        self.seen.append(value)
        return value


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(tmp_path / "runs.db", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


@pytest.mark.parametrize("kind", VALUES)
def test_kept_values_come_back_as_what_they_were(kind: str, saver: SqliteSaver) -> None:
    value, flaky = VALUES[kind], Flaky()
    app = Flow("f").step(lambda start: value).step(flaky, name="flaky").compile(checkpointer=saver)
    with pytest.raises(RunError, match="step 'flaky' failed: .*down"):
        app.run("go", thread_id="t")
    flaky.down = False
    result = app.resume("t")
    assert [(type(each), each) for each in flaky.seen] == [(type(value), value)]
    again = app.resume("t").output
    assert (type(result.output), type(again)) == (type(value), type(value))
    assert result.output == again == value


@pytest.mark.parametrize("kind", VALUES)
def test_kept_inputs_come_back_as_what_they_were(kind: str, saver: SqliteSaver) -> None:
    value, flaky = VALUES[kind], Flaky()
    app = Flow("f").step(flaky, name="flaky").compile(checkpointer=saver)
    with pytest.raises(RunError, match="step 'flaky' failed"):
        app.run(value, thread_id="t")
    flaky.down = False
    assert app.resume("t").output == value
    assert type(flaky.seen[0]) is type(value)


def test_kept_values_come_back_from_a_strict_store(tmp_path: Path) -> None:
    """This module's own cases, in a process that reads nothing but what it knows."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-k", "come_back_as_what_they_were", f"--basetemp={tmp_path}/inner", __file__],
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{2 * len(VALUES)} passed" in done.stdout, done.stdout[-3000:]


def test_reading_a_kept_value_back_is_nothing_to_warn_about(
    saver: SqliteSaver, caplog: pytest.LogCaptureFixture
) -> None:
    app = Flow("f").step(lambda start: list(VALUES.values())).compile(checkpointer=saver)
    app.run("go", thread_id="t")
    assert app.resume("t").output == list(VALUES.values())
    assert caplog.text == ""


@both_paths
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (threading.Lock(), "lock"),
        ([{"deep": threading.Lock()}], "lock"),
        ((number for number in range(3)), "generator"),
        (lambda: 1, "function"),
    ],
)
async def test_a_value_that_no_thread_can_keep_is_an_error_of_its_step(
    value: Any, kind: str, use_async: bool
) -> None:
    flow = Flow("f").step(same).step(lambda start: value, name="make").step(same)
    app = flow.compile(checkpointer=InMemorySaver())
    with pytest.raises(RunError, match="'make'") as caught:
        await run(app, "go", use_async=use_async, thread_id="t")
    assert kind in str(caught.value)


def test_an_open_file_is_refused_with_a_checkpointer_and_passed_on_without(tmp_path: Path) -> None:
    with (tmp_path / "notes").open("w") as file:
        flow = Flow("f").step(lambda start: file, name="make").step(same)
        assert flow.run("go").output is file
        with pytest.raises(RunError, match="'make'.*TextIOWrapper"):
            flow.compile(checkpointer=InMemorySaver()).run("go")


def test_an_input_that_no_thread_can_keep_is_refused() -> None:
    app = Flow("f").step(same).compile(checkpointer=InMemorySaver())
    with pytest.raises(FlowComposeError, match="lock"):
        app.run(threading.Lock())


def test_a_typed_answer_of_a_generator_is_kept() -> None:
    flaky = Flaky()
    block = generator("g", "x", model=ScriptedModel([Brief(title="bees")]), output_schema=Brief)
    app = Flow("f").step(block).step(flaky).compile(checkpointer=InMemorySaver())
    with pytest.raises(RunError, match="down"):
        app.run("go", thread_id="t")
    flaky.down = False
    assert app.resume("t").output == Brief(title="bees")
