from __future__ import annotations

import asyncio
import json
import re
from datetime import date
from typing import Any, Generic, Literal, TypeVar

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, RootModel, SecretStr

from flowcompose import (
    MemberError,
    OutputError,
    Pattern,
    RosterEntry,
    RunError,
    TurnInput,
    generator,
    round_robin,
)
from flowcompose.core.events import RunCompleted, Token
from flowcompose.core.retry import Retry
from flowcompose.core.testing import Reply, ScriptedModel
from flowcompose.patterns.round_robin import create_referee
from tests import openai_server
from tests.openai_server import OpenAIServer, Refusal, Truncated
from tests.openai_wire import Answer, completion

ModelT = TypeVar("ModelT", bound=BaseModel)


class Verdict(BaseModel):
    """What the panel decides."""

    approved: bool
    reason: str = Field(default="none given", description="Why.")


GOOD: dict[str, object] = {"approved": True, "reason": "sources hold"}
VERDICT = Verdict(approved=True, reason="sources hold")


def says(turn: TurnInput) -> str:
    return "words"


def panel_of(
    model: Any, schema: type[ModelT], *, retry: Retry | None = None, **options: Any
) -> Pattern[ModelT]:
    """A panel whose only model call is the synthesizer's."""
    return round_robin(
        name="panel",
        roster=[RosterEntry(name="a", block=says)],
        max_rounds=1,
        model=model,
        output_schema=schema,
        retry=retry,
        **options,
    )


def openai_at(server: OpenAIServer) -> ChatOpenAI:
    return ChatOpenAI(
        model="gpt-4o", base_url=server.base_url, api_key=SecretStr("x"), max_retries=0
    )


def sent(schema: type[BaseModel], answer: dict[str, object]) -> dict[str, Any]:
    """The `json_schema` that a provider receives; the answer to it fits."""
    with OpenAIServer([answer]) as server:
        panel_of(openai_at(server), schema).run("go")
    wanted = server.requests[0]["response_format"]
    assert wanted["type"] == "json_schema"
    given: dict[str, Any] = wanted["json_schema"]
    return given


# --- a typed object


def test_a_model_that_calls_tools_gives_a_typed_object() -> None:
    model = ScriptedModel([GOOD])
    assert panel_of(model, Verdict).run("go").output == VERDICT
    assert model.calls[0].kwargs["tools"][0]["function"]["name"] == "Verdict"


def test_a_model_that_takes_json_schema_gives_a_typed_object() -> None:
    with OpenAIServer([GOOD]) as server:
        assert panel_of(openai_at(server), Verdict).run("go").output == VERDICT


async def test_the_async_path_gives_a_typed_object() -> None:
    assert (await panel_of(ScriptedModel([GOOD]), Verdict).arun("go")).output == VERDICT


def test_a_generator_gives_a_typed_object() -> None:
    assert generator("g", model=ScriptedModel([GOOD]), output_schema=Verdict).invoke("go") == (
        VERDICT
    )


def test_a_member_with_a_schema_speaks_json_and_keeps_its_data() -> None:
    member = generator("m", model=ScriptedModel([GOOD]), output_schema=Verdict)
    result = round_robin(
        name="panel",
        roster=[RosterEntry(name="a", block=member)],
        synthesizer=False,
        max_rounds=1,
    ).run("go")
    (said,) = result.contributions
    assert (json.loads(said.text), said.data) == (GOOD, VERDICT)


class Aliased(BaseModel):
    by: str = Field(alias="decidedBy")


def test_aliases_are_the_names_on_the_wire() -> None:
    model = ScriptedModel([{"decidedBy": "bob"}])
    assert panel_of(model, Aliased).run("go").output == Aliased(decidedBy="bob")


class Exact(BaseModel):
    model_config = ConfigDict(strict=True)

    due: date


def test_a_strict_model_reads_json_as_json() -> None:
    model = ScriptedModel([{"due": "2026-01-02"}])
    answer = generator("g", model=model, output_schema=Exact).invoke("go")
    assert answer == Exact(due=date(2026, 1, 2))


class Findings(RootModel[list[str]]):
    """What was found."""


@pytest.mark.parametrize("answer", [{"value": ["a", "b"]}, '["a", "b"]'])
def test_a_root_model_is_asked_for_as_an_object(answer: Any) -> None:
    with OpenAIServer([answer]) as server:
        output = panel_of(openai_at(server), Findings).run("go").output
    assert output == Findings(["a", "b"])
    assert server.requests[0]["response_format"]["json_schema"]["schema"]["type"] == "object"


