from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from flowcompose import (
    Context,
    DefinitionError,
    Pattern,
    RosterEntry,
    TurnInput,
    capability,
    generator,
    round_robin,
)
from flowcompose.core.testing import ModelCall, ScriptedModel
from flowcompose.patterns.round_robin import (
    RoundRobinInput,
    create_referee,
    create_roster_agent,
    create_synthesize,
)
from tests.openai_server import OpenAIServer, Reply

ROSTER = [
    {"name": "writer", "role": "writer of the draft"},
    {"name": "checker", "role": "checker of every claim"},
    {"name": "editor", "role": "editor of the prose"},
]
SPEAKERS = ["writer", "checker", "editor", "referee"] * 3 + ["synthesizer"]


def scripted(messages: list[BaseMessage], **bound: Any) -> str | dict[str, str]:
    """A contribution that is another one each time, or the referee's answer."""
    number = len(messages)
    return {"critique": f"critique {number}"} if "tools" in bound else f"contribution {number}"


def panel_of(model: Any, **options: Any) -> Pattern[Any]:
    given: dict[str, Any] = {"roster": ROSTER, "max_rounds": 3, "model": model}
    return round_robin(name="panel", **{**given, **options})


def calls_of(goal: Any = "Review the draft.", **options: Any) -> list[ModelCall]:
    model = ScriptedModel(scripted)
    panel_of(model, **{"referee": create_referee(), **options}).run(goal)
    return model.calls


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [str(message.text) for message in messages]


def system_of(**options: Any) -> str:
    """The system message of a panel of one round."""
    return texts(calls_of(max_rounds=1, **options)[0].messages)[0]


# --- the shared prefix


def test_all_requests_of_a_panel_share_their_beginning() -> None:
    calls = calls_of()
    assert [call.agent_name for call in calls] == SPEAKERS
    for before, after in pairwise(calls):
        assert after.messages[: len(before.messages) - 1] == before.messages[:-1]


def test_the_prefix_grows_by_what_was_said_and_nothing_else() -> None:
    calls = calls_of()
    assert [len(call.messages) for call in calls] == list(range(3, 3 + len(SPEAKERS)))


def test_the_system_message_is_the_same_in_all_requests() -> None:
    first = [call.messages[0] for call in calls_of()]
    assert isinstance(first[0], SystemMessage)
    assert first == [first[0]] * len(SPEAKERS)


def test_the_system_message_lists_the_roster_with_its_roles() -> None:
    system = system_of()
    lines = [f"- {member['name']}: {member['role']}" for member in ROSTER]
    assert "\n".join(lines) in system


def test_the_goal_stands_in_every_request_the_synthesizers_included() -> None:
    assert [call.messages[1].text for call in calls_of()] == ["Goal: Review the draft."] * 13


def test_contributions_and_critiques_stand_where_they_happened() -> None:
    *_, last = calls_of(max_rounds=2)
    told = [text.partition(":")[0] for text in texts(last.messages[2:-1])]
    assert told == [
        "[Round 1] writer",
        "[Round 1] checker",
        "[Round 1] editor",
        "[Round 1] Referee critique",
        "[Round 2] writer",
        "[Round 2] checker",
        "[Round 2] editor",
        "[Round 2] Referee critique",
    ]


def test_the_last_message_alone_names_who_is_asked_and_the_role() -> None:
    roster = [RosterEntry(name="anna", role="the sceptic"), RosterEntry(name="otto", role="glad")]
    for call in calls_of(roster=roster, referee=None, max_rounds=2)[:-1]:
        *shared, last = texts(call.messages)
        role = {"anna": "the sceptic", "otto": "glad"}[str(call.agent_name)]
        assert f"You are {call.agent_name}, {role}. It is round {call.metadata['round']}" in last
        assert "You are" not in "".join(shared)


def test_referee_and_synthesizer_are_told_their_part_in_the_last_message() -> None:
    *_, referee, synthesizer = calls_of()
    assert "You are the referee. Round 3 is complete." in referee.messages[-1].text
    assert "finished after 3 round(s). You write its deliverable" in synthesizer.messages[-1].text


def parts_of(call: ModelCall) -> list[str]:
    return [f"<{each.type} {each.name}>{each.text}" for each in call.messages]


def covered(parts: Sequence[str], earlier: Sequence[str]) -> int:
    """The characters up to the first one in which two requests differ."""
    count = 0
    for part, other in zip(parts, earlier, strict=False):
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(part, other)))  # noqa: B905 - up to the shorter one
        count += same
        if same < max(len(part), len(other)):
            break
    return count


