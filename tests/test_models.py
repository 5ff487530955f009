from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from flowcompose import (
    DefinitionError,
    MemberError,
    RosterEntry,
    TurnInput,
    capability,
    configure_models,
    generator,
    round_robin,
)
from flowcompose.core.context import Context
from flowcompose.core.testing import ScriptedModel
from flowcompose.patterns.round_robin import create_referee, create_roster_agent, create_synthesize
from tests.openai_server import HttpError, OpenAIServer


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for variable in [each for each in os.environ if each.startswith(("FLOWCOMPOSE_", "OPENAI_"))]:
        monkeypatch.delenv(variable)
    yield
    configure_models({})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda _: "Hello.") as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield running


def model_behind(model: str | BaseChatModel | None) -> BaseChatModel:
    return generator("ask", model=model).model_for(Context.outside())


# --- strings and objects


def test_a_chat_model_object_is_asked_itself() -> None:
    model = ScriptedModel(["Hello."])
    assert generator("ask", model=model).invoke("Say hello") == "Hello."
    model.assert_complete()


def test_a_string_names_the_providers_model(server: OpenAIServer) -> None:
    assert generator("ask", model="openai:gpt-5-nano").invoke("Say hello") == "Hello."
    assert server.requests[0]["model"] == "gpt-5-nano"


def test_the_same_name_gives_the_same_model(server: OpenAIServer) -> None:
    assert model_behind("openai:gpt-4o") is model_behind("openai:gpt-4o")


def test_a_change_of_the_environment_takes_effect(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = generator("ask", model="openai:gpt-4o")
    ask.invoke("go")
    with OpenAIServer(["From the other one."]) as other:
        monkeypatch.setenv("OPENAI_BASE_URL", other.base_url)
        assert ask.invoke("go") == "From the other one."


def test_a_model_of_openai_has_a_time_limit_reports_usage_and_leaves_retries_to_us(
    server: OpenAIServer,
) -> None:
    model = model_behind("openai:gpt-4o")
    assert isinstance(model, ChatOpenAI)
    assert (model.request_timeout, model.stream_usage, model.max_retries) == (120.0, True, 0)


def test_a_model_of_openai_without_a_key_says_what_to_set() -> None:
    with pytest.raises(DefinitionError, match="OPENAI_API_KEY is not set"):
        generator("ask", model="openai:gpt-4o").invoke("go")


@pytest.mark.parametrize("name", ["gpt-4o", ":gpt-4o", "openai:"])
def test_a_name_without_a_provider_or_a_model_is_told_the_form(name: str) -> None:
    with pytest.raises(DefinitionError, match="must look like 'openai:gpt-4o'") as raised:
        generator("ask", model=name).invoke("go")
    assert repr(name) in str(raised.value)


@pytest.mark.parametrize("model", ["", "  ", 5, ChatOpenAI])
def test_what_is_no_model_is_refused_where_it_is_written(model: Any) -> None:
    with pytest.raises(DefinitionError, match="model must be a chat model object"):
        round_robin(name="panel", roster=[{"name": "a"}], model=model)


def test_another_provider_without_the_extra_is_told_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "langchain", None)
    with pytest.raises(DefinitionError, match=r"pip install 'flowcompose\[models\]'"):
        generator("ask", model="mistralai:small").invoke("go")


def test_a_provider_that_nobody_knows_is_named_in_the_error() -> None:
    with pytest.raises(DefinitionError, match="nowhere"):
        generator("ask", model="nowhere:model").invoke("go")


def test_a_provider_that_lacks_its_settings_is_a_definition_error() -> None:
    with pytest.raises(DefinitionError, match="azure_openai:gpt-4o"):
        generator("ask", model="azure_openai:gpt-4o").invoke("go")


# --- intents


@pytest.mark.parametrize("key", ["intent/chat", "chat"])
def test_configure_models_takes_an_intent_with_and_without_its_prefix(key: str) -> None:
    configure_models({key: ScriptedModel(["configured"])})
    assert generator("ask").invoke("go") == "configured"


