"""Pictures in files: saved whole or not at all, and read with nothing in them trusted."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cattrs
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from eagleray.common.atomic_file import replace_text
from eagleray.common.errors import UNREADABLE_JSON
from eagleray.common.l10n import t
from eagleray.observe.hangs import errors
from eagleray.observe.hangs.model import VERSION, Coverage, Picture
from eagleray.observe.hangs.picture_changes import Move
from eagleray.remote.injected.outside_files import content_of
from eagleray.remote.sampling.rank_sets import RankSet

# A picture grows with its classes: one of 10,000 ranks has some megabytes.
_LARGEST = 256 * 2**20
_MOST_RANKS = 10_000_000

_converter = cattrs.Converter()
_converter.register_unstructure_hook(
    Coverage, make_dict_unstructure_fn(Coverage, _converter, processes=override(rename="seen"))
)
_converter.register_structure_hook(
    Coverage, make_dict_structure_fn(Coverage, _converter, processes=override(rename="seen"))
)


def as_json(taken: Picture) -> dict[str, Any]:
    plain: dict[str, Any] = _converter.unstructure(taken)
    return plain


def structured(value: Any) -> Picture:
    """The picture in a value of `as_json`.  Raises one of cattrs' errors, TypeError, KeyError or ValueError."""
    taken = _converter.structure(value, Picture)
    _check_ranks(taken)
    return taken


def changes_json(moves: Iterable[Move]) -> list[dict[str, Any]]:
    """Returns the changes between two pictures; no frames stand for a process that was not read."""
    return [
        {
            "group": move.group,
            "ranks": str(move.ranks),
            "before": _converter.unstructure(move.before.frames) if move.before else [],
            "after": _converter.unstructure(move.after.frames) if move.after else [],
        }
        for move in moves
    ]


def check_folder(path: Path) -> None:
    """Raises `picture-not-saved` if a picture could not be saved there."""
    if path.is_dir():
        raise errors.not_saved(path, os.strerror(errno.EISDIR))
    if not path.parent.is_dir():
        raise errors.not_saved(path, os.strerror(errno.ENOENT))
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise errors.not_saved(path, os.strerror(errno.EACCES))


def save(taken: Picture, path: Path) -> None:
    """Writes the picture.  Raises `picture-not-saved`."""
    try:
        replace_text(path, json.dumps(as_json(taken), indent=1) + "\n")
    except OSError as error:
        raise errors.not_saved(path, str(error.strerror)) from error


def load(path: Path) -> Picture:
    """The picture in `path`.  Raises EaglerayError if it can't be read, or isn't one of this version."""
    try:
        content = content_of(path, _LARGEST + 1)
        if len(content) > _LARGEST:
            raise errors.no_picture(path, t("it is too large"))
        value = json.loads(content)
        if not isinstance(value, dict) or value.get("version") != VERSION:
            raise errors.no_picture(path, t("it is not a picture of this version"))
        taken = structured(value)
    except OSError as error:
        raise errors.no_picture(path, str(error.strerror)) from error
    except (*UNREADABLE_JSON, BaseValidationError, TypeError, KeyError) as error:
        raise errors.no_picture(path, t("it is not a picture of stacks")) from error
    return taken


def _check_ranks(taken: Picture) -> None:
    """Raises ValueError for ranks that are none, or are so many that counting them would take for ever."""
    if sum(len(RankSet.parse(each.ranks)) for each in taken.classes) > _MOST_RANKS:
        raise ValueError("too many ranks")