def uncovered(calls: Sequence[ModelCall]) -> int:
    """The characters that no earlier request began with: those that a cache cannot have."""
    requests = [parts_of(call) for call in calls]
    return sum(
        sum(map(len, parts)) - max((covered(parts, each) for each in requests[:at]), default=0)
        for at, parts in enumerate(requests)
    )


SENTENCE = "The figure of {number} in the second paragraph has no source, so I would cut it. "


def realistic(messages: list[BaseMessage], **bound: Any) -> str | dict[str, str]:
    said = (SENTENCE.format(number=len(messages)) * 11)[:800]
    return {"critique": said} if "tools" in bound else said


@pytest.mark.parametrize(
    ("referee", "limit"), [(None, 1.3), (create_referee(), 1.5)], ids=["members", "with referee"]
)
def test_a_run_pays_its_transcript_once_and_not_once_per_member(referee: Any, limit: float) -> None:
    model = ScriptedModel(realistic)
    result = panel_of(model, referee=referee, max_rounds=10).run("Review the draft.")
    said = [
        *(c.text for c in result.contributions),
        *(c.critique for c in result.referee_critiques),
    ]
    transcript = sum(map(len, said))
    assert transcript == 800 * (30 if referee is None else 40)
    assert uncovered(model.calls) < limit * transcript


def test_the_server_receives_the_same_prefix() -> None:
    def answer(body: dict[str, Any]) -> Reply:
        structured = "response_format" in body
        return {"critique": "c"} if structured else f"contribution {len(body['messages'])}"

    with OpenAIServer(answer) as server:
        model = ChatOpenAI(
            model="gpt-4o", base_url=server.base_url, api_key=SecretStr("x"), max_retries=0
        )
        panel_of(model, referee=create_referee()).run("Review the draft.")
    sent = [body["messages"] for body in server.requests]
    assert len(sent) == len(SPEAKERS)
    for before, after in pairwise(sent):
        assert after[: len(before) - 1] == before[:-1]
    assert [each["role"] for each in sent[-1]] == ["system"] + ["user"] * 14
    assert [each.get("name") for each in sent[3][2:5]] == ["writer", "checker", "editor"]


# --- names


@pytest.mark.parametrize("name", ["Anna Müller", "a|b<c>", "x" * 100, "团队", "ann/otto"])
def test_a_name_that_providers_refuse_is_sent_as_a_slug(name: str) -> None:
    *_, last = calls_of(roster=[{"name": name}], max_rounds=1, referee=None)
    entry = last.messages[2]
    assert re.fullmatch("[A-Za-z0-9_-]{1,64}", str(entry.name))
    assert entry.text.startswith(f"[Round 1] {name}: ")


def test_a_name_that_providers_take_is_sent_as_it_is() -> None:
    *_, last = calls_of(roster=[{"name": "fact_checker-2"}], max_rounds=1, referee=None)
    assert last.messages[2].name == "fact_checker-2"


# --- instructions, context, capabilities


def test_instructions_stand_in_the_system_message() -> None:
    assert "Mind the tone." in system_of(instructions="Mind the tone.")


def test_instructions_may_be_a_function_of_the_input() -> None:
    def instructions(given: RoundRobinInput) -> str:
        return f"It is about: {given.goal}"

    assert "It is about: Review the draft." in system_of(instructions=instructions)


def test_instructions_may_be_a_function_of_the_input_and_the_context() -> None:
    def instructions(given: RoundRobinInput, ctx: Context) -> str:
        return f"{given.goal} for {ctx.session.state['user']}"

    model = ScriptedModel(scripted)
    panel = panel_of(model, instructions=instructions, max_rounds=1)
    panel.run("Review the draft.", session={"user": "Ada"})
    assert "Review the draft. for Ada" in texts(model.calls[0].messages)[0]


def test_instructions_may_be_several_and_empty_ones_are_left_out() -> None:
    def nothing(given: RoundRobinInput) -> None:
        return None

    assert "One.\n\nTwo." in system_of(instructions=["One.", nothing, "", "Two."])


def test_braces_in_a_text_stay_as_they_are() -> None:
    roster = [RosterEntry(name="a{0}", role="knows {json}")]
    call, *_ = calls_of("Fill {this}.", roster=roster, instructions="{name} {{x}}", max_rounds=1)
    system, goal, last = texts(call.messages)
    assert "- a{0}: knows {json}" in system
    assert "{name} {{x}}" in system
    assert goal == "Goal: Fill {this}."
    assert "You are a{0}, knows {json}." in last


