"""Documents as patterns, from Python: what the command line stands on."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from flowcompose import MaxTurnsReached, MemberError
from flowcompose.core.results import Result
from flowcompose.runner.agents.endpoint import Endpoint
from flowcompose.runner.manifest import load_text
from flowcompose.runner.teams import Answer, Job
from flowcompose.runner.teams.jobs import jobs_for
from tests.openai_server import HttpError, OpenAIServer, Reply, ToolCalls

HEAD = "---\napiVersion: ark.mckinsey.com/v1alpha1\nkind: {}\nmetadata:\n  name: {}\nspec:\n"


def agent(name: str, more: str = "") -> str:
    """An agent whose prompt says who it is."""
    return HEAD.format("Agent", name) + f"  prompt: You are {name}.\n{more}"


def team(name: str, members: str, strategy: str, more: str = "") -> str:
    """A team; members in capitals are teams."""
    listed = "".join(
        f"  - name: {each.lower()}\n    type: {'team' if each.isupper() else 'agent'}\n"
        for each in members.split()
    )
    return HEAD.format("Team", name) + f"  strategy: {strategy}\n  members:\n{listed}{more}"


TERMINATE = "  tools:\n  - type: built-in\n    name: terminate\n"
LAST_ERA = (
    HEAD.format("Model", "unused")
    + (
        "  provider: openai\n  model:\n    value: m\n  config:\n    openai:\n"
        "      baseUrl:\n        value: http://127.0.0.1:9/v1\n      apiKey:\n        value: none\n"
    )
    + HEAD.format("Team", "marks-the-era")
    + (
        "  strategy: sequential\n  loops: true\n  maxTurns: 1\n  members:\n"
        "  - name: ann\n    type: agent\n"
    )
)


def who(body: dict[str, Any]) -> str:
    """Who asks: the prompt says it."""
    first = body["messages"][0]
    return str(first["content"]).removeprefix("You are ").removesuffix(".")


def speaks(body: dict[str, Any]) -> Reply:
    """Everybody says its name, and how many messages it was shown."""
    return f"{who(body)} heard {len(body['messages'])}"


def job(documents: str, name: str, server: OpenAIServer, saver: Any = None) -> Job:
    """The job of a team that is asked to count."""
    manifest = load_text(documents)
    endpoint = Endpoint(base_url=server.base_url, api_key="key-of-the-test")
    return jobs_for(manifest, team=name, input="Count.", endpoint=endpoint, checkpointer=saver)[0]


def names(answer: Answer) -> list[str]:
    """Who spoke."""
    return [m["name"] for m in answer.raw if m["role"] == "assistant"]


PEOPLE = agent("ann") + agent("bob") + agent("cid", TERMINATE)
SELECTS = "  selector:\n    agent: bob\n"
TEAMS = {
    "sequential": team("t", "ann bob ann", "sequential"),
    "round-robin": team("t", "ann bob", "round-robin", "  maxTurns: 2\n"),
    "graph": team(
        "t",
        "ann bob",
        "graph",
        "  maxTurns: 3\n  graph:\n    edges:\n    - from: ann\n      to: bob\n",
    ),
    "nested": team("t", "ann INNER bob", "sequential") + team("inner", "bob ann", "sequential"),
    "selector": team("t", "ann cid", "selector", f"  maxTurns: 3\n{SELECTS}"),
}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(speaks) as running:
        yield running


@pytest.mark.parametrize("strategy", TEAMS)
def test_the_async_path_gives_the_same(strategy: str, server: OpenAIServer) -> None:
    def outcome(run: Callable[[Job], Result[Any]]) -> Answer:
        made = job(PEOPLE + TEAMS[strategy], "t", server)
        try:
            return made.answer(run(made))
        except (MemberError, MaxTurnsReached) as error:
            return made.failure(error)

    once = outcome(lambda made: made.pattern.run(made.goal))
    again = outcome(lambda made: asyncio.run(made.pattern.arun(made.goal)))
    assert once.raw
    assert once == again


def test_a_nested_team_hears_everything_and_all_that_it_says_is_heard(
    server: OpenAIServer,
) -> None:
    made = job(PEOPLE + TEAMS["nested"], "t", server)
    answer = made.answer(made.pattern.run(made.goal))
    assert names(answer) == ["ann", "bob", "ann", "bob"]
    assert answer.content == "bob heard 5"
    last = server.requests[-1]["messages"]
    assert [m["role"] for m in last] == ["system", *["assistant"] * 3, "user"]
    assert [m.get("name") for m in last] == [None, "ann", "bob", "ann", None]
    assert last[-1]["content"] == "Count."


def test_a_member_may_be_listed_more_than_once(server: OpenAIServer) -> None:
    made = job(PEOPLE + TEAMS["sequential"], "t", server)
    result = made.pattern.run(made.goal)
    assert names(made.answer(result)) == ["ann", "bob", "ann"]
    assert [c.agent_name for c in result.contributions] == ["ann", "bob", "ann-2"]


def test_a_run_that_failed_inside_of_a_team_goes_on_at_that_turn() -> None:
    asked: list[str] = []

    def reply(body: dict[str, Any]) -> Reply:
        asked.append(who(body))
        return HttpError(400, "no") if len(asked) == 3 else speaks(body)

    with OpenAIServer(reply) as server:
        made = job(PEOPLE + TEAMS["nested"], "t", server, InMemorySaver())
        with pytest.raises(MemberError) as failed:
            made.pattern.run(made.goal, thread_id="one")
        partial = made.failure(failed.value)
        assert partial.phase == "error"
        assert names(partial) == ["ann", "bob"]
        assert "agent default/ann execution failed" in str(partial.error)
        answer = made.answer(made.pattern.resume("one"))
    assert asked == ["ann", "bob", "ann", "ann", "bob"]
    assert names(answer) == ["ann", "bob", "ann", "bob"]


def test_no_checkpoint_holds_a_secret_that_a_model_repeats() -> None:
    secret = "s3cr3t-of-the-vault"
    holder = HEAD.replace("ark.mckinsey.com/v1alpha1", "v1").format("Secret", "vault")
    holder = holder.replace("spec:\n", f"stringData:\n  token: {secret}\n")
    told = (
        "  parameters:\n  - name: token\n    valueFrom:\n      secretKeyRef:\n"
        "        name: vault\n        key: token\n"
    )
    told_agent = HEAD.format("Agent", "ann") + "  prompt: Know {{.token}}.\n" + told
    query = HEAD.format("Query", "q") + (
        "  input: Repeat {{.token}}!\n" + told + "  targets:\n  - type: team\n    name: t\n"
    )
    documents = holder + told_agent + agent("bob") + team("t", "ann bob", "sequential") + query
    saver = InMemorySaver()

    def repeat(body: dict[str, Any]) -> Reply:
        return " ".join(str(m["content"]) for m in body["messages"])

    with OpenAIServer(repeat) as server:
        endpoint = Endpoint(base_url=server.base_url, api_key="key-of-the-test")
        (made,) = jobs_for(load_text(documents), endpoint=endpoint, checkpointer=saver)
        seen = [repr(event) for event in made.pattern.events(made.goal, thread_id="one")]
        answer = made.answer(made.pattern.resume("one"))
        sent = str(server.requests)
    assert f"Know {secret}." in sent
    assert f"Repeat {secret}!" in sent
    kept = pickle.dumps([dict(saver.storage), dict(saver.blobs), dict(saver.writes)])
    assert secret.encode() not in kept
    assert secret not in str(answer)
    assert secret not in "".join(seen)
    assert "Repeat ***!" in answer.content


@pytest.mark.parametrize("tool", ["terminate", "select-next-speaker"])
def test_no_checkpoint_holds_a_secret_with_which_a_selector_ends_its_team(tool: str) -> None:
    secret = "key-of-the-test"
    reply = ToolCalls([(tool, {"response": secret, "name": secret})])
    more = "  maxTurns: 5\n  selector:\n    agent: bob\n    enableTerminateTool: true\n"
    saver = InMemorySaver()
    with OpenAIServer(lambda body: reply) as server:
        made = job(PEOPLE + team("t", "ann cid", "selector", more), "t", server, saver)
        answer = made.answer(made.pattern.run(made.goal, thread_id="one"))
    kept = pickle.dumps([dict(saver.storage), dict(saver.blobs), dict(saver.writes)])
    assert secret.encode() not in kept
    assert answer.stop is not None
    assert "***" in str(answer.stop.detail)


def test_tokens_are_counted_whoever_is_asked() -> None:
    def reply(body: dict[str, Any]) -> Reply:
        return "ann" if "Select the next" in str(body["messages"][-1]["content"]) else speaks(body)

    with OpenAIServer(reply) as server:
        made = job(PEOPLE + TEAMS["selector"], "t", server)
        usage = made.answer(made.pattern.run(made.goal)).usage
    assert usage.selector.total_tokens > 0
    assert usage.total_tokens > usage.selector.total_tokens


def test_a_team_of_the_last_era_says_that_it_reached_its_cap(server: OpenAIServer) -> None:
    inner = team("inner", "ann bob", "sequential", "  loops: true\n  maxTurns: 3\n")
    made = job(LAST_ERA + PEOPLE + inner + team("t", "INNER bob", "sequential"), "t", server)
    answer = made.answer(made.pattern.run(made.goal))
    limit = "Team conversation reached maximum turns limit (3)"
    assert [m["content"] for m in answer.raw if m["role"] == "system"] == [limit]
    assert {"role": "system", "content": limit} in server.requests[-1]["messages"]
    assert answer.content == "bob heard 6"


def test_a_selector_of_the_last_era_ends_its_team_with_its_own_words() -> None:
    def reply(body: dict[str, Any]) -> Reply:
        if "tool_choice" not in body:
            return speaks(body)
        if any(m.get("name") == "ann" or "# ann" in str(m["content"]) for m in body["messages"]):
            return ToolCalls([("terminate", {"response": "All is said."})])
        return ToolCalls([("select-next-speaker", {"name": "ann"})])

    more = "  maxTurns: 5\n  selector:\n    agent: bob\n    enableTerminateTool: true\n"
    with OpenAIServer(reply) as server:
        made = job(PEOPLE + team("t", "ann cid", "selector", more), "t", server)
        answer = made.answer(made.pattern.run(made.goal))
    assert answer.stop is not None
    assert (answer.stop.reason, answer.stop.by) == ("selector_stop", "bob")
    assert answer.content == "ann heard 3"  # words of the user's twice: in the talk, and last
    assert answer.raw[-1]["content"] == "All is said."
    assert [m["role"] for m in answer.raw] == ["assistant", "assistant", "tool"]


def test_whoever_ends_its_team_keeps_its_calls_in_the_conversation() -> None:
    def reply(body: dict[str, Any]) -> Reply:
        if who(body) == "cid":
            return ToolCalls([("terminate", {"response": t}) for t in ("Done.", "x")])
        return speaks(body)

    inner = team("inner", "ann cid bob", "sequential")
    with OpenAIServer(reply) as server:
        made = job(PEOPLE + inner + team("t", "INNER bob", "sequential"), "t", server)
        answer = made.answer(made.pattern.run(made.goal))
        heard = server.requests[-1]["messages"]
    assert names(answer) == ["ann", "cid", "bob"]
    calls = [c["id"] for m in heard for c in m.get("tool_calls", ())]
    assert calls == [m["tool_call_id"] for m in heard if m["role"] == "tool"]
    assert len(calls) == 2


# Secrets, names, and failures in the words of the documents

VAULT = "s3cr3t-of-the-vault"
HOLDER = (
    HEAD.replace("ark.mckinsey.com/v1alpha1", "v1")
    .format("Secret", "vault")
    .replace("spec:\n", f"stringData:\n  token: {VAULT}\n")
)


def query(text: str, kind: str = "team", name: str = "t") -> str:
    """A Query; its input is written as YAML."""
    target = f"  targets:\n  - type: {kind}\n    name: {name}\n"
    return HEAD.format("Query", "q") + f"  input: {text}\n{target}"


def asked(documents: str, server: OpenAIServer, saver: Any = None) -> Job:
    """The job of the only Query."""
    endpoint = Endpoint(base_url=server.base_url, api_key="key-of-the-test")
    return jobs_for(load_text(documents), endpoint=endpoint, checkpointer=saver)[0]


def test_earlier_messages_reach_agents_as_they_are_and_checkpoints_without_secrets(
    server: OpenAIServer,
) -> None:
    before = f"[{{role: user, content: My key is {VAULT}.}}, {{role: user, content: Go on.}}]"
    inner = team("inner", "bob", "sequential")
    documents = HOLDER + PEOPLE + inner + team("t", "ann INNER", "sequential") + query(before)
    saver = InMemorySaver()
    made = asked(documents, server, saver)
    made.pattern.run(made.goal, thread_id="one")
    for request in server.requests:
        assert request["messages"][1]["content"] == f"My key is {VAULT}."
    kept = pickle.dumps([dict(saver.storage), dict(saver.blobs), dict(saver.writes)])
    assert VAULT.encode() not in kept


def test_no_part_of_an_answer_brings_a_secret_out() -> None:
    def reply(body: dict[str, Any]) -> Reply:
        return ToolCalls([(VAULT, {"x": VAULT})])

    with OpenAIServer(reply) as server:
        documents = HOLDER + PEOPLE + team("t", "cid", "sequential") + query("Go.")
        made = asked(documents, server)
        with pytest.raises(MemberError) as failed:
            made.pattern.run(made.goal)
    answer = made.failure(failed.value)
    assert answer.raw
    assert VAULT not in str(answer)


def test_a_name_with_a_dot_stays_as_it_is(server: OpenAIServer) -> None:
    documents = agent("ann.one") + agent("bob") + team("t", "ann.one bob", "sequential")
    made = job(documents, "t", server)
    answer = made.answer(made.pattern.run(made.goal))
    assert names(answer) == ["ann.one", "bob"]
    assert server.requests[-1]["messages"][1]["name"] == "ann.one"


def test_a_member_that_is_listed_twice_fails_under_its_own_name() -> None:
    replies: Iterator[Reply] = iter(["fine", "fine", HttpError(400, "no")])
    with OpenAIServer(lambda body: next(replies)) as server:
        documents = PEOPLE + team("t", "ann ann", "round-robin", "  maxTurns: 2\n") + LAST_ERA
        manifest = load_text(documents, compat="v0.1.50")
        endpoint = Endpoint(base_url=server.base_url, api_key="none")
        (made,) = jobs_for(manifest, team="t", input="Count.", endpoint=endpoint)
        with pytest.raises(MemberError) as failed:
            made.pattern.run(made.goal)
        answer = made.failure(failed.value)
    assert str(answer.error).startswith("agent ann failed in team default/t: agent default/ann")
    assert answer.stop is not None
    assert answer.stop.by == "ann"


def test_arguments_that_are_no_json_stay_in_the_messages_as_they_came() -> None:
    with OpenAIServer(lambda body: ToolCalls([("terminate", '{"response": "cut o')])) as server:
        made = job(PEOPLE + team("t", "cid", "sequential"), "t", server)
        with pytest.raises(MemberError) as failed:
            made.pattern.run(made.goal)
    called, told = made.failure(failed.value).raw
    (call,) = called["tool_calls"]
    assert call["function"] == {"name": "terminate", "arguments": '{"response": "cut o'}
    assert told["tool_call_id"] == call["id"]


def test_a_team_that_is_a_tool_fails_in_its_own_words() -> None:
    tool = HEAD.format("Tool", "panel") + "  type: team\n  team:\n    name: inner\n"
    asks = agent("eve", "  tools:\n  - type: custom\n    name: panel\n")
    inner = team("inner", "ann", "round-robin", "  maxTurns: 2\n")

    def reply(body: dict[str, Any]) -> Reply:
        return ToolCalls([("panel", {"input": "go"})]) if who(body) == "eve" else speaks(body)

    with OpenAIServer(reply) as server:
        made = job(PEOPLE + tool + asks + inner + team("t", "eve", "sequential"), "t", server)
        with pytest.raises(MemberError) as failed:
            made.pattern.run(made.goal)
    assert "team round-robin MaxTurns reached inner" in str(made.failure(failed.value).error)


def test_edges_of_the_chooser_say_who_opens_only_where_the_first_member_would_else() -> None:
    edges = "  graph:\n    edges:\n    - from: bob\n      to: cid\n    - from: ann\n      to: cid\n"
    documents = PEOPLE + team("t", "ann cid", "selector", f"  maxTurns: 1\n{SELECTS}{edges}")
    opened: dict[str, list[str]] = {}

    def reply(body: dict[str, Any]) -> Reply:
        if "tool_choice" in body:
            return ToolCalls([("select-next-speaker", {"name": "ann"})])
        return speaks(body)

    for compat in ("v0.1.50", "v0.1.67"):
        with OpenAIServer(reply) as server:
            endpoint = Endpoint(base_url=server.base_url, api_key="none")
            manifest = load_text(documents, compat=compat)
            (made,) = jobs_for(manifest, team="t", input="Count.", endpoint=endpoint)
            opened[compat] = names(made.answer(made.pattern.run(made.goal)))
    assert opened == {"v0.1.50": ["cid"], "v0.1.67": ["ann"]}
