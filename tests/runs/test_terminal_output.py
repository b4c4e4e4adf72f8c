"""Output for terminals: what passes, what is removed, and how it comes piece by piece."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from eagleray.runs import output as outputs
from eagleray.runs import terminal_output
from eagleray.runs.output import Output
from eagleray.runs.terminal_output import (
    Piece,
    Tail,
    TerminalOutput,
    clean,
    decode,
    next_piece,
    tail_in,
)
from hypothesis import given
from hypothesis import strategies as st

ESC = "\x1b"
PASSES = [
    "step 1\r\nstep 2\ttab\bback\a",
    f"{ESC}[1;31mred{ESC}[0m {ESC}[38;2;1;2;3mtrue{ESC}[m {ESC}[48:5:7mcolon",
    f"{ESC}[2K{ESC}[A{ESC}[10;5H{ESC}[?25l 50 %{ESC}[?25h",
    f"{ESC}7{ESC}8{ESC}(0lines{ESC}(B",
    "ä 中 \U0001f600",
]
REMOVED = [
    ("the clipboard", f"a{ESC}]52;c;cm0gLXJm\ab", "ab"),
    ("the clipboard, ended otherwise", f"a{ESC}]52;c;cm0gLXJm{ESC}\\b", "ab"),
    ("a title", f"{ESC}]0;title\a{ESC}]2;title{ESC}\\x", "x"),
    ("a link", f"{ESC}]8;;command:evil\alink{ESC}]8;;\a", "link"),
    ("a folder and a command of the editor", f"{ESC}]633;P;Cwd=/tmp\a{ESC}]633;E;rm\ax", "x"),
    ("a picture", f"{ESC}]1337;File=inline=1:QQ==\a{ESC}Pq#0{ESC}\\x", "x"),
    (
        "questions that the terminal answers",
        f"{ESC}[6n{ESC}[c{ESC}[>c{ESC}[21t{ESC}[?1$p{ESC}Zx\x05",
        "x",
    ),
    ("mouse, pasting, another screen", f"{ESC}[?1000h{ESC}[?2004h{ESC}[?1049h{ESC}[?1;25hx", "x"),
    ("keyboard modes", f"{ESC}[>4;2m{ESC}[>1u{ESC}=x", "x"),
    ("a reset", f"{ESC}cx{ESC}[!px", "xx"),
    ("C1 controls", "\x9b6nx\x9d52;c;x\x9c", "6nx52;c;x"),
    ("application messages", f"{ESC}_Ga{ESC}\\{ESC}^b{ESC}\\{ESC}Xc{ESC}\\x", "x"),
    ("one within another", f"{ESC}]52;c;{ESC}]52;c;QQ==\a\ax", "\ax"),
    ("one that a break ends", f"{ESC}]52;c;\x18x", "x"),
    ("what never ends", f"x{ESC}]52;c;{'A' * 70_000}", "x"),
    ("many parameters", f"{ESC}[{'1;' * 200}mx", "x"),
]
CONTROLS = st.sampled_from(
    [
        ESC,
        f"{ESC}[",
        f"{ESC}]52;c;",
        f"{ESC}P",
        "\a",
        f"{ESC}\\",
        "31m",
        "?1000h",
        "6n",
        "\x9b",
        "\n",
        "é",
    ]
)
TEXTS = st.lists(st.one_of(CONTROLS, st.text(max_size=6)), max_size=30).map("".join)


@pytest.mark.parametrize("text", PASSES)
def test_colours_and_movement_pass(text: str) -> None:
    assert clean(text) == (text, "")


@pytest.mark.parametrize(
    ("text", "shown"), [case[1:] for case in REMOVED], ids=[case[0] for case in REMOVED]
)
def test_harmful_sequences_are_removed(text: str, shown: str) -> None:
    assert clean(text) == (shown, "")


@given(TEXTS)
def test_only_harmless_sequences_remain(text: str) -> None:
    shown, _ = clean(text)
    assert clean(shown) == (shown, "")


@given(TEXTS, st.integers(1, 7))
def test_pieces_make_the_same_text_as_the_whole(text: str, size: int) -> None:
    """However the bytes are cut, within a character or a sequence."""
    data = text.encode("utf-8", "surrogatepass")
    whole = decode(data, is_end=False)[0]
    output = TerminalOutput()
    parts = [output.feed(data[at : at + size]) for at in range(0, len(data), size)]
    assert "".join(parts) == whole


async def all_of(path: Path, is_over: bool = True) -> list[Piece]:
    pieces = [await next_piece(path, -1, lambda: is_over, 0)]
    while not pieces[-1].is_over and pieces[-1].text:
        pieces.append(await next_piece(path, pieces[-1].next, lambda: is_over, 0))
    return pieces


async def test_long_output_begins_near_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal_output, "TAIL", 1000)
    monkeypatch.setattr(terminal_output, "PIECE", 300)
    log = tmp_path / "output.log"
    lines = [f"line {number}\n" for number in range(1000)]
    log.write_text("".join(lines))
    pieces = await all_of(log)
    text = "".join(piece.text for piece in pieces)
    assert text.startswith("line ") and text.endswith("line 999\n")
    assert 900 < len(text) <= 1000
    assert pieces[0].skipped == log.stat().st_size - len(text)
    assert [piece.skipped for piece in pieces[1:]] == [0] * (len(pieces) - 1)
    assert [piece.is_over for piece in pieces].index(True) == len(pieces) - 1


async def test_slow_terminal_skips_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal_output, "TAIL", 100)
    monkeypatch.setattr(terminal_output, "BEHIND", 1000)
    log = tmp_path / "output.log"
    log.write_text("begin\n")
    first = await next_piece(log, -1, lambda: False, 0)
    with log.open("a") as file:
        file.write("x" * 2000 + "\nthe end\n")
    second = await next_piece(log, first.next, lambda: False, 0)
    assert (second.text, second.skipped) == ("the end\n", 2001)


async def test_freed_output_is_not_read_as_zeros(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    output = Output(log, most=2**18)
    output.write(b"old line\n" * 2**16)
    output.trim()
    output.close()
    text = "".join(piece.text for piece in await all_of(log))
    assert "old line\n" in text and "\0" not in text


async def test_replaced_output_is_shown_from_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_text("first try\n")
    first = await next_piece(log, -1, lambda: False, 0)
    log.write_text("again\n")
    assert (await next_piece(log, first.next, lambda: False, 0)).text == "again\n"


async def test_more_is_waited_for_and_the_end_as_well(tmp_path: Path) -> None:
    log, over = tmp_path / "output.log", []
    waiting = asyncio.create_task(next_piece(log, -1, lambda: bool(over)))
    log.write_text("half \x1b[3")
    first = await waiting
    assert (first.text, first.next, first.is_over) == ("half ", 5, False)
    waiting = asyncio.create_task(next_piece(log, first.next, lambda: bool(over)))
    with log.open("a") as file:
        file.write("1mred")
    second = await waiting
    assert second.text == "\x1b[31mred"
    waiting = asyncio.create_task(next_piece(log, second.next, lambda: bool(over)))
    over.append(True)
    assert await waiting == Piece("", log.stat().st_size, 0, True)


async def test_run_that_never_started_has_no_output(tmp_path: Path) -> None:
    assert await next_piece(tmp_path / "no.log", -1, lambda: True) == Piece("", 0, 0, True)


TAILS = [
    ("", Tail()),
    ("step 1\nbash: x: command not found\n\n", "bash: x: command not found"),
    (
        "Traceback (most recent call last):\n  x\nModuleNotFoundError: No module named 'ray'\n",
        "ModuleNotFoundError: No module named 'ray'",
    ),
    (
        "ray.exceptions.RayTaskError(ValueError): ray::f()\nValueError: boom\n(raylet) done\n",
        "ValueError: boom",
    ),
    ("\x1b[31mRuntimeError: red\x1b[0m\n[rank0]: cleaning up\n", "RuntimeError: red"),
    ("100 %\rKeyboardInterrupt\n", "KeyboardInterrupt"),
    ("no such model: m7\n 33%|███▎      | 1/3 [00:01<00:02,  1.0it/s]\n", "no such model: m7"),
    ("ValueError: api_key=x9secret\n", "ValueError: api_key=…"),
]


@pytest.mark.parametrize(("text", "reason"), TAILS)
def test_reason_of_a_failure_is_the_last_exception(text: str, reason: str | Tail) -> None:
    tail = tail_in(text)
    assert tail == reason if isinstance(reason, Tail) else tail.reason == reason
    assert "\x1b" not in tail.lines and "x9secret" not in tail.lines


async def test_long_output_is_read_with_little_memory(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_bytes(b"")
    os.truncate(log, 2**36)
    piece = await next_piece(log, 0, lambda: False, 0)
    assert piece.text == "" and piece.next >= 2**36 - terminal_output.TAIL


async def test_output_moved_away_from_the_log_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file system can't give the beginning of a file back to the disk."""
    monkeypatch.setattr(outputs, "_punch", lambda fd, length: False)
    log = tmp_path / "output.log"
    output = Output(log, most=1000)
    output.write(b"first\n")
    first = await next_piece(log, -1, lambda: False, 0)
    output.write(b"".join(b"line %d\n" % number for number in range(150)))
    output.trim()
    output.write(b"last\n")
    output.close()
    assert log.read_bytes() == b"last\n"
    pieces = [first]
    while not pieces[-1].is_over:
        pieces.append(await next_piece(log, pieces[-1].next, lambda: True, 0))
    text = "".join(piece.text for piece in pieces)
    assert text.startswith("first\n") and text.endswith("line 148\nline 149\nlast\n")
    assert sum(piece.skipped for piece in pieces) > 0
    again = "".join(piece.text for piece in await all_of(log))
    assert again.endswith("line 149\nlast\n") and "line 140" in again
