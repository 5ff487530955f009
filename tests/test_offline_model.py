from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from pydantic import BaseModel, Field

from flowcompose.core.offline import OfflineModel

GOAL = "The tower is tall. It was opened in 1889. Many people like it. It has 1665 steps."


def ask(goal: str = GOAL, name: str | None = None, round: int | None = None) -> str:
    metadata = {"agent_name": name, "round": round}
    config: RunnableConfig = {"metadata": {k: v for k, v in metadata.items() if v is not None}}
    return OfflineModel().invoke(goal, config).text


def fill(schema: type[BaseModel]) -> Any:
    return OfflineModel().with_structured_output(schema).invoke(GOAL)


# --- text


def test_the_text_says_that_no_model_was_asked() -> None:
    assert ask().startswith("[offline] ")
    assert ask().endswith("No language model was asked.")


def test_the_text_says_who_speaks_in_which_round() -> None:
    assert "fact-checker, round 2, quotes" in ask(name="fact-checker", round=2)


def test_a_sentence_with_a_figure_is_quoted_first() -> None:
    assert {"1889" in ask(name=name) or "1665" in ask(name=name) for name in "abcdef"} == {True}


def test_every_round_quotes_another_sentence_until_all_were_quoted() -> None:
    assert len({ask(name="a", round=number).split('"')[1] for number in range(1, 5)}) == 4


def test_members_do_not_all_quote_the_same_sentence() -> None:
    assert len({ask(name=name).split('"')[1] for name in "abcdef"}) == 2


def test_the_goal_is_the_first_human_message() -> None:
    messages = [SystemMessage("Be kind."), HumanMessage("The goal."), HumanMessage("Your turn.")]
    assert '"The goal."' in OfflineModel().invoke(messages).text


def test_a_long_sentence_is_cut() -> None:
    assert len(ask("word " * 500)) < 400


def test_a_request_without_text_is_answered() -> None:
    assert "(the request has no text)" in ask("")


