"""Secrets do not get out: whole, in another writing, or in pieces."""

from __future__ import annotations

import json
import time
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flowcompose.runner.secrets import Redactor

SECRET = 'sk-"läng/er+\\&?'


def test_a_secret_becomes_stars() -> None:
    assert Redactor(["hunter22"]).clean("it is hunter22, hunter22.") == "it is ***, ***."


def test_without_secrets_nothing_changes() -> None:
    assert Redactor([]).clean("hunter22") == "hunter22"


def test_what_is_too_short_is_no_secret() -> None:
    assert Redactor(["abc", "", "   "]).clean("abc    abc") == "abc    abc"


def test_the_longest_secret_comes_first() -> None:
    assert Redactor(["abcd", "abcdef"]).clean("abcdef abcd") == "*** ***"


def test_of_secrets_that_overlap_nothing_is_left() -> None:
    assert Redactor(["abcdef", "defghi"]).clean("<abcdefghi>") == "<***>"


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        repr(SECRET)[1:-1],
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        quote(SECRET, safe="").replace("%2F", "%2f").replace("%2B", "%2b").lower(),
        b64encode(SECRET.encode()).decode(),
        urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
    ],
)
def test_other_writings_of_a_secret_are_known(written: str) -> None:
    assert Redactor([SECRET]).clean(f"<{written}>") == "<***>"


KEY = "-----BEGIN KEY-----\nMIIabc/\t\"x\" \\n\\\\ 'é' \U0001f600\x1b\n-----END KEY-----\n"


def nested(text: str, levels: int, *, ascii_only: bool = True) -> str:
    for _ in range(levels):
        text = json.dumps({"v": text}, ensure_ascii=ascii_only)
    return text


def bare(text: str) -> str:
    return text.replace("*", "").replace("\\", "")


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("levels", range(7))
@pytest.mark.parametrize(
    "secret", [KEY, SECRET, 'a"b"', "\\\\srv\\", "line one\nline two", "\n\nab"]
)
def test_a_secret_is_known_in_json_within_json(secret: str, levels: int, ascii_only: bool) -> None:
    text = nested(f"<{secret}>", levels, ascii_only=ascii_only)
    redactor = Redactor([secret])
    assert redactor.clean(text) == nested("<***>", levels)
    for size in (1, 3, 7):
        stream = redactor.stream()
        pieces = [stream.feed("k", text[at : at + size]) for at in range(0, len(text), size)]
        shown = "".join(pieces) + stream.flush("k")
        # Of a secret that ends with backslashes, some may come after it has been told.
        assert bare(shown) == bare(nested("<>", levels))


@example(secret='\\/"\\', levels=2, size=1)
@given(
    secret=st.text('ab\n"\\é/', min_size=4, max_size=9).filter(lambda text: text.strip() == text),
    levels=st.integers(0, 4),
    size=st.integers(1, 9),
)
def test_any_secret_is_known_at_any_level(secret: str, levels: int, size: int) -> None:
    text = nested(f"<{secret}>", levels)
    redactor = Redactor([secret])
    assert redactor.clean(text) == nested("<***>", levels)
    stream = redactor.stream()
    pieces = [stream.feed("k", text[at : at + size]) for at in range(0, len(text), size)]
    assert bare("".join(pieces) + stream.flush("k")) == bare(nested("<>", levels))


@pytest.mark.parametrize("levels", range(4))
def test_a_repr_within_json_is_known(levels: int) -> None:
    assert Redactor([KEY]).clean(nested(f"<{repr(KEY)[1:-1]}>", levels)) == nested("<***>", levels)


def test_a_secret_with_slashes_is_known_however_they_are_written() -> None:
    assert (
        Redactor(["abc/def"]).clean(r"abc\/def abc\\\/def abc/def abcdef") == "*** *** *** abcdef"
    )