def facts(given: RoundRobinInput) -> str:
    return f"Facts on {given.goal}"


def test_context_and_capabilities_stand_in_the_system_message() -> None:
    uses = [
        capability("style", instructions="Be brief.", context="House style: no adverbs."),
        capability("facts", context=facts),
    ]
    system = system_of(instructions="Mind the tone.", context="The reader is ten.", uses=uses)
    wanted = [
        "Mind the tone.",
        "Be brief.",
        "The reader is ten.",
        "House style: no adverbs.",
        "Facts on Review the draft.",
    ]
    assert [text for text in wanted if text not in system] == []
    assert sorted(wanted, key=system.index) == wanted


def test_the_texts_of_a_block_of_its_own_stand_in_its_last_message() -> None:
    own = [
        RosterEntry(
            name="writer",
            block=create_roster_agent(
                agent_name="writer",
                instructions="Write short.",
                context="For children.",
                uses=[capability("style", instructions="No adverbs.", context="In Welsh.")],
            ),
        ),
        RosterEntry(name="checker"),
    ]
    calls = calls_of(
        roster=own,
        referee=create_referee(instructions="Mind hedging."),
        synthesizer=create_synthesize(instructions="One paragraph."),
        max_rounds=1,
    )
    ends = {str(call.agent_name): texts(call.messages)[-1] for call in calls}
    for text in ("Write short.", "For children.", "No adverbs.", "In Welsh."):
        assert text in ends["writer"]
        assert text not in ends["checker"]
    assert "Mind hedging." in ends["referee"]
    assert "One paragraph." in ends["synthesizer"]
    assert len({texts(call.messages)[0] for call in calls}) == 1


def test_a_block_of_ones_own_does_not_get_the_patterns_texts() -> None:
    model = ScriptedModel(["words"])
    roster = [RosterEntry(name="a", block=generator("g", "You answer in haiku.", model=model))]
    round_robin(
        name="panel",
        roster=roster,
        instructions="Mind the tone.",
        context="The reader is ten.",
        synthesizer=False,
        max_rounds=1,
    ).run("go")
    (call,) = model.calls
    assert call.messages[0] == SystemMessage("You answer in haiku.")
    assert "Mind the tone." not in "".join(parts_of(call))
    assert "The reader is ten." not in "".join(parts_of(call))


def test_a_generator_as_a_member_reads_the_transcript() -> None:
    model = ScriptedModel(["one", "two"])
    roster = [RosterEntry(name=name, block=generator(name, model=model)) for name in ("a", "b")]
    round_robin(name="panel", roster=roster, synthesizer=False, max_rounds=1).run("go")
    assert texts(model.calls[1].messages) == [
        "Goal: go",
        "[Round 1] a: one",
        "You are b. It is your turn in round 1.",
    ]


def test_a_generators_message_may_be_written_by_a_function() -> None:
    def closing(turn: TurnInput, ctx: Context) -> str:
        return f"{turn.goal}, {ctx.agent_name}?"

    model = ScriptedModel(["one"])
    roster = [RosterEntry(name="a", block=generator("g", model=model, user=closing))]
    round_robin(name="panel", roster=roster, synthesizer=False, max_rounds=1).run("go")
    assert model.calls[0].messages == [HumanMessage("go, a?")]


async def late(given: object) -> str:
    return "too late"


def of_three(given: object, ctx: object, more: object) -> str:
    return "three"


@pytest.mark.parametrize("wrong", [late, 7, [late], of_three], ids=["async", "7", "list", "three"])
@pytest.mark.parametrize("argument", ["instructions", "context"])
def test_what_is_no_text_is_a_definition_error(argument: str, wrong: Any) -> None:
    with pytest.raises(DefinitionError, match=argument):
        panel_of(ScriptedModel([]), **{argument: wrong})


# --- history


def test_the_conversation_before_the_run_comes_before_the_goal() -> None:
    history = [HumanMessage("Hello."), AIMessage("What is to be done?")]
    calls = calls_of({"messages": [*history, HumanMessage("Review the draft.")]}, max_rounds=1)
    for call in calls:
        assert call.messages[1:3] == history
        assert call.messages[3].text == "Goal: Review the draft."
        assert isinstance(call.messages[0], SystemMessage)
