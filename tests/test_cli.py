from __future__ import annotations

import codecs
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import flowcompose
from flowcompose import Contribution, MemberError, RefereeCritique, RosterEntry, round_robin
from flowcompose.core import events
from flowcompose.core.events import Event
from flowcompose.core.retry import Retry
from flowcompose.patterns.round_robin import create_roster_agent
from flowcompose.resources.usage import Tokens
from flowcompose.runner.app import app
from flowcompose.runner.demo.editorial import shipped_draft
from flowcompose.runner.explain import explain
from flowcompose.runner.follow import follow
from flowcompose.runner.render import PlainRenderer, Renderer
from flowcompose.runner.render.live import LiveRenderer
from flowcompose.runner.render.region import Region
from tests import openai_server, openai_wire
from tests.openai_server import Hang, HttpError, OpenAIServer, Replies, Reply

PATIENCE = 60
"""Seconds after which a command that says nothing hangs; no test waits for it otherwise."""
KEY = "sk-a-secret"
LAUNCH = (
    "import signal, sys; sys.argv[0] = 'flowcompose';"
    # A shell that runs the tests in the background makes its children deaf to SIGINT.
    "signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from flowcompose.runner.entry import main; main()"
)
REVIEW: Mapping[str, object] = {
    "verdict": "revise",
    "summary": "Good, but for a date.",
    "corrections": [{"claim": "in 1886", "problem": "wrong year", "correction": "in 1883"}],
    "polished_opening": "Few crossings cost as much.",
}


@pytest.fixture(autouse=True)
def _no_model_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "FLOWCOMPOSE_", "LANGSMITH_", "LANGCHAIN_")):
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)


def demo(*args: str, **env: str) -> Result:
    """Run the demo in this process; its output is no terminal."""
    return CliRunner().invoke(app, ["demo", *args], env=env)