def test_the_same_request_gives_the_same_answer_in_another_process() -> None:
    code = (
        "from flowcompose.core.offline import OfflineModel as M;"
        f"print(M().invoke({GOAL!r}, {{'metadata': {{'agent_name': 'writer'}}}}).text)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == ask(name="writer")


def test_stream_and_invoke_give_equal_text_and_usage() -> None:
    chunks = list(OfflineModel().stream(GOAL))
    joined, whole = sum(chunks[1:], chunks[0]), OfflineModel().invoke(GOAL)
    assert len(chunks) > 5
    assert (joined.text, joined.usage_metadata) == (whole.text, whole.usage_metadata)


async def test_the_async_path_gives_the_same_text() -> None:
    streamed = [chunk.text async for chunk in OfflineModel().astream(GOAL)]
    assert (await OfflineModel().ainvoke(GOAL)).text == "".join(streamed) == ask()


def test_a_streamed_call_says_who_speaks() -> None:
    stream = OfflineModel().stream(GOAL, {"metadata": {"agent_name": "writer"}})
    assert "".join(chunk.text for chunk in stream) == ask(name="writer")


def test_tools_that_need_not_be_called_are_left_alone() -> None:
    @tool
    def search(query: str) -> str:
        """Look something up."""
        return query

    answer = OfflineModel().bind_tools([search]).invoke(GOAL)
    assert not answer.tool_calls
    assert answer.text == ask()


# --- structured answers


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Source(BaseModel):
    url: str
    kind: Literal["web"] = "web"


class Book(BaseModel):
    kind: Literal["book"] = "book"
    pages: int = Field(gt=0)


class Node(BaseModel):
    name: str
    parent: Node | None = None
    children: list[Node]


class Everything(BaseModel):
    text: str
    short: str = Field(max_length=12)
    long: str = Field(min_length=500)
    colour: Colour
    choice: Literal["first", "second"]
    always: Literal["this"]
    score: int = Field(ge=1, le=10)
    above: int = Field(gt=7)
    ratio: float = Field(gt=0, lt=1)
    negative: float = Field(lt=0)
    even: int = Field(ge=3, multiple_of=2)
    free: float
    price: Decimal
    yes: bool
    names: list[str]
    three: list[str] = Field(min_length=3)
    none_allowed: list[str] = Field(max_length=0)
    numbers: set[int] = Field(min_length=3)
    pair: tuple[int, str]
    source: Source
    either: Annotated[Source | Book, Field(discriminator="kind")]
    books: list[Book]
    maybe: str | None
    optional: int | None = None
    table: dict[str, int]
    filled: dict[str, Book] = Field(min_length=2)
    day: dt.date
    moment: dt.datetime
    hour: dt.time
    span: dt.timedelta
    identity: UUID
    anything: Any
    code: str = Field(default="AB-1", pattern="^[A-Z]{2}-[0-9]$")
    aliased: str = Field(alias="theAlias")
    tree: Node


@pytest.fixture(scope="module")
def everything() -> Everything:
    return Everything.model_validate(fill(Everything))


def test_a_structured_answer_fits_an_ordinary_model(everything: Everything) -> None:
    assert isinstance(everything, Everything)


def test_a_string_names_its_field_and_quotes_the_goal(everything: Everything) -> None:
    assert everything.text.startswith("[offline] text: ")
    assert everything.text.removeprefix("[offline] text: ") in GOAL


def test_an_enum_takes_its_first_value(everything: Everything) -> None:
    assert (everything.colour, everything.choice) == (Colour.RED, "first")


def test_a_number_is_its_minimum_or_zero(everything: Everything) -> None:
    assert (everything.score, everything.above, everything.free) == (1, 8, 0)


def test_a_list_has_one_item_or_as_many_as_are_needed(everything: Everything) -> None:
    assert (len(everything.names), len(everything.three), len(everything.books)) == (1, 3, 1)


def test_an_optional_part_is_filled(everything: Everything) -> None:
    assert everything.maybe is not None
    assert everything.optional == 0


def test_a_booleans_answer_is_no(everything: Everything) -> None:
    assert everything.yes is False


def test_a_model_that_holds_itself_comes_to_an_end(everything: Everything) -> None:
    assert (everything.tree.parent, everything.tree.children) == (None, [])


def test_the_same_structured_request_gives_the_same_answer(everything: Everything) -> None:
    assert fill(Everything) == everything


@pytest.mark.parametrize(
    "response_format",
    [
        Everything,
        {
            "type": "json_schema",
            "json_schema": {"name": "everything", "schema": Everything.model_json_schema()},
        },
        Everything.model_json_schema(),
    ],
)
def test_a_response_format_is_answered_with_json(response_format: Any) -> None:
    answer = OfflineModel().bind(response_format=response_format).invoke(GOAL)
    assert Everything.model_validate_json(answer.text).score == 1


def test_json_mode_is_answered_with_an_object() -> None:
    answer = OfflineModel().bind(response_format={"type": "json_object"}).invoke(GOAL)
    assert answer.text.startswith('{"text": "[offline] text: ')


def test_a_json_schema_gives_a_dict() -> None:
    schema = {
        "title": "choice",
        "type": "object",
        "properties": {"next": {"enum": ["writer", "critic"]}},
    }
    assert OfflineModel().with_structured_output(schema).invoke(GOAL) == {"next": "writer"}


def test_parts_that_are_combined_are_all_filled() -> None:
    schema = {
        "title": "both",
        "type": "object",
        "allOf": [{"$ref": "#/$defs/a"}, {"properties": {"b": {"type": ["null", "integer"]}}}],
        "$defs": {"a": {"type": "object", "properties": {"a": {"type": "boolean"}}}},
    }
    answer = OfflineModel().bind(response_format=schema).invoke(GOAL)
    assert answer.text == '{"a": false, "b": 0}'


async def test_a_structured_answer_streams_too() -> None:
    structured = OfflineModel().with_structured_output(Source)
    assert [answer async for answer in structured.astream(GOAL)][-1] == fill(Source)
