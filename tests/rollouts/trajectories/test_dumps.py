"""Dumps: offsets of lines in files that grow, are replaced or broken; their numbers stay the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.trajectories.dump import TrajectoryDump
from eagleray.rollouts.trajectories.line_index import BOM
from eagleray.rollouts.trajectories.reading import DumpReading
from eagleray.rollouts.trajectories.search import matching_items
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.rollouts.trajectories.dumps import areal, write

PIECES = st.sampled_from(
    [b"\n", b"\r\n", b" ", b'{"a": 1}', b"{", b"}", b'"a\\n"', b"1", b"\xff", b"\t\n"]
)
# A first line that is an object; another one may begin a document over lines.
FIRST = b'{"a": 1}\n'
# The folder is the same for every example.
LAWS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def dump_of(path: Path, chunk: int = 7) -> TrajectoryDump:
    dump = TrajectoryDump(path, chunk)
    dump.refresh()
    dump.extend(DumpReading())
    return dump


def lines_of(dump: TrajectoryDump) -> list[tuple[int, bytes]]:
    return [(line.number, line.data) for line in dump.lines(0, dump.count)]


def split(data: bytes) -> list[tuple[int, bytes]]:
    """The lines that aren't blank, with their numbers; the last only if it has an end or is whole JSON."""
    lines = data.removeprefix(BOM).split(b"\n")
    whole = [(number, line.strip(b" \t\r")) for number, line in enumerate(lines, 1)]
    try:
        json.loads(lines[-1])
    except ValueError:
        whole.pop()
    return [(number, line) for number, line in whole if line]


def packed(data: bytes) -> bytes:
    """Without white space."""
    return data.translate(None, b" \t\r\n")


@LAWS
@given(st.lists(PIECES, max_size=30).map(b"".join), st.booleans(), st.integers(1, 20))
def test_lines_equal_the_lines_of_the_file(
    tmp_path: Path, data: bytes, marked: bool, chunk: int
) -> None:
    data = FIRST + data
    path = tmp_path / "a.jsonl"
    path.write_bytes((BOM if marked else b"") + data)
    dump = dump_of(path, chunk)
    assert lines_of(dump) == split(data)
    assert dump.marked_files == marked


@LAWS
@given(st.lists(PIECES, max_size=30).map(b"".join), st.lists(st.integers(0, 99), max_size=4))
def test_growing_file_has_the_lines_of_the_whole(
    tmp_path: Path, data: bytes, cuts: list[int]
) -> None:
    """Only what is whole JSON before it grows may be a line of its own."""
    data = FIRST + data
    path = tmp_path / "a.jsonl"
    ends = sorted(max(len(FIRST), min(cut, len(data))) for cut in cuts)
    path.write_bytes(FIRST)
    dump = TrajectoryDump(path, 7)
    early = False
    for end in [*ends, len(data)]:
        path.write_bytes(data[:end])
        early = early or len(split(data[:end])) > len(
            split(data[: end - len(data[:end].split(b"\n")[-1])])
        )
        assert dump.refresh()
        dump.extend(DumpReading())
    if not early:
        assert lines_of(dump) == split(data)
    # Text that is not in a line yet is the end of the last one.
    content = packed(b"".join(line for _, line in lines_of(dump)))
    assert packed(data).startswith(content)
    assert packed(data.split(b"\n")[-1]).endswith(packed(data)[len(content) :])


def test_line_that_ends_later_is_the_same_item(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": ')
    dump = dump_of(path)
    assert dump.count == 1
    assert [(line.line, line.text) for line in dump.unfinished()] == [(2, '{"a":')]
    with path.open("a") as file:
        file.write('2}\n{"a": 3}')
    assert dump.refresh()
    dump.extend(DumpReading())
    assert lines_of(dump) == [(1, b'{"a": 1}'), (2, b'{"a": 2}'), (3, b'{"a": 3}')]
    with path.open("a") as file:
        file.write('\n\n{"a": 4}\n')
    assert dump.refresh()
    dump.extend(DumpReading())
    assert lines_of(dump)[3:] == [(5, b'{"a": 4}')]
    assert dump.unfinished() == []


def test_items_keep_their_numbers_while_files_grow_and_come(tmp_path: Path) -> None:
    for step in (2, 10):
        write(tmp_path / f"{step}.jsonl", [areal(step, 0), areal(step, 1)])
    dump = dump_of(tmp_path, 64)
    with (tmp_path / "2.jsonl").open("a") as file:
        file.write(json.dumps(areal(2, 2)) + "\n")
    write(tmp_path / "1.jsonl", [areal(1, 0)])
    assert dump.refresh()
    dump.extend(DumpReading())
    named = [(line.file, line.number) for line in dump.lines(0, dump.count)]
    assert named == [
        ("2.jsonl", 1),
        ("2.jsonl", 2),
        ("10.jsonl", 1),
        ("10.jsonl", 2),
        ("2.jsonl", 3),
        ("1.jsonl", 1),
    ]
    assert [dump.line(item).file for item in range(6)] == [file for file, _ in named]


@pytest.mark.parametrize("data", [b'{"b": 1}\n', b'{"a": 1}\n{"c": 2}\n{"d": 3}\n', b""])
def test_replaced_file_needs_another_dump(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n')
    dump = dump_of(path)
    path.write_bytes(data)
    assert not dump.refresh()


def test_file_that_takes_the_place_of_another_needs_another_dump(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [areal(1, 0)])
    dump = dump_of(path)
    write(tmp_path / "b", [areal(1, 0)] * 2).replace(path)
    assert not dump.refresh()


def test_file_that_shrinks_while_it_is_read_ends_there(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [areal(1, 0)] * 9)
    dump = TrajectoryDump(path, 64)
    dump.refresh()
    dump.extend(DumpReading(), 1)
    path.write_text("")
    dump.extend(DumpReading())
    assert dump.is_complete
    assert not dump.refresh()


def test_line_of_ten_megabytes_is_one_item(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        [areal(1, 0), areal(2, 0, completion="é" * 10**7 + "END"), areal(3, 0)],
    )
    dump = TrajectoryDump(path)
    dump.refresh()
    dump.extend(DumpReading())
    assert (dump.count, len(dump.line(1).data) > 10**7) == (3, True)
    assert list(matching_items(dump, "éEND", 0, DumpReading())) == [1]


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.jsonl", '{"a": 1}'.encode("utf-16"), "not-json-lines"),
        ("a.jsonl", b"\x1f\x8b\x08\x00", "dump-unreadable"),
        ("a.npy", b"\x93NUMPY\x01\x00", "not-trajectories"),
        ("missing/a.jsonl", b"", "dump-unreadable"),
        ("folder", None, "no-dump"),
    ],
)
def test_other_files_are_errors_of_the_catalogue(
    tmp_path: Path, name: str, data: bytes | None, code: str
) -> None:
    path = tmp_path / name
    if data is None:
        path.mkdir()
    elif path.parent == tmp_path:
        path.write_bytes(data)
    with pytest.raises(EaglerayError) as raised:
        dump_of(path)
    assert raised.value.code == code


def test_cancelled_reading_stops(tmp_path: Path) -> None:
    dump = TrajectoryDump(write(tmp_path / "a.jsonl", [areal(1, 0)]))
    dump.refresh()
    reading = DumpReading()
    reading.cancel()
    with pytest.raises(EaglerayError) as raised:
        dump.extend(reading)
    assert (raised.value.code, dump.count) == ("cancelled", 0)