def environment(**more: str) -> dict[str, str]:
    source = str(Path(flowcompose.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, "TERM": "xterm-256color", **more}


def server_environment(server: OpenAIServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "gpt-test"}


def run_cli(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a shell does, with pipes."""
    command = [sys.executable, "-c", LAUNCH, *args]
    return subprocess.run(
        command,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


class Session:
    """A running command line, and what it has written so far."""

    def __init__(self, process: subprocess.Popen[bytes], reading: int) -> None:
        self.process = process
        self.written = ""
        self._reading = reading
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def wait_for(self, text: str) -> None:
        while text not in self.written:
            assert self._read(), f"it ended without {text!r}: {self.written!r}"

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.end()

    def end(self) -> int:
        while self._read():
            pass
        return self.process.wait(timeout=PATIENCE)

    def _read(self) -> bool:
        assert select.select([self._reading], [], [], PATIENCE)[0], f"hangs after {self.written!r}"
        piece = b""
        with suppress(OSError):  # so Linux says that nobody holds the terminal any more
            piece = os.read(self._reading, 65536)
        self.written += self._decoder.decode(piece)
        return bool(piece)


@contextmanager
def session(*args: str, terminal: bool, **env: str) -> Generator[Session]:
    """Start the command line, on a terminal of 100 columns or in a pipe."""
    reading, writing = pty.openpty() if terminal else os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, *args],
        env=environment(COLUMNS="100", LINES="40", **env),
        stdout=writing,
        stderr=writing,
        # Of its own, or the terminal would send the signal as well.
        start_new_session=True,
    )
    os.close(writing)
    try:
        yield Session(process, reading)
    finally:
        process.kill()
        process.wait()
        os.close(reading)


def answering(text: str) -> Callable[[dict[str, Any]], Reply]:
    """Replies in the form that each request asks for, a text as `text`."""

    def reply(body: dict[str, Any]) -> Reply:
        form: dict[str, Any] = body.get("response_format") or {"json_schema": {}}
        wanted = form["json_schema"].get("name")
        if wanted == "Review":
            return REVIEW
        return {"critique": "All of you repeat yourselves."} if wanted else text

    return reply


# --- without a model


def test_the_demo_runs_offline_and_ends_with_a_review_and_why_it_stopped() -> None:
    ended = demo()
    assert ended.exit_code == 0
    assert [len(re.findall(f"(?m)^{name}: ", ended.output)) for name in MEMBERS] == [2, 2, 2]
    assert ended.output.count("\nreferee: ") == 2
    assert "\n== Review\nverdict: revise\nsummary: " in ended.output
    assert re.search(r"\ncorrections\[1]\.correction: .+\npolished_opening: ", ended.output)
    last = ended.output.splitlines()[-1]
    assert last.startswith("== stopped: max_rounds (2 rounds); 2 rounds; 6 turns; ")
    assert re.search(r" tokens \([\d,]+ in, [\d,]+ out\); \d+\.\d s$", last)


MEMBERS = ("writer", "fact-checker", "copy-editor")


def test_the_offline_model_is_told_once_and_how_to_use_a_real_one() -> None:
    told = [line for line in demo().output.splitlines() if line.startswith("model: ")]
    assert len(told) == 1
    assert "offline" in told[0]
    assert "set OPENAI_API_KEY" in told[0]


def test_rounds_says_how_often_each_member_speaks() -> None:
    ended = demo("--rounds", "1")
    assert len(re.findall(r"(?m)^copy-editor: ", ended.output)) == 1
    assert "== round 2" not in ended.output


def test_rounds_must_be_one_at_least() -> None:
    assert demo("--rounds", "0").exit_code == 2


def test_the_shipped_draft_is_a_page_with_the_errors_that_its_module_names() -> None:
    draft = shipped_draft()
    assert 350 <= len(draft.split()) <= 450
    for planted in ("cholera", "five main cables", "1886", "Grover Cleveland", "1,959 feet"):
        assert draft.count(planted) == 1


# --- a text of the user's


def test_a_text_of_the_users_is_reviewed(tmp_path: Path) -> None:
    text = tmp_path / "mine.md"
    text.write_text("\ufeffOur café opened in 1911.", encoding="utf-8")
    ended = demo(str(text))
    assert ended.exit_code == 0
    assert "Our café opened in 1911." in ended.output
    assert "Brooklyn" not in ended.output
    assert "\ufeff" not in ended.output


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "No such file"),
        (b" \n", "is empty"),
        (b"caf\xe9", "no UTF-8 text"),
        (b"a\0b", "NUL"),
    ],
)
def test_a_file_that_is_no_text_is_told_before_anything_runs(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    text = tmp_path / "mine.md"
    if content is not None:
        text.write_bytes(content)
    ended = demo(str(text))
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert re.fullmatch(f"flowcompose: .*mine.md.*{problem}.*\n", ended.stderr)


def test_a_directory_is_no_text(tmp_path: Path) -> None:
    ended = demo(str(tmp_path))
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "Is a directory" in ended.stderr


# --- pipes and terminals


def test_no_escape_is_written_to_a_pipe_not_even_where_colour_is_forced() -> None:
    ended = run_cli("demo", "--rounds", "1", FORCE_COLOR="1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "== stopped: max_rounds" in ended.stdout
    assert "\x1b" not in ended.stdout


def test_plain_is_the_same_on_a_terminal_as_in_a_pipe() -> None:
    with session("demo", "--plain", terminal=True) as cli:
        assert cli.end() == 0
    assert "\x1b" not in cli.written
    assert timeless(cli.written) == timeless(demo().output)


def timeless(transcript: str) -> list[str]:
    return [re.sub(r"\d+\.\d s$", "", line) for line in transcript.splitlines()]


def test_a_terminal_gets_colour_rounds_and_the_review_in_a_panel() -> None:
    with session("demo", terminal=True) as cli:
        assert cli.end() == 0
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", cli.written)
    assert "\x1b[1;36mwriter" in cli.written
    assert "Round 2 ──" in shown
    assert re.search(r"╭─+ Review ─+╮", shown)
    assert "stopped  max_rounds (2 rounds) · 2 rounds · 6 turns" in shown
    assert cli.written.rfind("\x1b[?25h") > cli.written.rfind("\x1b[?25l") > 0  # the cursor


def test_no_color_is_honoured_on_a_terminal() -> None:
    with session("demo", terminal=True, NO_COLOR="1") as cli:
        assert cli.end() == 0
    styles = re.findall(r"\x1b\[([0-9;]*)m", cli.written)
    assert styles
    assert not [style for style in styles if re.search(r"(^|;)(3|4|9|10)\d", style)]


# --- with a model


def test_the_model_of_the_environment_is_asked_and_named() -> None:
    with OpenAIServer(answering("First.\nSecond.")) as server:
        ended = demo("--rounds", "1", **server_environment(server))
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert f"model: openai:gpt-test at {server.base_url[7:-3]}\n" in ended.output
    assert "offline" not in ended.output
    assert "writer: First.\nwriter: Second.\n" in ended.output
    assert "referee: All of you repeat yourselves.\n" in ended.output
    assert "corrections[1].claim: in 1886\n" in ended.output
    assert {body["model"] for body in server.requests} == {"gpt-test"}
    assert "Few crossings cost those who built" in str(server.requests[0]["messages"])
    assert KEY not in ended.output


def test_a_password_in_the_address_is_not_shown() -> None:
    # The address is not reached: the model line comes before the run.
    with OpenAIServer([HttpError(400, "no")]) as server:
        url = server.base_url.replace("http://", "http://me:hidden@")
        ended = demo(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=url)
    assert "model: openai:gpt-4o at 127.0.0.1:" in ended.output
    assert "hidden" not in ended.output


def test_a_model_name_that_cannot_be_read_is_told_before_anything_runs() -> None:
    ended = demo(FLOWCOMPOSE_MODEL="gpt-4o")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "'gpt-4o': must look like 'openai:gpt-4o'" in ended.stderr


def test_a_refused_key_is_one_message_with_what_was_achieved_and_without_the_key() -> None:
    replies: Replies = ["First.", HttpError(401, f"Incorrect API key provided: {KEY}.")]
    with OpenAIServer(replies) as server:
        ended = demo(**server_environment(server))
    assert ended.exit_code == 1
    assert ended.stderr == (
        "flowcompose: 'editorial-review': member 'fact-checker' failed: the provider answered "
        "401: Incorrect API key provided: ***; check the key, OPENAI_API_KEY\n"
    )
    assert "writer: First.\n" in ended.stdout
    assert "== failed; 1 contribution so far; 0 finished rounds; " in ended.stdout
    assert "Incorrect" not in ended.stdout


def test_a_failure_on_a_terminal_gives_the_terminal_back() -> None:
    with (
        OpenAIServer([HttpError(404, "no such model")]) as server,
        session("demo", terminal=True, **server_environment(server)) as cli,
    ):
        assert cli.end() == 1
    assert cli.written.count("no such model") == 1
    assert "Traceback" not in cli.written
    assert cli.written.rfind("\x1b[?25h") > cli.written.rfind("\x1b[?25l") > 0


def test_a_refused_connection_says_so_and_what_to_check(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer([]) as server:
        gone = server.base_url
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", gone)
    hasty = create_roster_agent(agent_name="writer", retry=Retry(attempts=1))
    panel = round_robin(name="panel", roster=[RosterEntry(name="writer", block=hasty)])
    with pytest.raises(MemberError) as raised:
        panel.run("go")
    said = explain(raised.value)
    assert said.startswith("'panel': member 'writer' failed: the provider was not reached (")
    assert "refused" in said
    assert said.endswith("; check OPENAI_BASE_URL and the network")


# --- Ctrl-C


@pytest.fixture
def stalling(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A server whose second answer stops in the middle, for as long as the test lasts."""
    replies = ["First.", "A line.\nAnd half a li|ne."]

    def stalled(reply: openai_wire.Answer, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        head, bar, _ = str(reply).partition("|")
        wire = list(openai_wire.events(head, body))
        yield from wire[:-2] if bar else wire
        if bar:
            server.closing.wait()

    monkeypatch.setattr(openai_server, "events", stalled)
    with OpenAIServer(replies) as server:
        yield server


@pytest.mark.parametrize("terminal", [True, False])
def test_ctrl_c_in_the_middle_of_a_turn_ends_at_once_with_what_there_is(
    stalling: OpenAIServer, terminal: bool
) -> None:
    # The text is seen while its answer is still on the way, so this shows streaming, too.
    with session("demo", terminal=terminal, **server_environment(stalling)) as cli:
        cli.wait_for("And half a li" if terminal else "fact-checker: A line.\n")
        assert cli.interrupt() == 130
    shown = re.sub(r"\x1b\[\S*m", "", cli.written)
    said = r"A line.\s+And half a li" if terminal else "fact-checker: A line.\nfact-checker: .*"
    assert re.search(said + r"\s*\[broken off]", shown)
    assert re.search("interrupted.*1 contribution so far", shown)
    assert "Traceback" not in cli.written
    assert cli.written.rfind("\x1b[?25h") >= cli.written.rfind("\x1b[?25l")


def test_ctrl_c_ends_a_run_whose_model_says_nothing() -> None:
    with (
        OpenAIServer(["First.", Hang(3600)]) as server,
        session("demo", "--plain", terminal=True, **server_environment(server)) as cli,
    ):
        cli.wait_for("writer: First.")
        assert cli.interrupt() == 130
    assert "== interrupted; 1 contribution so far; 0 finished rounds; " in cli.written
    assert "Traceback" not in cli.written


@pytest.fixture
def _hearing_ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def waiting_after(*happened: Event) -> tuple[Generator[Event], threading.Event]:
    """A run that does not go on after these events, until it may."""
    may_end = threading.Event()

    def run() -> Generator[Event]:
        yield from happened
        may_end.wait(PATIENCE)

    return run(), may_end


@pytest.mark.usefixtures("_hearing_ctrl_c")
def test_ctrl_c_does_not_tear_an_event_that_is_being_shown() -> None:
    run, may_end = waiting_after(RETRIED)
    shown: list[Event] = []
    with pytest.raises(KeyboardInterrupt):
        for event in follow(run):
            signal.raise_signal(signal.SIGINT)
            shown.append(event)
    may_end.set()
    assert shown == [RETRIED]


@pytest.mark.usefixtures("_hearing_ctrl_c")
def test_a_second_ctrl_c_does_not_wait() -> None:
    run, may_end = waiting_after(RETRIED)
    shown: list[Event] = []
    with pytest.raises(KeyboardInterrupt):
        for event in follow(run):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            shown.append(event)
    may_end.set()
    assert shown == []


# --- the extra, the help, the version


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_the_install_command_is_told(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; {LAUNCH}"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.endswith("pip install 'flowcompose[cli]'\n")


@pytest.mark.parametrize("command", [[], ["demo"]])
def test_help_shows_examples_before_options(command: list[str]) -> None:
    ended = CliRunner().invoke(app, [*command, "--help"])
    assert ended.exit_code == 0
    assert "\n    flowcompose demo my-article.md " in ended.output
    assert ended.output.index("Examples:\n") < ended.output.index("Options:\n")


def test_the_version_is_that_of_the_package() -> None:
    ended = CliRunner().invoke(app, ["--version"])
    assert re.fullmatch(r"flowcompose \d+\.\d+\.\d+\n", ended.output)


# --- the renderers, fed with events


def plain() -> tuple[Renderer, io.StringIO]:
    written = io.StringIO()
    return PlainRenderer(written), written


def live(width: int = 80, *, colour: bool = False) -> tuple[Renderer, io.StringIO]:
    written = io.StringIO()
    return LiveRenderer(Console(file=written, width=width, force_terminal=colour)), written


def token(name: str, text: str, message_id: str = "1") -> Event:
    return events.Token(agent_name=name, text=text, message_id=message_id)


def completed(name: str, text: str) -> Event:
    said = Contribution(round=1, agent_name=name, text=text)
    return events.TurnCompleted(agent_name=name, contribution=said, usage=Tokens(), seconds=0)


def feed(renderer: Renderer, *happened: Event) -> None:
    with renderer:
        for event in (events.RunStarted(pattern="panel", goal="go"), *happened):
            renderer.feed(event)


RETRIED = events.TurnRetried(agent_name="ada", reason="overloaded", wait=0.5)


def test_the_text_of_a_retried_turn_begins_anew() -> None:
    renderer, written = live()
    anew = [token("ada", "Bet", "2"), token("ada", "ter.", "2"), completed("ada", "Better.")]
    feed(renderer, token("ada", "Bad"), RETRIED, *anew)
    assert "ada: trying again in 0.5 s: overloaded" in written.getvalue()
    assert written.getvalue().count("Better.") == 1
    assert "Bad" not in written.getvalue()


def test_the_text_of_a_retried_turn_begins_anew_when_it_is_then_interrupted() -> None:
    renderer, written = live()
    feed(renderer, token("ada", "Bad"), RETRIED, token("ada", "Bet", "2"))
    assert re.search(r"  Bet\s*\n\s+\[broken off]", written.getvalue())


def test_the_text_of_a_retried_turn_is_gone_before_it_begins_anew() -> None:
    renderer, written = live()
    feed(renderer, token("ada", "Bad"), RETRIED)
    assert "Bad" not in written.getvalue()


def test_another_message_of_a_turn_takes_the_place_of_the_one_before() -> None:
    renderer, written = live()
    feed(renderer, token("ada", "Bad"), token("ada", "Better", "2"))
    assert "Better" in written.getvalue()
    assert "Bad" not in written.getvalue()


def test_plain_says_that_the_lines_of_a_retried_turn_are_void() -> None:
    renderer, written = plain()
    anew = [token("ada", "Better.", "2"), completed("ada", "Better.")]
    feed(renderer, token("ada", "Bad\nworse"), RETRIED, *anew)
    assert written.getvalue() == (
        "== panel\nada: Bad\n"
        "!: ada: trying again in 0.5 s: overloaded; its lines of this turn are void\n"
        "ada: Better.\n"
    )


@pytest.mark.parametrize("make", [plain, live])
def test_a_contribution_that_did_not_stream_is_shown(
    make: Callable[[], tuple[Renderer, io.StringIO]],
) -> None:
    renderer, written = make()
    feed(renderer, completed("ada", "Said at once."))
    assert written.getvalue().count("Said at once.") == 1


@pytest.mark.parametrize("make", [plain, live])
def test_tool_calls_and_critiques_are_shown(
    make: Callable[[], tuple[Renderer, io.StringIO]],
) -> None:
    renderer, written = make()
    critique = RefereeCritique(round=1, critique="Too vague.")
    feed(
        renderer,
        token("ada", "Let me look."),
        events.ToolCalled(agent_name="ada", tool="search", args={"query": "bridge"}),
        events.ToolReturned(agent_name="ada", tool="search", text="1883", status="success"),
        token("ada", "It was 1883.", "2"),
        completed("ada", "It was 1883."),
        events.CritiqueAdded(agent_name="referee", critique=critique, usage=Tokens()),
    )
    order = ["Let me look.", 'search(query="bridge")', "1883", "It was 1883.", "Too vague."]
    places = [written.getvalue().index(each) for each in order]
    assert places == sorted(places)
    assert written.getvalue().count("Let me look.") == 1


@pytest.mark.parametrize("make", [plain, live])
def test_a_failed_turn_is_shown_if_the_run_goes_on(
    make: Callable[[], tuple[Renderer, io.StringIO]],
) -> None:
    renderer, written = make()
    failed = events.TurnFailed(agent_name="ada", error="out of tokens")
    feed(renderer, failed, completed("bob", "Never mind."))
    assert written.getvalue().count("ada could not speak: out of tokens") == 1


@pytest.mark.parametrize("make", [plain, live])
def test_members_inside_a_member_are_told_apart(
    make: Callable[[], tuple[Renderer, io.StringIO]],
) -> None:
    renderer, written = make()
    inner = events.Token(path=("board",), agent_name="ada", text="Aye.", message_id="1")
    feed(renderer, inner, token("ada", "Nay.", "2"))
    assert "board > ada" in written.getvalue()
    assert written.getvalue().count("[broken off]") == 2


@pytest.mark.parametrize("make", [plain, live])
def test_control_characters_of_a_model_do_not_reach_the_terminal(
    make: Callable[[], tuple[Renderer, io.StringIO]],
) -> None:
    renderer, written = make()
    feed(renderer, token("ada", "\x1b]52;c;aGk=\x07\x9bHi"), completed("ada", "\x1b[2JHi"))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", written.getvalue())
    assert "Hi" in written.getvalue()


def test_a_member_keeps_its_colour_and_others_have_another() -> None:
    renderer, written = live(colour=True)
    rounds = [completed(name, "Aye.") for name in ("ada", "bob", "ada")]
    feed(renderer, *rounds)
    colours = re.findall(r"\x1b\[1;(\d+)m(ada|bob)", written.getvalue())
    assert colours == [("36", "ada"), ("35", "bob"), ("36", "ada")]


@pytest.mark.parametrize("width", [60, 120])
def test_nothing_is_wider_than_the_terminal(width: int) -> None:
    renderer, written = live(width)
    said = "A sentence of some length that has to be broken. " * 5
    feed(renderer, token("ada", said), completed("ada", said), events.RoundStarted(round=2))
    longest = max(len(line) for line in written.getvalue().splitlines())
    assert min(width, 100) * 0.9 < longest <= min(width, 100)  # longer lines are hard to read


def test_of_a_text_longer_than_the_screen_the_end_is_redrawn() -> None:
    written, region = io.StringIO(), Region()
    region.texts["ada"] = "\n".join(f"line {number}" for number in range(50))
    region.hues["ada"] = "cyan"
    Console(file=written, width=60, height=10).print(region)
    lines = written.getvalue().split()
    assert lines[-1] == "49"
    assert len(lines) / 2 < 10
