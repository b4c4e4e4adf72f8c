"""Text of logs made fit to be shown."""

from __future__ import annotations

import unicodedata

import pytest
from eagleray.debug.workers.logs import LINE_LIMIT, LineFeed, clean_text, last_lines
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\n", "plain\n"),
        ("\x1b[31mred\x1b[0m\n", "red\n"),
        ("\x1b]0;title\x07text\n", "text\n"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
        ("\x1bPdevice\x1b\\after", "after"),
        ("\x9b31mred", "red"),
        ("\x1b]unfinished\nnext", "\nnext"),
        ("a\x1b", "a"),
        ("\x1b(Bplain", "plain"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("10%\r20%\r\n", "10%\n20%\n"),
        ("bell\x07 back\x08 nul\x00 del\x7f", "bell back nul del"),
        ("tab\there", "tab\there"),
        ("left\u202eright", "leftright"),
        (":job_id:01000000\n:actor_name:Policy\nreal\n", "real\n"),
        ("say :job_id:01\n", "say :job_id:01\n"),
        ("zażółć 日本\n", "zażółć 日本\n"),
    ],
)
def test_clean_text(raw: str, shown: str) -> None:
    assert clean_text(raw) == shown


@pytest.mark.parametrize(
    "line",
    [
        "API_KEY=hunter22",
        "export WANDB_TOKEN='hunter22'",
        '{"password": "hunter22"}',
        "Bearer hunter22a",
    ],
)
def test_secrets_are_hidden(line: str) -> None:
    assert "hunter22" not in clean_text(line)


def test_secret_in_colours_is_hidden_too() -> None:
    assert "hunter22" not in clean_text("API_\x1b[1mKEY\x1b[0m=hun\x1b[0mter22")


def test_endless_line_is_cut() -> None:
    assert clean_text("x" * 100_000 + "\nnext") == "x" * LINE_LIMIT + "…\nnext"


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("a\nb\nc\n", 2, ("b\nc\n", True)),
        ("a\nb\nc\n", 3, ("a\nb\nc\n", False)),
        ("a\nb\nc", 2, ("b\nc", True)),
        ("", 5, ("", False)),
        ("a\n", 0, ("", True)),
    ],
)
def test_last_lines(text: str, limit: int, kept: tuple[str, bool]) -> None:
    assert last_lines(text, limit) == kept


HOSTILE = st.text(
    st.sampled_from("ab \t\n\r\x1b[]0;31mP\\\x07\x08\x00\x9b\x9d\x9c\u202e=") | st.characters()
)


@given(HOSTILE)
def test_nothing_that_a_terminal_obeys_is_left(raw: str) -> None:
    shown = clean_text(raw)
    assert not [c for c in shown if unicodedata.category(c) == "Cc" and c not in "\n\t"]


@given(st.lists(st.text(st.sampled_from("ab \n\x1b[31m="), max_size=20)))
def test_followed_log_is_the_same_wherever_the_pieces_are_cut(pieces: list[str]) -> None:
    feed = LineFeed()
    shown = "".join([feed.feed(piece) for piece in pieces] + [feed.end()])
    assert shown == clean_text("".join(pieces))


def test_followed_line_without_an_end_comes_in_pieces() -> None:
    feed = LineFeed()
    assert feed.feed("x" * 9_000) == ""
    assert feed.feed("x" * 9_000).startswith("x" * LINE_LIMIT)
    assert feed.feed("y\n") == "y\n"
