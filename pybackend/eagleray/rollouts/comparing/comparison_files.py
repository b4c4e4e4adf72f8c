"""Comparisons of the editor in private files, as `--json` prints them, until their pages save or copy them."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from pathlib import Path
from typing import Any

from eagleray.common.atomic_file import replace_text
from eagleray.common.errors import UNREADABLE_JSON
from eagleray.common.paths import home, private_folder
from eagleray.rollouts.comparing import errors
from eagleray.rollouts.comparing.json_record import as_json
from eagleray.rollouts.comparing.model import EngineComparison
from eagleray.rollouts.comparing.texts import markdown

FOLDER = "comparisons"
MOST_FILES = 20
_NAME = re.compile(r"[0-9a-f]{16}")


def store(comparison: EngineComparison) -> str:
    """The name of the stored comparison; "" where it can't be written, since the result is worth more."""
    name = secrets.token_hex(8)
    value = {"comparison": as_json(comparison), "markdown": markdown(comparison)}
    try:
        folder = private_folder(home() / FOLDER)
        replace_text(folder / f"{name}.json", json.dumps(value))
        _remove_old(folder)
    except OSError:
        return ""
    return name


def save(name: str, file: Path) -> None:
    """Writes the object of `--json` into the user's file; raises an error of the catalogue."""
    text = json.dumps(_stored(name)["comparison"]) + "\n"
    try:
        replace_text(file, text)
    except OSError as error:
        raise errors.comparison_unsaved(file, error.strerror or str(error)) from error


def stored_markdown(name: str) -> str:
    """Raises an error of the catalogue if it is no longer stored."""
    return str(_stored(name)["markdown"])


def _stored(name: str) -> dict[str, Any]:
    if not _NAME.fullmatch(name):
        raise ValueError("the name of a comparison is also that of a file")
    try:
        value = json.loads((home() / FOLDER / f"{name}.json").read_text("utf-8"))  # own file
        return {"comparison": value["comparison"], "markdown": value["markdown"]}
    except (OSError, KeyError, TypeError, *UNREADABLE_JSON) as error:
        raise errors.comparison_not_stored() from error


def _remove_old(folder: Path) -> None:
    """The ones that were made last stay."""
    files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[MOST_FILES:]:
        with contextlib.suppress(OSError):
            file.unlink()
