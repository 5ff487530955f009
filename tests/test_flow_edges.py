"""Where flows are easily wrong: limits, costs, errors beside questions, graphs in odd places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, SecretStr, field_validator

from flowcompose import (
    Context,
    DefinitionError,
    Flow,
    OutputError,
    Pattern,
    RosterEntry,
    RunError,
    generator,
    resource,
    round_robin,
)
from flowcompose.core import events
from flowcompose.core.flow import Rescued
from flowcompose.core.testing import ScriptedModel


def panel(name: str = "panel", **arguments: Any) -> Pattern[Any]:
    arguments.setdefault("roster", [RosterEntry(name="ann", block=lambda turn: "said")])
    arguments.setdefault("synthesizer", lambda shape: shape.contributions[-1].text)
    return round_robin(name=name, max_rounds=1, **arguments)


def costing(text: str) -> AIMessage:
    tokens: Any = {"input_tokens": 2, "output_tokens": 1, "total_tokens": 3}
    return AIMessage(text, usage_metadata=tokens)


def fail(value: Any) -> Any:
    raise ValueError(value)


class Share(BaseModel):
    """A model that its own JSON does not give back."""

    percent: float

    @field_validator("percent")
    @classmethod
    def scaled(cls, percent: float) -> float:
        if percent < 1:
            msg = "give percent"
            raise ValueError(msg)
        return percent / 100


def test_a_typed_output_of_a_pattern_step_is_the_object_that_was_made() -> None:
    made = panel(synthesizer=lambda shape: {"percent": 50}, output_schema=Share)
    assert Flow("f").step(made).run("x").output.percent == 0.5


def test_a_model_comes_back_as_it_was_though_validating_it_anew_would_change_it() -> None:
    tries: list[int] = []

    def once_failing(share: Share) -> float:
        tries.append(1)
        return share.percent if len(tries) > 1 else fail(share)

    flow = Flow("f").step(lambda value: Share(percent=50)).step(once_failing)
    app = flow.compile(checkpointer=InMemorySaver())
    with pytest.raises(RunError):
        app.run("x", thread_id="t")
    assert app.resume("t").output == 0.5


def test_a_secret_is_refused_by_a_checkpoint_and_not_kept_as_stars() -> None:
    class Login(BaseModel):
        token: SecretStr

    flow = Flow("f").step(lambda value: Login(token=SecretStr(value)), name="login")
    assert flow.run("pw").output.token.get_secret_value() == "pw"
    with pytest.raises(RunError, match="'login'.*Login"):
        flow.compile(checkpointer=InMemorySaver()).run("pw")


@pytest.mark.parametrize("value", [2**70, -(2**70), {"n": [2**64]}])
def test_whole_numbers_of_any_size_are_kept(value: Any) -> None:
    app = Flow("f").step(lambda given: given).compile(checkpointer=InMemorySaver())
    app.run(value, thread_id="t")
    assert app.resume("t").output == value


def test_a_value_that_is_nested_too_deep_fails_its_step_and_can_be_rescued() -> None:
    def deep(value: Any) -> Any:
        for _ in range(300):
            value = [value]
        return value

    flow = Flow("f").step(deep)
    app = flow.compile(checkpointer=InMemorySaver())
    with pytest.raises(RunError, match="'deep'.*nested too deep"):
        app.run("x", thread_id="t")
    saved = flow.rescue(lambda error: "saved").compile(checkpointer=InMemorySaver())
    assert saved.run("x").output == "saved"


def test_a_value_that_holds_itself_is_refused_by_a_checkpoint_and_else_passed_on() -> None:
    ring: list[Any] = []
    ring.append(ring)
    flow = Flow("f").step(lambda value: ring, name="ring").map(len)
    assert flow.run("x").output == 1
    with pytest.raises(RunError, match="'ring'.*holds itself"):
        flow.compile(checkpointer=InMemorySaver()).run("x")


def test_an_input_from_outside_is_never_taken_for_a_packed_value() -> None:
    given = {"__flowcompose__": "dataclass", "class": "subprocess:Popen", "fields": {}}
    app = Flow("f").map(lambda value: value).compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    assert app.invoke({"input": given}, config)["output"] == given


@pytest.mark.parametrize("saving", [False, True])
def test_what_a_tap_does_to_the_value_is_not_done_to_the_flow(saving: bool) -> None:
    flow = Flow("f").tap(lambda value: value.append("tapped")).map(lambda value: value)
    app = flow.compile(checkpointer=InMemorySaver() if saving else None)
    assert app.run(["given"]).output == ["given"]


def test_what_one_parallel_block_does_to_the_value_is_not_seen_by_the_others() -> None:
    flow = Flow("f").parallel([lambda value: value.append("x"), len, len])
    assert flow.run([]).output == [None, 0, 0]


@pytest.mark.parametrize("saving", [False, True])
def test_of_parallel_writes_to_one_field_the_last_in_the_order_written_stands(
    saving: bool,
) -> None:
    class Field(BaseModel):
        n: int = 0

    def write(n: int) -> Callable[[Any, Context], None]:
        return lambda value, ctx: ctx.resources["field"].patch(n=n)

    flow = Flow("f", resources=[resource("field", Field)])
    flow = flow.parallel({"zeta": write(1), "alpha": write(2)})
    flow = flow.step(lambda value, ctx: ctx.resources["field"].state.n)
    assert flow.compile(checkpointer=InMemorySaver() if saving else None).run("x").output == 2


@pytest.mark.parametrize("name", ["part", "value", "error"])
def test_no_key_of_a_parallel_step_is_taken_for_something_else(name: str) -> None:
    flow = Flow("f").parallel({name: len, f"error of {name}": len, "b": len}, name="a")
    flow = flow.step(lambda value: list(value.values()), name="a.b").step(sum, name="a.b'")
    assert flow.run("abc").output == 9


# Tokens


def same(value: Any) -> Any:
    return value


@pytest.mark.parametrize("saving", [False, True])
@pytest.mark.parametrize(
    "flow",
    [
        lambda model: Flow("f").step(model),
        lambda model: Flow("f").tap(model),
        lambda model: Flow("f").step(model).step(same).map(same),
        lambda model: Flow("f").step(model).step(Flow("inner").map(same)),
        lambda model: Flow("f").step(model).parallel([same, same]),
        lambda model: Flow("f").step(model).map(lambda value: [value]).for_each(same),
        lambda model: Flow("f").step(model).step(same).loop_back("same", max_iterations=2),
        lambda model: Flow("f").step(model).step(fail).rescue(lambda error, value: value),
    ],
    ids=["step", "tap", "on", "nested", "parallel", "each", "loop", "rescue"],
)
def test_an_answer_of_a_model_is_counted_once_wherever_it_goes(
    flow: Callable[[Any], Flow[Any]], saving: bool
) -> None:
    asking = flow(ScriptedModel([costing("hi")]))
    app = asking.compile(checkpointer=InMemorySaver() if saving else None)
    assert app.run("x").usage.total_tokens == 3


@pytest.mark.parametrize("given", ["hi", {"messages": [{"role": "user", "content": "hi"}]}])
def test_a_graph_is_counted_whatever_it_was_given(given: Any) -> None:
    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [costing("yes")]})
    graph = builder.add_edge(START, "model").compile()
    result = Flow("f").step(graph, name="ask", input=lambda value: given).run(1)
    assert result.usage.total_tokens == 3


def test_a_graph_may_have_keys_that_are_named_like_ours() -> None:
    class State(MessagesState, total=False):
        usage: str

    builder: Any = StateGraph(State)
    builder.add_node("model", lambda state: {"messages": [AIMessage("yes")], "usage": "low"})
    assert Flow("f").step(builder.add_edge(START, "model").compile()).run("x").output == "yes"


def test_items_and_patterns_that_were_paid_for_are_counted_though_the_step_is_rescued() -> None:
    def item(value: str) -> AIMessage:
        return fail(value) if value == "bad" else costing(value)

    each = Flow("f").for_each(item, max_concurrency=1).rescue(lambda error: "saved")
    assert each.run(["a", "b", "bad", "never"]).usage.total_tokens == 6
    paid = RosterEntry(name="ann", block=lambda turn: costing("said"))
    half = panel(roster=[paid, RosterEntry(name="bob", block=fail)])
    assert Flow("f").step(half).rescue(lambda error: "saved").run("x").usage.total_tokens == 3


# Rescues


def test_a_pattern_a_graph_and_a_flow_can_rescue_and_are_told_what_happened() -> None:
    told = panel(roster=[RosterEntry(name="ann", block=lambda turn: turn.goal)])
    builder: Any = StateGraph(MessagesState)
    builder.add_node("echo", lambda state: {"messages": [AIMessage(state["messages"][-1].text)]})
    graph = builder.add_edge(START, "echo").compile()
    seen: list[Any] = []
    flow = Flow("inner").tap(seen.append).map(lambda rescued: "seen")
    for block in (told, graph):
        output = Flow("f").step(fail).rescue(block).run("boom").output
        assert output == "Step 'fail' failed (ValueError: boom)."
    for saver in (None, InMemorySaver()):
        app = Flow("f").step(fail).rescue(flow).compile(checkpointer=saver)
        assert app.run("boom").output == "seen"
    assert [type(each) for each in seen] == [Rescued, Rescued]
    assert [(repr(each.error), each.value) for each in seen] == [("ValueError('boom')", "boom")] * 2


def test_after_a_pause_a_rescue_gets_its_error_as_it_was() -> None:
    class CodeError(Exception):
        def __init__(self, code: int) -> None:
            super().__init__(f"code {code}")
            self.code = code

    def broken(value: Any) -> Any:
        raise CodeError(3)

    def ask(error: CodeError, value: Any) -> Any:
        return interrupt("retry?"), error.code, str(error)

    app = Flow("f").step(broken).rescue(ask, on=CodeError).compile(checkpointer=InMemorySaver())
    assert app.run("x", thread_id="t").interrupts == ["retry?"]
    assert app.resume("t", "no").output == ("no", 3, "code 3")


def test_a_model_can_rescue_and_reads_what_happened() -> None:
    model = ScriptedModel(["sorry"])
    assert Flow("f").step(fail).rescue(model).run("boom").output.text == "sorry"
    assert model.calls[0].messages[-1].text == "Step 'fail' failed (ValueError: boom)."


def test_a_rescue_without_a_step_before_it_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"step 1.*covers the steps before it.*none"):
        Flow("f").rescue(lambda error: "saved")


def test_an_output_error_names_the_step_that_gave_the_value() -> None:
    flow = Flow("f", output_schema=Share).step(lambda value: 1, name="first")
    flow = flow.exit_if(lambda value: True).step(len, name="never")
    with pytest.raises(OutputError, match="'first'"):
        flow.run("x")


# Questions


@pytest.mark.parametrize("use_async", [False, True])
async def test_questions_of_several_blocks_are_answered_in_their_order(use_async: bool) -> None:
    def ask(name: str) -> Callable[[Any], str]:
        return lambda value: f"{name}: {interrupt(name)}"

    flow = Flow("f").parallel({"b": ask("b"), "a": ask("a")})
    flow = flow.map(lambda both: list(both.values())).for_each(ask("each"), max_concurrency=2)
    app = flow.compile(checkpointer=InMemorySaver())
    run = await app.arun("x", thread_id="t") if use_async else app.run("x", thread_id="t")
    assert sorted(run.interrupts) == ["a", "b"]
    with pytest.raises(DefinitionError, match="2 questions wait.*list of as many.*'one'"):
        app.resume("t", "one")
    answers = [f"{question}!" for question in run.interrupts]
    run = await app.aresume("t", answers) if use_async else app.resume("t", answers)
    assert run.interrupts == ["each", "each"]
    run = await app.aresume("t", [1, 2]) if use_async else app.resume("t", [1, 2])
    assert run.output == ["each: 1", "each: 2"]


def test_an_item_that_asks_comes_before_one_that_fails() -> None:
    def item(value: str) -> Any:
        return interrupt("ok?") if value == "ask" else fail(value)

    flow = Flow("f").for_each(item).rescue(lambda error, value: f"saved {value}", on=ValueError)
    app = flow.compile(checkpointer=InMemorySaver())
    assert app.run(["ask", "bad"], thread_id="t").interrupts == ["ok?"]
    assert app.resume("t", "yes").output == "saved ['ask', 'bad']"


# The engine


@pytest.mark.parametrize("use_async", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_a_for_each_comes_to_its_end_under_any_limit(limit: int, use_async: bool) -> None:
    inner = Flow("inner").for_each(lambda item: item + 1).map(sum)
    flow = Flow("f").for_each(inner)
    config: Any = {"max_concurrency": limit}
    given = [[1, 2], [3, 4], [5, 6]]
    if use_async:
        seen = [event async for event in flow.aevents(given, config=config)]
    else:
        seen = list(flow.events(given, config=config))
    assert isinstance(seen[-1], events.RunCompleted)
    assert seen[-1].result.output == [5, 9, 13]


def test_a_failing_synthesizer_of_a_pattern_is_no_step() -> None:
    with pytest.raises(RunError):
        for event in panel(synthesizer=fail).events("x"):
            assert not isinstance(event, events.StepFailed)


def test_one_pattern_in_several_places_is_drawn() -> None:
    shared = panel("shared")
    flow = Flow("f").step(Flow("one").step(shared)).step(Flow("two").step(shared)).step(shared)
    assert flow.mermaid().count("ann") >= 3


def test_a_model_that_is_not_configured_is_told_before_the_first_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("OPENAI_API_KEY", "FLOWCOMPOSE_MODEL"):
        monkeypatch.delenv(variable, raising=False)
    seen: list[Any] = []
    inner = Flow("inner").step(panel(roster=[{"name": "ann"}], accessor_key="k"))
    flow = Flow("f").tap(seen.append).step(generator("g", "x")).step(inner)
    with pytest.raises(DefinitionError, match=r"(?s)'f'.*'g'.*'ann'|intent/chat"):
        flow.run("x")
    assert seen == []


def test_a_flow_is_a_member_by_itself() -> None:
    member = Flow("member").step(lambda turn: f"{turn.agent_name} on {turn.goal}")
    assert panel(roster=[member]).run("bees").output == "member on bees"


def test_a_condition_reads_resources_and_does_not_write_them() -> None:
    class Count(BaseModel):
        n: int = 0

    def write(value: Any, ctx: Context) -> bool:
        ctx.resources["count"].patch(n=1)
        return True

    flow = Flow("f", resources=[resource("count", Count)]).step_if(write, len)
    with pytest.raises(RunError, match="'len'.*condition"):
        flow.run("x")


def test_a_diagram_has_no_word_and_no_sign_of_mermaid_as_a_name() -> None:
    shared = panel("class", roster=[RosterEntry(name="end", block=lambda turn: "said")])
    flow = Flow("f").step(shared).parallel({"style": len, "b": len}).map(str, name='all "(two)"')
    drawn = flow.step(Flow("inner").step(shared)).mermaid()
    nodes = [line.strip().partition("(") for line in drawn.splitlines() if "(" in line]
    assert not {"style", "end", "class"} & {name.rpartition("\\3a")[2] for name, _, _ in nodes}
    assert "(style)" in drawn
    assert [label for name, _, label in nodes if name.startswith("all")] == [
        "all \uff02\uff08two\uff09\uff02)"
    ]
    assert [line for line in drawn.splitlines() if "subgraph" in line] == [
        "\tsubgraph class_",
        "\tsubgraph inner",
        "\tsubgraph class__2",
    ]