# --- the schema that is sent


def test_a_closed_schema_is_sent_strict_with_all_keys_and_no_defaults() -> None:
    assert sent(Verdict, GOOD) == {
        "name": "Verdict",
        "description": "What the panel decides.",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "approved": {"type": "boolean"},
                "reason": {"type": "string", "description": "Why."},
            },
            "required": ["approved", "reason"],
            "additionalProperties": False,
        },
    }


class Claim(BaseModel):
    default: str = "x"
    title: Literal["fact", "opinion"] = "fact"


class Review(BaseModel):
    claims: list[Claim] = []
    best: Claim | None = None


def test_objects_inside_of_a_strict_schema_are_closed_too() -> None:
    given = sent(Review, {"claims": [], "best": None})
    closed = {
        "type": "object",
        "properties": {
            "default": {"type": "string"},
            "title": {"type": "string", "enum": ["fact", "opinion"]},
        },
        "required": ["default", "title"],
        "additionalProperties": False,
    }
    assert given["strict"] is True
    assert given["schema"]["required"] == ["claims", "best"]
    assert given["schema"]["properties"] == {
        "claims": {"type": "array", "items": closed},
        "best": {"anyOf": [closed, {"type": "null"}]},
    }


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class OpenMap(BaseModel):
    it: dict[str, int]


class Anything(BaseModel):
    it: Any


class ManyThings(BaseModel):
    it: list[Any]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    it: int


class Pet(BaseModel):
    it: Cat | Dog = Field(discriminator="kind")


class Unique(BaseModel):
    it: set[int]


class Pair(BaseModel):
    it: tuple[int, str]


class Link(BaseModel):
    it: HttpUrl


class Coded(BaseModel):
    it: str = Field(json_schema_extra={"pattern": "^(?!x)"})


class Short(BaseModel):
    it: str = Field(max_length=5)