def test_an_intent_of_ones_own_is_looked_up_as_well() -> None:
    configure_models({"chat": "offline", "intent/review": ScriptedModel(["reviewed"])})
    assert generator("ask", model="intent/review").invoke("go") == "reviewed"


def test_configure_models_replaces_what_was_configured_before() -> None:
    configure_models({"chat": ScriptedModel(["never said"]), "synthesize": ScriptedModel([])})
    configure_models({"synthesize": ScriptedModel([])})
    with pytest.raises(DefinitionError, match="no model is configured"):
        generator("ask").invoke("go")


def test_a_configuration_that_is_refused_leaves_the_old_one() -> None:
    configure_models({"chat": ScriptedModel(["the old one"])})
    with pytest.raises(DefinitionError):
        configure_models({"chat": ""})
    assert generator("ask").invoke("go") == "the old one"


def test_configure_models_lists_all_problems() -> None:
    wrong: dict[Any, Any] = {"intent/": "offline", "a": 7, "b": "intent/chat", 3: "offline"}
    with pytest.raises(DefinitionError) as raised:
        configure_models(wrong)
    assert [problem.partition(", got")[0] for problem in raised.value.problems] == [
        "an intent is a name such as 'intent/chat'",
        "'a': model must be a chat model object, 'provider:name', 'intent/name' or 'offline'",
        "'b' must name a model, not another intent",
        "an intent is a name such as 'intent/chat'",
    ]


def test_an_intent_that_is_configured_twice_is_refused() -> None:
    with pytest.raises(DefinitionError, match="named twice"):
        configure_models({"chat": "offline", "intent/chat": "openai:gpt-4o"})


CHAT_LADDER: list[tuple[str, str]] = [
    ("FLOWCOMPOSE_MODEL_CHAT", "openai:of-chat"),
    ("FLOWCOMPOSE_MODEL", "openai:of-all"),
    ("OPENAI_MODEL", "of-openai"),
]


