"""A search in the bytes of a dump has the items that a search in all of its values has."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import pytest
from eagleray.rollouts.trajectories.reading import DumpReading
from eagleray.rollouts.trajectories.search import matching_items
from hypothesis import given
from hypothesis import strategies as st

from tests.rollouts.trajectories.dumps import areal, write
from tests.rollouts.trajectories.test_dumps import LAWS, dump_of

LETTERS = 'aAbn\\"/ é\n\t0ß\ud800😀u'
TEXT = st.text(st.sampled_from(LETTERS), max_size=6)
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def search(path: Path, text: str, first: int = 0, chunk: int = 5) -> list[int]:
    return list(matching_items(dump_of(path), text, first, DumpReading(), chunk))


@LAWS
@given(
    st.lists(st.lists(TEXT, max_size=3), max_size=6),
    TEXT.filter(bool),
    st.booleans(),
    st.integers(1, 9),
)
def test_matches_equal_the_matches_of_all_values(
    tmp_path: Path, values: list[list[str]], text: str, escaped: bool, chunk: int
) -> None:
    path = tmp_path / "a.jsonl"
    records = [{"key": value, "deep": {"n": 1}} for value in values]
    if escaped or not any("\ud800" in part for value in [*values, [text]] for part in value):
        write(path, records, escaped=escaped)
        wanted = text.translate(_LOWER)
        expected = [
            item
            for item, value in enumerate(values)
            if any(wanted in part.translate(_LOWER) for part in value) or wanted in "1"
        ]
        assert search(path, text, 0, chunk) == expected
        assert search(path, text, 2, chunk) == [item for item in expected if item >= 2]


@pytest.mark.parametrize(
    ("record", "text", "matches"),
    [
        ({"a": "Hello"}, "hello", True),
        ({"hello": "a"}, "hello", False),
        ({"a": 0.25}, "0.25", True),
        ({"a": [0.25]}, "0.25", False),
        ({"a": 0.00001}, "1E-05", True),
        ({"a": None}, "null", True),
        ({"a": True}, "TRUE", True),
        ({"a": float("-inf")}, "-infinity", True),
        ({"a": [{"b": ["deep"]}]}, "DEEP", True),
        ({"a": "line\nnext"}, "line\nnext", True),
        ({"a": 'say "it"'}, 'y "i', True),
        ({"a": "É"}, "é", False),
        ({"a": "π = 3"}, "π =", True),
    ],
)
def test_values_match_and_keys_do_not(
    tmp_path: Path, record: Any, text: str, matches: bool
) -> None:
    path = write(tmp_path / "a.jsonl", [{}, record])
    assert search(path, text) == ([1] if matches else [])


def test_broken_line_matches_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": "x"}\n{"a": "Needle\n')
    assert search(path, "needle") == [1]


def test_match_across_chunks_and_files_has_its_number(tmp_path: Path) -> None:
    for step in (1, 2):
        write(tmp_path / f"{step}.jsonl", [areal(step, sample) for sample in range(5)])
    assert search(tmp_path, "is 2.3", chunk=16) == [8]
    assert search(tmp_path, "It is", first=7, chunk=64) == [7, 8, 9]


def test_text_is_read_once_for_a_line_with_many_matches(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"a": "x" * 50}) + "\n" for _ in range(3)))
    assert search(path, "x") == [0, 1, 2]