@pytest.mark.parametrize(
    ("schema", "it"),
    [
        (OpenMap, {"a": 1}),
        (Anything, 1),
        (ManyThings, [1]),
        (Open, 1),
        (Pet, {"kind": "cat"}),
        (Unique, [1]),
        (Pair, [1, "a"]),
        (Link, "http://example.org/"),
        (Coded, "1.5"),
        (Short, "abc"),
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else "",
)
def test_a_schema_that_strict_mode_refuses_is_not_sent_strict(
    schema: type[BaseModel], it: object
) -> None:
    given = sent(schema, {"it": it})
    assert not given["strict"]
    assert "it" in given["schema"]["properties"]


class Node(BaseModel):
    name: str
    children: list[Node] = []


def test_a_schema_that_contains_itself_is_sent_whole() -> None:
    leaf = {"name": "b", "children": []}
    given = sent(Node, {"name": "a", "children": [leaf]})
    assert given["schema"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert given["schema"]["$defs"]["Node"]["properties"].keys() == {"name", "children"}


def test_a_schema_that_contains_itself_is_asked_for_with_tools_too() -> None:
    model = ScriptedModel([{"name": "a", "children": [{"name": "b"}]}])
    output = panel_of(model, Node).run("go").output
    assert output == Node(name="a", children=[Node(name="b")])


ValueT = TypeVar("ValueT")


class Boxed(BaseModel, Generic[ValueT]):
    it: ValueT


class Titled(BaseModel):
    model_config = ConfigDict(title="The panel's verdict")

    it: int


@pytest.mark.parametrize("schema", [Boxed[int], Titled])
def test_the_name_of_a_schema_is_one_that_providers_take(schema: type[BaseModel]) -> None:
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", sent(schema, {"it": 1})["name"])


# --- answers that are read as they come


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"approved": true, "reason": "sources hold"}\n```',
        '```\n{"approved": true, "reason": "sources hold"}\n```',
        'Here it is: {"approved": true, "reason": "sources hold"}. Good luck!',
    ],
    ids=["fence", "bare fence", "prose"],
)
@pytest.mark.parametrize("way", ["tools", "json_schema"])
def test_json_in_words_is_read_without_asking_again(text: str, way: str) -> None:
    if way == "tools":
        model = ScriptedModel([text])
        assert panel_of(model, Verdict).run("go").output == VERDICT
        model.assert_complete()
        return
    with OpenAIServer([text]) as server:
        assert panel_of(openai_at(server), Verdict).run("go").output == VERDICT


def test_a_line_break_inside_of_a_text_is_read() -> None:
    model = ScriptedModel(['{"approved": true, "reason": "one\ntwo"}'])
    assert panel_of(model, Verdict).run("go").output.reason == "one\ntwo"


def test_words_before_the_call_do_not_hide_it() -> None:
    call = tool_call(name="Verdict", args=dict(GOOD), id="c1")
    model = ScriptedModel([AIMessage("I looked {carefully}.", tool_calls=[call])])
    assert panel_of(model, Verdict).run("go").output == VERDICT


# --- answers that do not fit


def called(arguments: dict[str, Any]) -> AIMessage:
    return AIMessage("", tool_calls=[tool_call(name="Verdict", args=arguments, id="c1")])


UNFIT: dict[str, tuple[Reply, str]] = {
    "wrong shape": ({"approved": "maybe"}, "approved: Input should be a valid boolean"),
    "prose": ("I approve.", "Invalid JSON"),
    "prose in a fence": ("```json\nI approve.\n```", "Invalid JSON"),
    "unfinished": ('{"approved": true, "reason": "so', "Invalid JSON"),
    "empty": ("", "the answer was empty"),
    "cut off": (
        AIMessage('{"approved": true}', response_metadata={"finish_reason": "length"}),
        "the answer was cut off: be shorter",
    ),
    "call cut off": (
        called({"approved": True}).model_copy(
            update={"response_metadata": {"stop_reason": "max_tokens"}}
        ),
        "the answer was cut off: be shorter",
    ),
    "call without json": (
        AIMessage(
            "",
            invalid_tool_calls=[
                invalid_tool_call(name="Verdict", args='{"appr', id="c1", error="bad")
            ],
        ),
        "Invalid JSON",
    ),
}


@pytest.mark.parametrize("use", ["sync", "async"])
@pytest.mark.parametrize("unfit", UNFIT)
def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_reason(
    unfit: str, use: str
) -> None:
    reply, reason = UNFIT[unfit]
    model = ScriptedModel([reply, GOOD])
    panel = panel_of(model, Verdict)
    result = panel.run("go") if use == "sync" else asyncio.run(panel.arun("go"))
    assert result.output == VERDICT
    assert reason in model.calls[1].messages[-1].text


UNFIT_ON_THE_WIRE: dict[str, tuple[openai_server.Reply, str]] = {
    "wrong shape": ({"approved": "maybe"}, "approved: Input should be a valid boolean"),
    "prose": ("I approve.", "Invalid JSON"),
    "unfinished": ('{"approved": true, "reason": "so', "Invalid JSON"),
    "empty": ("", "the answer was empty"),
    "cut off": (Truncated('{"approved": true, "rea'), "the answer was cut off: be shorter"),
    "refusal": (Refusal("I cannot judge that."), "the model refused: I cannot judge that."),
}


@pytest.mark.parametrize("use", ["run", "events"])
@pytest.mark.parametrize("unfit", UNFIT_ON_THE_WIRE)
def test_a_provider_is_asked_again_with_the_reason(unfit: str, use: str) -> None:
    reply, reason = UNFIT_ON_THE_WIRE[unfit]
    with OpenAIServer([reply, GOOD]) as server:
        panel = panel_of(openai_at(server), Verdict)
        if use == "run":
            output = panel.run("go").output
        else:
            (output,) = [e.result.output for e in panel.events("go") if isinstance(e, RunCompleted)]
    assert output == VERDICT
    assert reason in server.requests[1]["messages"][-1]["content"]


def test_the_model_sees_its_wrong_answer_again() -> None:
    model = ScriptedModel([{"approved": "maybe"}, GOOD])
    panel_of(model, Verdict).run("go")
    first, second = model.calls
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[-2] == AIMessage('{"approved": "maybe"}')


@pytest.mark.parametrize("reasks", [0, 1, 3])
def test_the_budget_of_re_asks_is_kept_to_the_request(reasks: int) -> None:
    with OpenAIServer(lambda _: "I approve.") as server, pytest.raises(OutputError):
        panel_of(openai_at(server), Verdict, retry=Retry(reasks=reasks)).run("go")
    assert len(server.requests) == 1 + reasks


def test_an_output_error_carries_the_last_answer_and_the_run() -> None:
    model = ScriptedModel(["First.", "Second.", "Third."])
    with pytest.raises(OutputError, match=r"no answer that fits Verdict.*'Third\.'") as raised:
        panel_of(model, Verdict).run("go")
    assert raised.value.answer == "Third."
    result = raised.value.result
    assert result is not None
    assert (result.output, result.turns, result.stop.reason) == (None, 1, "max_rounds")
    assert [said.text for said in result.contributions] == ["words"]


def test_the_answer_of_an_output_error_is_what_the_model_wrote() -> None:
    wrong: dict[str, object] = {"approved": None, "reason": "ümlaut"}
    with pytest.raises(OutputError) as raised:
        panel_of(ScriptedModel([wrong] * 3), Verdict).run("go")
    assert raised.value.answer == '{"approved": null, "reason": "ümlaut"}'


def test_the_answer_of_an_output_error_is_there_when_it_was_cut_off() -> None:
    cut_off = Truncated('{"approved": tr')
    with OpenAIServer(lambda _: cut_off) as server, pytest.raises(OutputError) as raised:
        panel_of(openai_at(server), Verdict).run("go")
    assert raised.value.answer == '{"approved": tr'


def test_a_panel_works_again_after_an_output_error() -> None:
    panel = panel_of(ScriptedModel(["prose", GOOD]), Verdict, retry=Retry(reasks=0))
    with pytest.raises(OutputError):
        panel.run("go")
    assert panel.run("go").output == VERDICT


SPENT = UsageMetadata(input_tokens=10, output_tokens=2, total_tokens=12)


def costing(text: str) -> AIMessage:
    return AIMessage(text, usage_metadata=SPENT)


def test_a_member_without_a_fitting_answer_fails_with_the_output_error_as_cause() -> None:
    member = generator("m", model=ScriptedModel([costing("prose")] * 3), output_schema=Verdict)
    panel = round_robin(
        name="panel", roster=[RosterEntry(name="a", block=member)], synthesizer=False
    )
    with pytest.raises(MemberError, match="no answer that fits Verdict") as raised:
        panel.run("go")
    cause, result = raised.value.__cause__, raised.value.result
    assert isinstance(cause, OutputError)
    assert cause.answer == "prose"
    assert result is not None
    assert result.usage.by_member["a"].total_tokens == 3 * 12


def test_a_referee_without_a_fitting_answer_fails_the_run() -> None:
    panel = panel_of(ScriptedModel(lambda _: "prose"), Verdict, referee=create_referee())
    with pytest.raises(RunError, match="the referee failed after round 1") as raised:
        panel.run("go")
    assert isinstance(raised.value.__cause__, OutputError)


def test_the_tokens_of_wrong_answers_count() -> None:
    replies: list[Reply] = [costing("prose"), costing(""), costing(json.dumps(GOOD))]
    usage = panel_of(ScriptedModel(replies), Verdict).run("go").usage
    assert (usage.synthesizer.total_tokens, usage.total_tokens) == (36, 36)


def reported(server: OpenAIServer, replies: list[Answer]) -> int:
    """What the server says that its answers cost: the sum, asked for once more."""
    from tests.openai_wire import Hang, HttpError

    return sum(
        completion(reply, body)["usage"]["total_tokens"]
        for reply, body in zip(replies, server.requests, strict=True)
        if not isinstance(reply, HttpError | Hang)
    )


@pytest.mark.parametrize("use", ["run", "events"])
def test_the_tokens_of_an_answer_that_was_cut_off_count(use: str) -> None:
    replies: list[Answer] = [Truncated('{"approved": tr'), Refusal("No."), GOOD]
    with OpenAIServer(replies) as server:
        panel = panel_of(openai_at(server), Verdict)
        if use == "run":
            usage = panel.run("go").usage
        else:
            (usage,) = [e.result.usage for e in panel.events("go") if isinstance(e, RunCompleted)]
    assert usage.synthesizer.total_tokens == reported(server, replies)


# --- streams


def test_a_structured_answer_shows_no_tokens() -> None:
    with OpenAIServer([GOOD]) as server:
        seen = list(panel_of(openai_at(server), Verdict).events("go"))
    assert [event for event in seen if isinstance(event, Token)] == []


def test_a_structured_answer_is_not_streamed_on_the_wire_either() -> None:
    with OpenAIServer([GOOD]) as server:
        list(panel_of(openai_at(server), Verdict).events("go"))
    assert not server.requests[0].get("stream")
