"""Stores data items that the user pasted or typed, as files that are read as any other data."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from eagleray.common.atomic_file import replace_text
from eagleray.common.errors import UNREADABLE_JSON, EaglerayError, printable
from eagleray.common.paths import home, private_folder
from eagleray.rollouts.agents.errors import not_an_item, not_stored

FOLDER = "agent-items"
MOST_FILES = 50


def store(text: str) -> Path:
    """The file of the items, whose name comes of them; raises `not-an-item` unless they are JSON."""
    lines = "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in items_of(text))
    name = hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    folder = private_folder(home() / FOLDER)
    file = folder / f"{name}.jsonl"
    try:
        replace_text(file, lines)
        _remove_old(folder)
    except (OSError, UnicodeEncodeError) as error:
        raise not_stored(str(folder), getattr(error, "strerror", None) or str(error)) from error
    return file


def items_of(text: str) -> list[Any]:
    """1. The elements of one JSON list; another JSON value is one item.

    2. The lines, if each of them is a JSON value.
    """
    try:
        value = json.loads(text)
    except UNREADABLE_JSON as error:
        return _lines_of(text, error)
    if value == []:
        raise not_an_item("[]")
    return value if isinstance(value, list) else [value]


def _lines_of(text: str, error: Exception) -> list[Any]:
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        items = [json.loads(line) for line in lines]
    except UNREADABLE_JSON:
        items = []
    if not items:
        raise _unreadable(error) from error
    return items


def _unreadable(error: Exception) -> EaglerayError:
    return not_an_item(printable(str(error), 80))


def _remove_old(folder: Path) -> None:
    """The ones that were stored last stay."""
    files = sorted(folder.glob("*.jsonl"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[MOST_FILES:]:
        file.unlink(missing_ok=True)
