"""Reads data items from a file: a line each of JSONL, the elements of a JSON list, or the rows of a Parquet file.

Items count from 1. Lines without text aren't items; an unwanted line isn't parsed.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from attrs import frozen

from eagleray.common.errors import UNREADABLE_JSON, printable
from eagleray.remote.injected.outside_files import opened
from eagleray.rollouts.agents.errors import (
    bad_line,
    empty_data,
    long_line,
    no_data_file,
    no_item,
    no_list,
    not_utf_8,
)
from eagleray.rollouts.agents.model import DataItem

LONGEST_LINE_MB = 256
_LONGEST_LINE = LONGEST_LINE_MB * 1024 * 1024
_PARQUET = (".parquet", ".pq")


@frozen
class DataChoice:
    """A file, and the number of an item in it; 0 is the file as a whole."""

    path: Path
    number: int = 0


def data_choice(written: str) -> DataChoice:
    """Parses `FILE` or `FILE:N`; a file that has such a name is that file."""
    before, colon, number = written.rpartition(":")
    if colon and number.isdecimal() and not Path(written).exists():
        return DataChoice(Path(before), int(number))
    return DataChoice(Path(written))


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() in _PARQUET


def single_item(choice: DataChoice) -> DataItem:
    """The item of the choice, the first one of a whole file; raises an error of the catalogue."""
    number = choice.number or 1
    return _items(choice.path, number, 1)[0]


def first_items(choice: DataChoice, count: int) -> tuple[DataItem, ...]:
    """At most `count` items of the file, or the one of the choice; raises an error of the catalogue."""
    if choice.number:
        return (single_item(choice),)
    return tuple(_items(choice.path, 1, count))


def _items(path: Path, first: int, count: int) -> list[DataItem]:
    try:
        with opened(path) as file:
            if _is_json(path, file):
                return _of_list(path, file, first, count)
            return _of_lines(path, file, first, count)
    except OSError as error:
        raise no_data_file(str(path), error.strerror or str(error)) from error


def _is_json(path: Path, opened: IO[bytes]) -> bool:
    """Whether the file is one JSON value: by its suffix, else if it begins as a list does."""
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return False
    head = opened.read(4096).removeprefix(codecs.BOM_UTF8).lstrip()
    opened.seek(0)
    return head.startswith(b"[")


def _of_list(path: Path, opened: IO[bytes], first: int, count: int) -> list[DataItem]:
    try:
        values = json.loads(opened.read().decode("utf-8-sig"))
    except UNREADABLE_JSON as error:
        raise no_list(str(path), str(error)) from error
    items = [DataItem(number, value) for number, value in enumerate(values, 1)]
    return _chosen(path, items[first - 1 : first - 1 + count], first, len(items))


def _of_lines(path: Path, opened: IO[bytes], first: int, count: int) -> list[DataItem]:
    items: list[DataItem] = []
    total = 0
    for line_number, line in _lines(path, opened):
        total += 1
        if total >= first:
            items.append(DataItem(total, _parsed(path, line_number, line)))
        if len(items) == count:
            break
    return _chosen(path, items, first, total)


def _lines(path: Path, opened: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that have text, with their numbers."""
    number = 0
    while line := opened.readline(_LONGEST_LINE + 1):
        number += 1
        if len(line) > _LONGEST_LINE:
            raise long_line(str(path), number, LONGEST_LINE_MB)
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if line.strip():
            yield number, line


def _parsed(path: Path, number: int, line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise not_utf_8(str(path), number) from error
    except UNREADABLE_JSON as error:
        raise bad_line(str(path), number, printable(str(error), 80)) from error


def _chosen(path: Path, items: list[DataItem], first: int, total: int) -> list[DataItem]:
    if items:
        return items
    if not total:
        raise empty_data(str(path))
    raise no_item(str(path), first, total)