@pytest.mark.parametrize(
    "text", ["\\" * 300_000, "a\\" * 150_000, 'a\\"' * 100_000, "a\n" * 150_000]
)
def test_a_row_of_backslashes_takes_no_time(text: str) -> None:
    redactor = Redactor(["\n\\\na", 'a"a"a"b', "\\\\\\\\x", "a\na\nb\\\n"])
    begun = time.perf_counter()
    assert len(redactor.clean(text)) > 0
    redactor.split(text)
    assert time.perf_counter() - begun < 2


@pytest.mark.parametrize("user", ["", "a", "ab", "abc"])
def test_basic_credentials_give_nothing_away(user: str) -> None:
    secret = "correct-horse-battery"
    shown = Redactor([secret]).clean(b64encode(f"{user}:{secret}".encode()).decode())
    assert "***" in shown
    assert len(shown) < len("***") + 12


def test_a_secret_from_a_shell_need_not_be_text() -> None:
    secret = b"hunter\xff22".decode(errors="surrogateescape")
    assert Redactor([secret]).clean(f"<{secret}>") == "<***>"


def test_a_secret_is_known_without_its_line_end() -> None:
    assert Redactor(["hunter22\n"]).clean("Bearer hunter22") == "Bearer ***"


def test_json_is_cleaned_everywhere() -> None:
    value = {"a hunter22": ["hunter22", {"b": ("hunter22", 1, None, True)}]}
    cleaned = Redactor(["hunter22"]).clean_json(value)
    assert cleaned == {"a ***": ["***", {"b": ["***", 1, None, True]}]}


def test_the_repr_holds_no_secret() -> None:
    assert "hunter22" not in repr(Redactor(["hunter22"]))


# --- in pieces


def test_a_split_secret_does_not_get_out() -> None:
    stream = Redactor(["hunter22"]).stream()
    pieces = [stream.feed("k", each) for each in ("it is hun", "ter", "22", ", yes")]
    assert pieces == ["it is ", "", "", "***, yes"] or pieces == ["it is ", "", "***", ", yes"]


def test_what_only_looked_like_a_secret_gets_out() -> None:
    stream = Redactor(["hunter22"]).stream()
    assert [stream.feed("k", "the hun"), stream.feed("k", "t goes on")] == ["the ", "hunt goes on"]


def test_the_end_of_a_text_is_flushed_once() -> None:
    stream = Redactor(["hunter22"]).stream()
    assert stream.feed("k", "the hunt") == "the "
    assert (stream.flush("k"), stream.flush("k")) == ("hunt", "")


def test_texts_do_not_mix() -> None:
    stream = Redactor(["hunter22"]).stream()
    assert (stream.feed("a", "hunter"), stream.feed("b", "22 b")) == ("", "22 b")
    assert (stream.feed("a", " !"), stream.flush("b")) == ("hunter !", "")


def test_a_secret_that_begins_a_longer_one_waits_for_it() -> None:
    stream = Redactor(["abcd", "abcdefgh"]).stream()
    assert stream.feed("k", "xabcd") == "x"
    assert stream.feed("k", "efgh!") == "***!"


@given(
    secrets=st.lists(st.text("ab-", min_size=4, max_size=9), min_size=1, max_size=4),
    pieces=st.lists(st.text("ab-", max_size=5), max_size=20),
)
def test_pieces_give_the_same_as_the_whole(secrets: list[str], pieces: list[str]) -> None:
    redactor = Redactor(secrets)
    stream = redactor.stream()
    shown = "".join(stream.feed("k", piece) for piece in pieces) + stream.flush("k")
    assert shown.replace("*", "") == redactor.clean("".join(pieces)).replace("*", "")
    assert not any(secret in shown for secret in secrets)


@pytest.mark.parametrize("end", ["\r\n", " ", ""])
def test_a_secret_of_several_lines_is_known_with_other_ends_of_lines(end: str) -> None:
    lines = ["-----BEGIN KEY-----", "MIIabcdefghijklmnop", "QRSTUVWXYZabcdefgh"]
    shown = Redactor(["\n".join(lines)]).clean(f"key: {end.join(lines)}")
    assert not any(line in shown for line in lines)
