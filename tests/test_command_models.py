"""What `run` and `validate` say of models, and where: the command line may have answered it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.openai_server import OpenAIServer
from tests.test_run_command import (
    AGENTS,
    KEY,
    MODEL,
    QUERY,
    TEAM,
    _at_home,  # noqa: F401 - a fixture # pyright: ignore[reportPrivateUsage, reportUnusedImport]
    answer,
    cli,
    named,
    to,
    write,
)

NO_MODEL = "no model specified for agent"
HOLLOW = MODEL.replace("URL", "($url)").replace("sk-of-the-document", "($token)")
LOST = MODEL.split("---", maxsplit=1)[0].replace("URL", "http://localhost:9")
LACKING = QUERY.replace(
    "input:", "parameters: [{name: who, valueFrom: {secretKeyRef: {name: nos, key: k}}}]\n  input:"
)


def warned() -> list[str]:
    return [each["message"] for each in answer("validate", "docs")[1]["problems"]]


@pytest.mark.parametrize("models", ["", HOLLOW, LOST])
def test_a_model_that_the_command_line_names_is_no_matter_of_warnings(models: str) -> None:
    write(AGENTS, TEAM, QUERY, *filter(None, [models]))
    with OpenAIServer(named) as server:
        ended = cli("run", "docs", *to(server))
    assert (ended.exit_code, "warning" in ended.stderr) == (0, False)
    ended = cli("run", "docs", "--model", "offline")
    assert (ended.exit_code, "warning" in ended.stderr) == (0, False)
    assert warned()


def test_what_is_of_no_model_is_warned_of_all_the_same() -> None:
    reading = "parameters: [{name: p, valueFrom: {secretKeyRef: {name: keys, key: token}}}], "
    write(AGENTS.replace("{prompt: You are bob", f"{{{reading}prompt: You are bob"), TEAM, QUERY)
    Path("docs/model.yaml").write_text(HOLLOW)
    ended = cli("run", "docs", "--model", "offline")
    warnings = [line for line in ended.stderr.splitlines() if "warning" in line]
    assert len(warnings) == 1
    assert "stringData.token: the value of 'token' is only a placeholder" in warnings[0]


def test_without_a_word_of_models_they_are_warned_of() -> None:
    assert any(NO_MODEL in each for each in warned())
    assert NO_MODEL in cli("run", "docs").stderr


def test_models_that_are_not_called_here_stay_warnings_if_strict() -> None:
    bedrock = MODEL.replace("type: openai", "type: bedrock").split("config:")[0]
    write(AGENTS, TEAM, QUERY, f"{bedrock}config: {{bedrock: {{}}}}\n")
    code, told = answer("validate", "docs", "--strict")
    assert code == 0
    assert [each["severity"] for each in told["problems"]] == ["warning"]


def test_a_parameter_of_a_query_that_is_nowhere_has_a_place() -> None:
    write(AGENTS, TEAM, LACKING)
    code, told = answer("run", "docs", "--model", "offline")
    error = told["problems"][0]
    assert (code, error["severity"], error["path"]) == (2, "error", "spec.parameters[0]")
    lines = Path("docs/all.yaml").read_text().splitlines()
    assert (error["file"], "parameters:" in lines[error["line"] - 1]) == ("docs/all.yaml", True)
    assert "parameter 'who': secret 'nos' does not exist" in error["message"]
    assert [each["ok"] for each in told["documents"]] == [True, True, True, False]


def test_a_base_url_that_is_none_is_named() -> None:
    ended = cli("run", "docs", "--base-url", "nonsense")
    assert ended.exit_code == 2
    assert "--base-url: it must begin with http:// or https://, not 'nonsense'" in ended.stderr


def test_a_server_that_is_not_reached_is_named_without_a_secret() -> None:
    with socket.socket() as unheard:  # bound, and never listening
        unheard.bind(("127.0.0.1", 0))
        place = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        code, told = answer("run", "docs", "--base-url", f"{place}/{KEY}", "--api-key", KEY)
    assert code == 1
    assert told["responses"][0]["error"].endswith(f"Connection error ({place})")
