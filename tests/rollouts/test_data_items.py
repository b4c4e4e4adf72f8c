"""Items of data files: which line is which item, and the errors of broken files."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.agents import data_items
from eagleray.rollouts.agents.agents import with_items
from eagleray.rollouts.agents.data_items import DataChoice, data_choice
from eagleray.rollouts.agents.model import AgentPlan, DataItem
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def written(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def error_of(choice: DataChoice, count: int = 10) -> str:
    with pytest.raises(EaglerayError) as raised:
        data_items.first_items(choice, count)
    return raised.value.message.replace(str(choice.path), "FILE")


@pytest.mark.parametrize("name", ["data.jsonl", "data.json", "data"])
def test_lines_are_items(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, name, b'\xef\xbb\xbf{"n": 1}\n\n  \n{"n": 2}\r\n{"n": 3}')
    items = data_items.first_items(DataChoice(file), 2)
    assert items == (DataItem(1, {"n": 1}), DataItem(2, {"n": 2}))
    assert data_items.single_item(DataChoice(file, 3)) == DataItem(3, {"n": 3})


@pytest.mark.parametrize("name", ["data.json", "data.txt"])
def test_elements_of_a_list_are_items(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, name, b'\xef\xbb\xbf\n[{"n": 1},\n {"n": 2}]')
    assert data_items.single_item(DataChoice(file, 2)) == DataItem(2, {"n": 2})
    assert data_items.first_items(DataChoice(file, 2), 9) == (DataItem(2, {"n": 2}),)


@given(values=st.lists(VALUES, min_size=1, max_size=5))
def test_both_forms_have_the_same_items(
    values: list[object], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    lines = written(folder, "a.jsonl", "\n".join(map(json.dumps, values)).encode())
    whole = written(folder, "a.json", json.dumps(values).encode())
    of_lines, of_list = (data_items.first_items(DataChoice(file), 9) for file in (lines, whole))
    assert of_lines == of_list == tuple(DataItem(n, v) for n, v in enumerate(values, 1))


@pytest.mark.parametrize(
    ("content", "number", "message"),
    [
        (b'{"n": 1}\n\n{"n": 2', 0, "Line 3 of FILE is not JSON: Expecting ',' delimiter"),
        (b'{"n": 1}\n{"n": "\xff"}\n', 0, "Line 2 of FILE is not UTF-8."),
        (b"", 0, "FILE has no items."),
        (b'{"n": 1}\n', 2, "FILE has only 1 item. Item 2 doesn't exist."),
        (b"[" * 100_000, 0, "Line 1 of FILE is not JSON"),
    ],
)
def test_wrong_line_is_named(tmp_path: Path, content: bytes, number: int, message: str) -> None:
    file = written(tmp_path, "data.jsonl", content)
    assert message in error_of(DataChoice(file, number))


def test_unwanted_wrong_line_raises_no_error(tmp_path: Path) -> None:
    file = written(tmp_path, "data.jsonl", b'nonsense\n{"n": 2}\nnonsense\n')
    assert data_items.single_item(DataChoice(file, 2)).data == {"n": 2}


def test_line_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    text = "x" * 10_000_000
    file = written(tmp_path, "data.jsonl", json.dumps({"text": text}).encode())
    assert data_items.single_item(DataChoice(file)).data == {"text": text}


def test_line_without_an_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_items, "_LONGEST_LINE", 100)
    file = written(tmp_path, "data.jsonl", b"{}\n" + b"1" * 101)
    assert error_of(DataChoice(file)) == "Line 2 of FILE is longer than 256 MB."


@pytest.mark.parametrize("content", [b"[1, 2", b"\xff\xfe["])
def test_broken_list_is_named(tmp_path: Path, content: bytes) -> None:
    assert "FILE is not a JSON list" in error_of(
        DataChoice(written(tmp_path, "data.json", content.replace(b"\xff\xfe[", b"[\xff")))
    )


def test_missing_file_is_named(tmp_path: Path) -> None:
    assert error_of(DataChoice(tmp_path / "none.jsonl")).startswith("Can't read FILE: No such file")


def test_number_follows_the_last_colon(tmp_path: Path) -> None:
    assert data_choice("a/b.jsonl:12") == DataChoice(Path("a/b.jsonl"), 12)
    assert data_choice("a:b.jsonl") == DataChoice(Path("a:b.jsonl"))
    odd = written(tmp_path, "data:3", b"{}")
    assert data_choice(str(odd)) == DataChoice(odd)


async def test_python_without_a_reader_of_parquet_is_named(own_home: Path, tmp_path: Path) -> None:
    assert importlib.util.find_spec("pyarrow") is None
    with pytest.raises(EaglerayError) as raised:
        data = written(tmp_path, "data.parquet", b"PAR1")
        await with_items(_plan(tmp_path), DataChoice(data, 3))
    assert raised.value.code == "no-parquet"


def _plan(folder: Path) -> AgentPlan:
    return AgentPlan(
        target="module:Class",
        base_url="http://127.0.0.1:9/v1",
        api_key="none",
        cwd=str(folder),
        python=sys.executable,
    )


async def test_rows_come_from_a_reader_of_the_users_python(own_home: Path, tmp_path: Path) -> None:
    """A module in place of pyarrow, which is too large to install: one with the parts that are used."""
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow" / "__init__.py").write_text("")
    (tmp_path / "pyarrow" / "parquet.py").write_text(PARQUET)
    plan = await with_items(_plan(tmp_path), DataChoice(written(tmp_path, "data.parquet", b""), 3))
    assert plan.items == (DataItem(3, {"n": 3}),)


PARQUET = """
class Batch:
    num_rows = 2
    def __init__(self, start): self.start = start
    def slice(self, first, count): self.first, self.count = first, count; return self
    def to_pylist(self): return [{"n": self.start + n + 1} for n in range(2)][self.first:][:self.count]

class ParquetFile:
    class metadata: num_rows = 6
    def __init__(self, path): pass
    def iter_batches(self, batch_size): return iter([Batch(0), Batch(2), Batch(4)])
"""
