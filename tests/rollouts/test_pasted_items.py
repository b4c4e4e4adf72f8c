"""Data items that were pasted or typed: what is taken, and how they are stored."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.agents import data_items, pasted_items
from eagleray.rollouts.agents.data_items import DataChoice
from hypothesis import given
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('{"n": 1}', [{"n": 1}]),
        (' {"n": 1}\n', [{"n": 1}]),
        ('{\n  "n": 1\n}', [{"n": 1}]),
        ('[{"n": 1}, {"n": 2}]', [{"n": 1}, {"n": 2}]),
        ('{"n": 1}\n\n{"n": 2}\n', [{"n": 1}, {"n": 2}]),
        ('"2+2"', ["2+2"]),
    ],
)
def test_text_is_one_item_a_list_or_lines(text: str, items: list[Any]) -> None:
    assert pasted_items.items_of(text) == items


@pytest.mark.parametrize("text", ["", "2+2 = ?", '{"n": 1', '{"n": 1}\nrest', "[]", "{'n': 1}"])
def test_text_that_is_not_json_is_rejected_with_an_example(text: str) -> None:
    with pytest.raises(EaglerayError) as raised:
        pasted_items.items_of(text)
    assert raised.value.code == "not-an-item"
    assert '{"question": "2+2"}' in raised.value.next_step


@given(st.lists(JSON, min_size=1, max_size=3))
def test_items_are_those_that_were_given(items: list[Any]) -> None:
    assert pasted_items.items_of(json.dumps(items)) == items


def test_stored_items_are_read_as_data(own_home: Path) -> None:
    file = pasted_items.store('[{"n": 1}, "two\\u2028"]')
    read = data_items.first_items(DataChoice(file), 3)
    assert [(item.number, item.data) for item in read] == [(1, {"n": 1}), (2, "two\u2028")]


def test_file_is_private_and_the_oldest_ones_are_removed(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pasted_items, "MOST_FILES", 2)
    files = [pasted_items.store(json.dumps({"n": n})) for n in range(4)]
    assert [file.exists() for file in files[2:]] == [True, True]
    assert len(list(files[0].parent.glob("*.jsonl"))) == 2
    assert stat.S_IMODE(files[3].stat().st_mode) == 0o600
    assert stat.S_IMODE(files[3].parent.stat().st_mode) == 0o700


def test_unwritable_folder_is_an_error(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pasted_items, "replace_text", full)
    with pytest.raises(EaglerayError) as raised:
        pasted_items.store("1")
    assert raised.value.code == "item-not-stored"