@pytest.mark.parametrize(
    ("rungs", "expected"), [(3, "of-chat"), (2, "of-all"), (1, "of-openai"), (0, "gpt-4o")]
)
def test_the_environment_is_asked_in_the_documented_order(
    rungs: int, expected: str, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in CHAT_LADDER[len(CHAT_LADDER) - rungs :]:
        monkeypatch.setenv(variable, value)
    generator("ask").invoke("go")
    assert server.requests[0]["model"] == expected


def test_configure_models_comes_before_the_environment(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWCOMPOSE_MODEL_CHAT", "openai:of-chat")
    configure_models({"chat": "openai:configured"})
    generator("ask").invoke("go")
    assert server.requests[0]["model"] == "configured"


@pytest.mark.parametrize(
    ("configured", "environment", "expected"),
    [
        ({"synthesize": "openai:s", "chat": "openai:c"}, {"": "openai:e"}, "s"),
        ({"chat": "openai:c"}, {"_SYNTHESIZE": "openai:es", "": "openai:e"}, "es"),
        ({"chat": "openai:c"}, {"": "openai:e"}, "c"),
        ({}, {"": "openai:e"}, "e"),
        ({}, {"_CHAT": "openai:ec", "": "openai:e"}, "e"),
        ({}, {"_CHAT": "openai:ec"}, "ec"),
        ({}, {}, "gpt-4o"),
    ],
)
def test_an_intent_that_is_not_named_falls_to_the_next_rung(
    configured: Mapping[str, str],
    environment: Mapping[str, str],
    expected: str,
    server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure_models(dict(configured))
    for suffix, value in environment.items():
        monkeypatch.setenv(f"FLOWCOMPOSE_MODEL{suffix}", value)
    generator("ask", model="intent/synthesize").invoke("go")
    assert server.requests[0]["model"] == expected


def test_an_intent_reads_a_variable_that_a_shell_can_set(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWCOMPOSE_MODEL_LEGAL_REVIEW_2", "openai:lawyer")
    generator("ask", model="intent/legal review-2").invoke("go")
    assert server.requests[0]["model"] == "lawyer"


@pytest.mark.parametrize("variable", ["FLOWCOMPOSE_MODEL", "FLOWCOMPOSE_MODEL_CHAT"])
def test_an_intent_in_the_environment_is_refused(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "intent/chat")
    with pytest.raises(DefinitionError, match=f"{variable} must name a model, not an intent"):
        generator("ask").invoke("go")


def test_the_offline_model_is_taken_when_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWCOMPOSE_MODEL", "offline")
    assert generator("ask").invoke("Is it so?").startswith("[offline]")


# --- who asks which model


def test_members_chat_and_the_referee_and_the_synthesizer_synthesize() -> None:
    chat, synthesize = ScriptedModel(lambda _: "words"), ScriptedModel([{"critique": "c"}, "done"])
    configure_models({"chat": chat, "synthesize": synthesize})
    panel = round_robin(
        name="panel", roster=[{"name": "a"}], referee=create_referee(), max_rounds=1
    )
    assert panel.run("go").output == "done"
    assert [call.agent_name for call in chat.calls] == ["a"]
    assert [call.agent_name for call in synthesize.calls] == ["referee", "synthesizer"]


def test_the_model_of_the_pattern_is_asked_by_all_its_default_blocks() -> None:
    model = ScriptedModel(["words", {"critique": "c"}, "done"])
    configure_models({"chat": ScriptedModel([]), "synthesize": ScriptedModel([])})
    round_robin(
        name="panel",
        roster=[{"name": "a"}],
        referee=create_referee(),
        model=model,
        max_rounds=1,
    ).run("go")
    assert [call.agent_name for call in model.calls] == ["a", "referee", "synthesizer"]


def test_a_block_that_names_a_model_asks_that_one() -> None:
    own = {name: ScriptedModel(lambda _: "words") for name in ("a", "b", "synthesizer")}
    panel = round_robin(
        name="panel",
        roster=[
            RosterEntry(name="a", block=create_roster_agent(agent_name="a", model=own["a"])),
            RosterEntry(name="b", block=generator("b", model=own["b"])),
        ],
        synthesizer=create_synthesize(model=own["synthesizer"]),
        model=ScriptedModel([]),
        max_rounds=1,
    )
    panel.run("go")
    assert {name: len(model.calls) for name, model in own.items()} == dict.fromkeys(own, 1)


def test_the_first_capability_with_a_model_gives_it() -> None:
    first, second = ScriptedModel(["first"]), ScriptedModel(["second"])
    uses = [capability("none"), capability("a", model=first), capability("b", model=second)]
    assert generator("ask", uses=uses).invoke("go") == "first"


def test_the_blocks_own_model_wins_over_its_capabilities() -> None:
    uses = [capability("a", model=ScriptedModel([]))]
    assert generator("ask", model=ScriptedModel(["own"]), uses=uses).invoke("go") == "own"


# --- nothing configured


WAYS: dict[str, Callable[[Any], Any]] = {
    "run": lambda panel: panel.run("go"),
    "arun": lambda panel: asyncio.run(panel.arun("go")),
    "invoke": lambda panel: panel.invoke({"goal": "go"}),
    "ainvoke": lambda panel: asyncio.run(panel.ainvoke({"goal": "go"})),
    "events": lambda panel: list(panel.events("go")),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_is_not_configured_is_found_before_any_turn(way: str) -> None:
    spoke: list[str] = []

    def first(turn: TurnInput) -> str:
        spoke.append(turn.agent_name)
        return "words"

    panel = round_robin(
        name="panel", roster=[RosterEntry(name="first", block=first), RosterEntry(name="second")]
    )
    with pytest.raises(DefinitionError) as raised:
        WAYS[way](panel)
    assert spoke == []
    for wanted in (
        "OPENAI_API_KEY",
        "FLOWCOMPOSE_MODEL_CHAT",
        "FLOWCOMPOSE_MODEL ",
        "configure_models",
        "model='offline'",
    ):
        assert wanted in str(raised.value)


def test_every_intent_without_a_model_is_listed() -> None:
    with pytest.raises(DefinitionError) as raised:
        round_robin(name="panel", roster=[{"name": "a"}]).run("go")
    assert [problem.partition(":")[0] for problem in raised.value.problems] == [
        "model 'intent/chat'",
        "model 'intent/synthesize'",
    ]


def test_a_panel_of_plain_functions_needs_no_model() -> None:
    def plain(turn: TurnInput) -> str:
        return "words"

    panel = round_robin(
        name="panel",
        roster=[RosterEntry(name="a", block=plain)],
        synthesizer=False,
        max_rounds=1,
    )
    assert panel.run("go").turns == 1


# --- event loops


def test_several_event_loops_can_use_the_same_name_one_after_the_other(
    server: OpenAIServer,
) -> None:
    panel = round_robin(name="panel", roster=[{"name": "a"}], model="openai:gpt-4o", max_rounds=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outputs = [asyncio.run(panel.arun("go")).output for _ in range(3)]
        gc.collect()
    assert outputs == ["Hello."] * 3
    assert [str(each.message) for each in caught] == []


def test_the_models_of_a_loop_end_with_it(server: OpenAIServer) -> None:
    ask = generator("ask", model="openai:gpt-4o")

    async def asked() -> weakref.ref[BaseChatModel]:
        await ask.ainvoke("go")
        return weakref.ref(ask.model_for(Context.outside()))

    model = asyncio.run(asked())
    gc.collect()
    assert model() is None


def test_within_one_loop_the_same_name_gives_the_same_model(server: OpenAIServer) -> None:
    async def same() -> bool:
        return model_behind("openai:gpt-4o") is model_behind("openai:gpt-4o")

    assert asyncio.run(same())


# --- the key stays where it belongs


SECRET = "sk-SECRET-that-nobody-may-read"


def kept(saver: InMemorySaver) -> str:
    return repr((dict(saver.storage), dict(saver.writes), dict(saver.blobs)))


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def test_no_key_in_events_results_checkpoints_and_logs(
    server: OpenAIServer,
    secret: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    saver = InMemorySaver()
    panel = round_robin(
        name="panel",
        roster=[{"name": "a"}],
        model="openai:gpt-4o",
        max_rounds=1,
        checkpointer=saver,
    )
    seen = repr([*panel.events("go", thread_id="t", session={"user": "u"})])
    state = repr(panel.get_state({"configurable": {"thread_id": "t"}}))
    shown = [seen, state, kept(saver), caplog.text, repr(panel), panel.mermaid()]
    assert "Hello." in seen
    assert "Hello." in kept(saver)
    assert [part for part in shown if SECRET in part] == []


def test_no_key_in_errors_and_what_they_leave_behind(
    monkeypatch: pytest.MonkeyPatch, secret: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    saver = InMemorySaver()
    panel = round_robin(
        name="panel", roster=[{"name": "a"}], model="openai:gpt-4o", checkpointer=saver
    )
    with OpenAIServer([HttpError(401, "the key is wrong")]) as refusing:
        monkeypatch.setenv("OPENAI_BASE_URL", refusing.base_url)
        with pytest.raises(MemberError) as raised:
            panel.run("go", thread_id="t")
    told = "".join(traceback.format_exception(raised.value))
    result = raised.value.result
    assert "the key is wrong" in told
    assert "the key is wrong" in kept(saver)
    shown = [told, repr(raised.value), repr(result), repr(raised.value.__cause__), kept(saver)]
    assert [part for part in [*shown, caplog.text] if SECRET in part] == []


def test_no_key_in_the_repr_of_a_model_and_of_what_holds_one(
    server: OpenAIServer, secret: None
) -> None:
    model = model_behind("openai:gpt-4o")
    panel = round_robin(
        name="panel",
        roster=[{"name": "a"}],
        model=model,
        uses=[capability("c", model=model)],
    )
    assert isinstance(model, ChatOpenAI)
    assert "gpt-4o" in repr(panel)
    assert [part for part in (repr(model), repr(panel), str(panel.program)) if SECRET in part] == []
