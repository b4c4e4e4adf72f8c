"""One pass over files: by grep and by Python, over long lines, many files and binary data."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.doctor.logs.files import ScannedFile
from eagleray.doctor.logs.literal_scan import LiteralScan, gnu_grep
from hypothesis import given
from hypothesis import strategies as st

LITERALS = [b"Too many open files", b"timed out", b"open"]
SPECIAL = [b"a.*[b]{2}^$+?(c|d)\\", "错误".encode(), b"*** JOB"]
GREPS = pytest.mark.parametrize("grep", [gnu_grep(), ""], ids=["grep", "python"])


@GREPS
def test_hits_have_file_offset_and_line(tmp_path: Path, grep: str) -> None:
    files = [_file(tmp_path / "a", b"one\ntwo timed out\n\nopen"), _file(tmp_path / "b", b"open\n")]

    scan = LiteralScan(files, LITERALS, grep=grep)

    assert [(hit.file, hit.offset, _line(scan, files, hit)) for hit in scan.hits()] == [
        (0, 8, 2),
        (0, 19, 4),
        (1, 0, 1),
    ]


@GREPS
def test_narrowed_file_is_searched_for_literals_alone_and_the_next_for_all(
    tmp_path: Path, grep: str
) -> None:
    noise = b"step 3 loss 0.2\n" * 300_000
    content = b"".join(
        [noise, b"ERROR a\nERROR b\n", noise, b"ERROR c\n", noise, b"open\nERROR d\n"]
    )
    files = [_file(tmp_path / "a", content), _file(tmp_path / "b", b"x\nERROR e\nopen\n")]
    scan = LiteralScan(files, [b"open"], grep=grep, markers=[b"ERROR"], forms=[rb"E[RX]+OR c"])

    lines = []
    for hit in scan.hits():
        lines.append((hit.file, _line(scan, files, hit)))
        if len(lines) == 2:
            scan.narrow()

    # Python has read a chunk when it is narrowed.
    assert [place for place in lines if place != (0, 600_003)] == [
        (0, 300_001),
        (0, 300_002),
        (0, 900_004),
        (1, 2),
        (1, 3),
    ]


@GREPS
def test_line_longer_than_a_chunk_is_read_whole(tmp_path: Path, grep: str) -> None:
    # The literal lies across the place at which the line is cut.
    long = b"x" * (2**20 - 9) + b"Too many open files" + b"y" * (3 * 2**20) + b"timed out\nopen\n"
    files = [_file(tmp_path / "a", long)]

    scan = LiteralScan(files, [b"Too many open files", b"timed out"], grep=grep)

    assert [hit.offset for hit in scan.hits()] == [2**20 - 9, long.index(b"timed out")]


@GREPS
def test_binary_file_is_read(tmp_path: Path, grep: str) -> None:
    files = [_file(tmp_path / "a", bytes(range(256)) * 9 + b"\0timed out\0\n\xff")]

    assert [hit.offset for hit in LiteralScan(files, LITERALS, grep=grep).hits()] == [2305]


@GREPS
def test_special_characters_mean_themselves(tmp_path: Path, grep: str) -> None:
    files = [_file(tmp_path / str(n), b"x" + text) for n, text in enumerate(SPECIAL)]
    files.append(_file(tmp_path / "none", b"axb aabbcd JOB"))

    hits = list(LiteralScan(files, SPECIAL, grep=grep).hits())

    assert [(hit.file, hit.offset) for hit in hits] == [(0, 1), (1, 1), (2, 1)]


@GREPS
def test_cancelled_scan_reads_no_further_file(tmp_path: Path, grep: str) -> None:
    files = [_file(tmp_path / str(n), b"timed out\n") for n in range(50)]
    read: list[int] = []
    scan = LiteralScan(files, LITERALS, read.append, lambda: len(read) >= 3, grep)

    assert len(list(scan.hits())) == 3


@GREPS
def test_file_that_is_gone_is_reported_and_the_others_are_read(tmp_path: Path, grep: str) -> None:
    files = [_file(tmp_path / "a", b"open"), _file(tmp_path / "b", b"timed out")]
    files[0].path.unlink()

    scan = LiteralScan(files, LITERALS, grep=grep)

    assert [hit.file for hit in scan.hits()] == [1]
    assert [(item.file, item.reason) for item in scan.unread] == [(0, "No such file or directory")]


@GREPS
def test_what_is_appended_meanwhile_is_not_read(tmp_path: Path, grep: str) -> None:
    file = _file(tmp_path / "a", b"open\n")
    with file.path.open("ab") as stream:
        stream.write(b"timed out\n")

    assert [hit.offset for hit in LiteralScan([file], LITERALS, grep=grep).hits()] == [0]


def test_unfinished_reading_ends_grep(tmp_path: Path) -> None:
    files = [_file(tmp_path / "a", b"timed out\n" * 500_000)]
    hits = LiteralScan(files, LITERALS).hits()

    next(hits)
    hits.close()

    assert list(hits) == []


@given(
    st.lists(
        st.lists(st.sampled_from([b"x", b"\n", b"timed out", b"open ", b"Too many open files"])),
        max_size=4,
    )
)
def test_python_and_grep_find_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, contents: list[list[bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    files = [_file(folder / str(n), b"".join(parts)) for n, parts in enumerate(contents)]

    by_grep, by_python = (
        {(hit.file, _line(scan, files, hit)) for hit in scan.hits()}
        for scan in (LiteralScan(files, LITERALS, grep=grep) for grep in (gnu_grep(), ""))
    )

    assert by_grep == by_python


def _file(path: Path, content: bytes) -> ScannedFile:
    path.write_bytes(content)
    return ScannedFile(path, len(content), 0.0)


def _line(scan: LiteralScan, files: list[ScannedFile], hit: object) -> int:
    offset, lines = scan.lines_before(hit)  # type: ignore[arg-type]
    content = files[hit.file].path.read_bytes()  # type: ignore[attr-defined]
    return lines + content[offset : hit.offset].count(b"\n") + 1  # type: ignore[attr-defined]


def test_files_that_a_killed_grep_did_not_read_are_reported(tmp_path: Path) -> None:
    grep = tmp_path / "grep"
    # It finds the line of the first file and dies in the second one, as for lack of memory.
    grep.write_text('#!/bin/sh\nhead -c 9 > /dev/null\necho "0:timed out"\nkill -9 $$\n')
    grep.chmod(0o700)
    files = [_file(tmp_path / name, b"timed out\n" * 2**16) for name in "abc"]

    scan = LiteralScan(files, LITERALS, grep=str(grep))

    assert [hit.file for hit in scan.hits()] == [0]
    assert [(item.file, item.reason) for item in scan.unread] == [
        (number, "grep ended early") for number in range(3)
    ]
